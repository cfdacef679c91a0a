"""Tests for ``ingress.cluster.api.credential_plugin``: programs that say who we are to the API server."""

import json
import os
import signal
import subprocess
import sys
from select import select
from typing import Any

import yaml
from attrs import evolve
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.api_client import ApiAccess, ApiConnection
from ingress.cluster.api.credential_plugin import (
    MOST_PRINTED,
    PluginCredentials,
    PluginError,
    asks_plugin,
    run_plugin,
)
from ingress.cluster.api.credentials import CredentialSource
from ingress.errors import KubernetesError, StartError
from tests.cluster.api.test_credentials import CredentialCase
from tests.fakes.apiserver.kubeconfig import kubeconfig

VERSION = "client.authentication.k8s.io/v1"
GOOD = {"apiVersion": VERSION, "kind": "ExecCredential", "status": {"token": "t"}}
SECRET = "c2VjcmV0LXRva2Vu"
SAYING_ITS_LAST = (
    # Of Python a handler may run only after the sleep that a signal has come just before.
    "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]); os.write(pipe, b'first');"
    "signal.sigwait([signal.SIGTERM]); os.write(pipe, b'last')"
)
"""What a plugin does that says something at the signal that ends it."""


def plugin(program: str, **more: Any) -> dict[str, Any]:
    """Return what a kubeconfig says of a plugin that runs *program*, of Python."""
    return {"apiVersion": VERSION, "command": sys.executable, "args": ["-S", "-c", program], **more}


def printing(found: object) -> dict[str, Any]:
    """Return what it says of a plugin that prints *found*."""
    return plugin(f"print({json.dumps(found)!r})")


class _Stream:
    """Stands for a standard stream."""

    def __init__(self, *, is_terminal: bool) -> None:
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self.is_terminal


class RunTests(SynchronousTestCase):
    """One run."""

    def refusal(self, asked: dict[str, Any], seconds: float = 60.0) -> str:
        """Return why *asked* says nothing, which is a line without secrets that names the command."""
        error = self.assertRaises(PluginError, run_plugin, asked, {}, seconds=seconds)
        self.assertIn(asked["command"], str(error))
        self.assertNotIn("\n", str(error))
        self.assertNotIn(SECRET, str(error))
        # Whoever shows the innermost cause of an error is to show this.
        self.assertIsNone(error.__context__)
        return str(error).replace(sys.executable, "it")

    def test_failing(self) -> None:
        """One that fails is told with its status and the last of what it wrote to standard error, and nothing of what it printed."""
        for program, said in (
            (
                "import sys; print('no\\n  session', file=sys.stderr); sys.exit(255)",
                "ended with status 255: no session",
            ),
            (
                f"print({SECRET!r}); raise SystemExit(3)",
                "ended with status 3 and wrote nothing to standard error",
            ),
            ("import os; os.kill(os.getpid(), 9)", "ended with signal 9 and wrote nothing to standard error"),
        ):
            self.assertEqual(self.refusal(plugin(program)), f"the credential plugin it {said}")
        asked = plugin("raise SystemExit('it said')")
        error = self.assertRaises(PluginError, run_plugin, asked, {})
        self.assertEqual(error.aside, "it said")
        self.assertNotIn("it said", error.message)
        long = self.refusal(plugin("raise SystemExit('x' * 5000 + ' at last')"))
        self.assertTrue(long.endswith("x at last"), long)
        self.assertLess(len(long), 400)

    def test_missing(self) -> None:
        """One that is not there is told with what its installHint says."""
        asked = {"apiVersion": VERSION, "command": "/no/such/program", "installHint": "install\nit"}
        self.assertEqual(
            self.refusal(asked),
            "the credential plugin /no/such/program cannot be run: No such file or directory (install it)",
        )

    def test_silent(self) -> None:
        """One that does not end is ended."""
        self.assertIn("did not end within 0.5 s", self.refusal(plugin("import time; time.sleep(600)"), 0.5))

    def test_ended_with_its_children(self) -> None:
        """So are those that it has started, which may hold its output open, and would be one more with each try."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        # Nobody has the other end of this pipe any more once all of them have ended.
        program = f"import os, subprocess, time; subprocess.Popen(['sleep', '600'], pass_fds=[{writer}]); os.close({writer}); time.sleep(600)"
        run = subprocess.Popen

        def passing(*arguments: Any, **more: Any) -> Any:
            return run(*arguments, pass_fds=[writer], **more)

        self.patch(subprocess, "Popen", passing)
        try:
            self.assertIn("did not end within 3 s", self.refusal(plugin(program), 3.0))
        finally:
            os.close(writer)
        self.assertEqual(select([reader], [], [], 60.0)[0], [reader])
        self.assertEqual(os.read(reader, 1), b"")

    def test_ended_with_us(self) -> None:
        """One that runs while our own process ends is ended, too, with what it has started, and may do something before it is."""
        # One that does something has as long for it as a busy machine may take.
        self.assertEqual(self.last_words(SAYING_ITS_LAST, 60.0), b"last")
        deaf = "signal.signal(signal.SIGTERM, signal.SIG_IGN); os.write(pipe, b'first'); time.sleep(120)"
        self.assertEqual(self.last_words(deaf, 0.25), b"")

    def test_ended_with_us_while_it_starts(self) -> None:
        """So is one that runs already and that nobody knows of yet, in the thread that starts it."""
        before = (
            "import atexit, subprocess, threading\n"
            "class Slow(subprocess.Popen):\n"
            "    def __init__(self, *args, **more):\n"
            "        ends = threading.Event(); atexit.register(ends.set)\n"
            "        super().__init__(*args, **more); ends.wait()\n"
            "subprocess.Popen = Slow\n"
        )
        self.assertEqual(self.last_words(SAYING_ITS_LAST, 60.0, before), b"last")

    def last_words(self, does: str, moment: float, before: str = "") -> bytes:
        """Return what a plugin that *does* something says once our process ends, and see that it and what it has started end."""
        path = self.mktemp()
        os.mkfifo(path)
        # Nobody has the other end of it any more once all of them have ended.
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        program = (
            f"import os, signal, subprocess, time; pipe = os.open({path!r}, os.O_WRONLY);"
            f"subprocess.Popen(['sleep', '120'], pass_fds=[pipe]); {does}"
        )
        ours = (
            f"{before}import sys; from threading import Thread;"
            "from ingress.cluster.api import credential_plugin;"
            f"credential_plugin._MOMENT_SECONDS = {moment};"
            f"Thread(target=credential_plugin.run_plugin, args=({plugin(program)!r}, {{}}), daemon=True).start();"
            "sys.stdin.read()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", ours], stdin=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            self.assertEqual(self.next_of(reader), b"first")
            process.communicate(timeout=60.0)
        self.assertEqual(process.returncode, 0)
        last = self.next_of(reader)
        if last:
            self.assertEqual(self.next_of(reader), b"")
        return last

    def next_of(self, reader: int) -> bytes:
        """Return what comes next over a pipe, nothing at its end."""
        self.assertEqual(select([reader], [], [], 60.0)[0], [reader])
        return os.read(reader, 100)

    def test_ended_while_it_starts(self) -> None:
        """A signal that ends us as soon as it runs, and before anybody knows of it, ends it, too; handlers are those of before then."""
        started: list[subprocess.Popen[bytes]] = []

        class Signalled(subprocess.Popen[bytes]):
            def __init__(self, *args: Any, **more: Any) -> None:
                super().__init__(*args, **more)
                started.append(self)
                signal.raise_signal(signal.SIGTERM)

        def end(number: int, frame: object) -> None:
            raise SystemExit(number)

        self.addCleanup(signal.signal, signal.SIGTERM, signal.signal(signal.SIGTERM, end))
        # No signal can be sent so soon from outside.
        self.patch(subprocess, "Popen", Signalled)
        self.assertRaises(SystemExit, run_plugin, plugin("import time; time.sleep(120)"), {})
        self.assertEqual([one.returncode for one in started], [-signal.SIGKILL])
        self.assertIs(signal.getsignal(signal.SIGTERM), end)

    def test_signals_that_end_nobody(self) -> None:
        """Signals that come while it starts are told once it runs, in their order, and change nothing about it."""
        told: list[int] = []

        class Signalled(subprocess.Popen[bytes]):
            def __init__(self, *args: Any, **more: Any) -> None:
                signal.raise_signal(signal.SIGHUP)
                signal.raise_signal(signal.SIGTERM)
                assert not told
                super().__init__(*args, **more)

        def tell(number: int, frame: object) -> None:
            told.append(number)

        for number in (signal.SIGTERM, signal.SIGHUP):
            self.addCleanup(signal.signal, number, signal.signal(number, tell))
        self.patch(subprocess, "Popen", Signalled)
        self.assertEqual(run_plugin(printing(GOOD), {}).token, "t")
        self.assertEqual(told, [signal.SIGHUP, signal.SIGTERM])

    def test_endless_output(self) -> None:
        """One that prints without end is ended before it has filled the memory; of its standard error nothing but the end is kept."""
        told = self.refusal(plugin("while True: print('x' * 65536, flush=True)"))
        self.assertIn(f"printed more than {MOST_PRINTED} bytes", told)
        self.assertIn("printed more than", self.refusal(plugin("while True: print('é' * 65536, flush=True)")))
        talking = f"import sys; sys.stderr.write('x' * 3_000_000); print({json.dumps(GOOD)!r})"
        self.assertEqual(run_plugin(plugin(talking), {}), PluginCredentials("t"))

    def test_terminal(self) -> None:
        """Somebody is asked at the terminal who sees what is written there, be it that output goes elsewhere, as with kubectl."""
        for stdin, stderr, is_asked in ((True, True, True), (True, False, False), (False, True, False)):
            self.patch(sys, "stdin", _Stream(is_terminal=stdin))
            self.patch(sys, "stderr", _Stream(is_terminal=stderr))
            program = (
                "import json, os; told = json.loads(os.environ['KUBERNETES_EXEC_INFO']);"
                f"print(json.dumps({{**{GOOD!r}, 'status': {{'token': str(told['spec']['interactive'])}}}}))"
            )
            self.assertEqual(run_plugin(plugin(program), {}).token, str(is_asked))
            self.assertEqual(run_plugin(plugin(program, interactiveMode="Never"), {}).token, "False")

    def test_what_it_prints(self) -> None:
        """What is no ExecCredential of its version with a token, or a pair, is told as that."""
        for found, said in (
            ("text", "no ExecCredential"),
            ([], "no ExecCredential"),
            ({**GOOD, "kind": "Pod"}, "no ExecCredential"),
            ({**GOOD, "apiVersion": "v2"}, "another version"),
            ({**GOOD, "status": {}}, "neither a token nor"),
            ({**GOOD, "status": SECRET}, "neither a token nor"),
            ({**GOOD, "status": {"clientCertificateData": SECRET}}, "neither a token nor"),
            ({**GOOD, "status": {"token": f"{SECRET}\x00"}}, "other characters"),
        ):
            self.assertIn(said, self.refusal(printing(found)), found)
        for field, value in (("args", "x"), ("env", [{"name": "x"}]), ("env", "x")):
            self.assertIn("is wanted", self.refusal({**printing(GOOD), field: value}))
        self.assertIn("needs a terminal", self.refusal({**printing(GOOD), "interactiveMode": "Always"}))

    def test_credentials(self) -> None:
        """A token may say when it ends; a certificate comes with its key; a line end is none of a token."""
        for status, found in (
            ({"token": "t\n"}, PluginCredentials("t")),
            (
                {"token": "t", "expirationTimestamp": "1970-01-01T00:01:00Z"},
                PluginCredentials("t", ends_at=60.0),
            ),
            ({"token": "t", "expirationTimestamp": "soon"}, PluginCredentials("t")),
            ({"clientCertificateData": "C", "clientKeyData": "K"}, PluginCredentials("", "C", "K")),
            (
                {"token": "t", "clientCertificateData": "C", "clientKeyData": "K"},
                PluginCredentials("t", "C", "K"),
            ),
            ({"token": "t", "clientCertificateData": "C"}, PluginCredentials("t")),
        ):
            self.assertEqual(run_plugin(printing({**GOOD, "status": status}), {}), found)

    def test_what_it_is_told(self) -> None:
        """It has the variables that are asked for, and is told its cluster if it wants to know that."""
        program = (
            "import json, os; told = json.loads(os.environ['KUBERNETES_EXEC_INFO']);"
            f"print(json.dumps({{**{GOOD!r}, 'status': {{'token': json.dumps([os.environ['X'], told['spec']])}}}}))"
        )
        cluster = {
            "server": "https://a",
            "certificate-authority": "/no/such/file",
            "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"a": 1}}],
        }
        env = [{"name": "X", "value": "y"}]
        for wants, told in ((None, {}), (True, {"cluster": {"server": "https://a", "config": {"a": 1}}})):
            found = run_plugin(plugin(program, env=env, provideClusterInfo=wants), cluster)
            self.assertEqual(json.loads(found.token), ["y", {"interactive": False, **told}])

    def test_in_place_of_the_plugin(self) -> None:
        """What it printed takes the place of the plugin; a certificate of the kubeconfig goes with a token that came without one."""
        user = {"exec": {"command": "x"}, "username": "a", "password": "b", "as": "c"}
        pair = {"client-certificate": "/c.pem", "client-key": "/k.pem"}
        data = {"client-certificate-data": "Yw==", "client-key-data": "aw=="}
        printed = {"client-certificate-data": "Qw==", "client-key-data": "Sw=="}
        for credentials, found in (
            (PluginCredentials("t"), {**pair, "token": "t"}),
            (PluginCredentials("", "C", "K"), printed),
            (PluginCredentials("t", "C", "K"), {**printed, "token": "t"}),
        ):
            self.assertEqual(credentials.stand_in({**user, **pair}), {**found, "as": "c"})
        self.assertEqual(PluginCredentials("t").stand_in({**user, **data}), {**data, "token": "t", "as": "c"})

    def test_who_asks(self) -> None:
        """A token that stands in the kubeconfig comes before the plugin; a name and password behind it."""
        self.assertTrue(asks_plugin({"exec": {"command": "x"}, "username": "a", "password": "b"}))
        for other in ("token", "tokenFile", "auth-provider"):
            self.assertFalse(asks_plugin({"exec": {"command": "x"}, other: "x"}))
        self.assertFalse(asks_plugin({}))


class SourceTests(CredentialCase):
    """A kubeconfig with a plugin."""

    def source(self, asked: dict[str, Any], server: str = "http://127.0.0.1:9") -> CredentialSource:
        """Return where credentials are found by the plugin that is *asked*."""
        config = json.loads(json.dumps(self.loaded(server)))
        config["users"][0]["user"] = {"exec": asked, "username": "nobody", "password": "x"}
        return CredentialSource(self.write(json.dumps(config)), environ={})

    def loaded(self, server: str) -> Any:
        """Return a kubeconfig as data."""
        return yaml.safe_load(kubeconfig(server, None, None))

    def test_failing(self) -> None:
        """A start without credentials cannot succeed: it says why, and does not go on as nobody."""
        source = self.source(plugin("raise SystemExit('no session')"))
        error = self.assertRaises(StartError, source.load)
        self.assertEqual(
            str(error),
            f"kubeconfig {source.kubeconfig}: the credential plugin {sys.executable} ended with status 1: no session",
        )

    def test_token_that_has_ended(self) -> None:
        """Who asks the API server by a token that has ended is told by the plugin's words why there is no other."""
        flag = self.folder.resolve() / "failing"
        status = {**GOOD, "status": {"token": "t", "expirationTimestamp": "1970-01-01T00:10:00Z"}}
        program = f"import os, sys; print({json.dumps(status)!r}) if not os.path.exists({str(flag)!r}) else print('no session', file=sys.stderr) or sys.exit(1)"
        clock = Clock()
        source = evolve(self.source(plugin(program)), clock=clock.seconds, wall=clock.seconds)
        access = ApiAccess(source, clock=clock.seconds)
        access.load()
        flag.touch()
        clock.advance(700.0)
        connection = ApiConnection(access)
        self.addCleanup(connection.close)
        error = self.assertRaises(KubernetesError, connection.get, "/version", [])
        self.assertEqual((error.status, error.reason), (0, "NoCredentials"))
        self.assertEqual((error.message[-19:], error.aside), ("ended with status 1", "no session"))

    def test_server(self) -> None:
        """One that wants to know its cluster is told the server that is asked, be it another one than that of the kubeconfig."""
        program = (
            "import json, os; told = json.loads(os.environ['KUBERNETES_EXEC_INFO'])['spec']['cluster'];"
            f"print(json.dumps({{**{GOOD!r}, 'status': {{'token': told['server']}}}}))"
        )
        source = self.source(plugin(program, provideClusterInfo=True), "https://10.0.0.1")
        for server, told in (
            (None, "https://10.0.0.1"),
            ("https://127.0.0.1:1234/", "https://127.0.0.1:1234"),
        ):
            loaded = evolve(source, server=server).load()
            self.assertEqual((self.token(loaded), loaded.host), (f"Bearer {told}", told))
