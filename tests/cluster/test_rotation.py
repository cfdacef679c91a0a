"""Credentials that change while watches run: what an API server that refuses the old ones gets to see next."""

import json
import sys
from math import log2
from pathlib import Path
from typing import Any

import yaml
from twisted.internet.task import Clock, deferLater
from twisted.logger import capturedLogs, formatEvent

from ingress.cluster import api_server
from ingress.cluster.api.api_client import ApiAccess, ApiConnection
from ingress.cluster.api.credentials import CredentialSource
from tests.cluster.api_server_case import SOON_SECONDS, ApiServerTestCase, in_thread, reactor
from tests.cluster.source_case import Content, SourceTestCase, running_threads
from tests.fakes.certificates import issue, make_authority

# How long the end waits for threads; most tests are more patient.
STOP_SECONDS = api_server._STOP_SECONDS
# What a credential plugin prints.
STATUS = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
PROGRAM = """
import json, sys
status = json.loads(sys.argv[1])
status["status"] = {"token": open(sys.argv[2]).read().strip()}
print(json.dumps(status))
"""
# What it does first when it is to be slow: it tells that it runs, and waits until it is told to go on.
SLOWNESS = """
import os, sys, time
end = time.monotonic() + 60
if os.path.exists(sys.argv[2] + ".slow"):
    open(sys.argv[2] + ".runs", "w").close()
    while not os.path.exists(sys.argv[2] + ".goes-on") and time.monotonic() < end:
        time.sleep(0.01)
"""


class RotationTests(SourceTestCase):
    """A running source whose credentials are replaced, and the old ones refused."""

    def setUp(self) -> Any:
        self.folder = Path(self.mktemp()).resolve()
        self.folder.mkdir()
        return super().setUp()

    def use(self, **user: Any) -> None:
        """Write a kubeconfig with these credentials."""
        config = yaml.safe_load(self.kubeconfig.read_text(encoding="utf-8"))
        config["users"][0]["user"] = user
        self.kubeconfig.write_text(yaml.safe_dump(config), encoding="utf-8")

    async def begin(self, token: str) -> Content:
        """Start with *token* permitted, a thousand times as fast as else, and let the pause between loads pass."""
        self.server.access.tokens = {token: None}
        content = await self.synced(clock=lambda: reactor.seconds() * 1000)
        await deferLater(reactor, 0.02, lambda: None)
        return content

    async def refuse_all_but(self, token: str, content: Content) -> None:
        """Refuse what was permitted; the source comes back with *token*."""
        self.server.access.tokens = {token: None}
        # The connections stay, and with them the certificate that was shown when they were made.
        self.server.close_watches()
        await self.arrives(content, "after")
        self.assertIn(401, {call.status for call in self.server.requests})

    async def test_token_file(self) -> None:
        """A token file that was rewritten is read again after 401."""
        token = self.folder / "token"
        token.write_text("old\n", encoding="utf-8")
        self.use(tokenFile=str(token))
        content = await self.begin("old")
        token.write_text("new\n", encoding="utf-8")
        await self.refuse_all_but("new", content)

    async def test_plugin(self) -> None:
        """A credential plugin is run again after 401."""
        token = self.folder / "token"
        token.write_text("old", encoding="utf-8")
        plugin = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": ["-S", "-c", PROGRAM, json.dumps(STATUS), str(token)],
            "interactiveMode": "Never",
        }
        self.use(exec=plugin)
        content = await self.begin("old")
        token.write_text("new", encoding="utf-8")
        await self.refuse_all_but("new", content)

    async def test_stop_while_a_plugin_runs(self) -> None:
        """A plugin that does not come back after 401 holds up the end for a bounded time."""
        self.patch(api_server, "_STOP_SECONDS", STOP_SECONDS)
        token = self.folder / "token"
        token.write_text("old", encoding="utf-8")
        args = ["-S", "-c", SLOWNESS + PROGRAM, json.dumps(STATUS), str(token)]
        plugin = {"apiVersion": STATUS["apiVersion"], "command": sys.executable, "args": args}
        self.use(exec={**plugin, "interactiveMode": "Never"})
        await self.begin("old")
        (self.folder / "token.slow").touch()
        self.server.access.tokens = {"other": None}
        self.server.close_watches()
        await self.until((self.folder / "token.runs").exists)
        self.assertIn(401, {call.status for call in self.server.requests})
        before = reactor.seconds()
        await self.running.stop()
        self.assertLess(reactor.seconds() - before, SOON_SECONDS)
        self.assertNotEqual(running_threads(), [])
        (self.folder / "token.goes-on").touch()
        await self.until(lambda: not running_threads())

    async def test_kubeconfig(self) -> None:
        """A kubeconfig that was rewritten is read again after 401."""
        self.use(token="old")
        content = await self.begin("old")
        self.use(token="new")
        await self.refuse_all_but("new", content)

    async def test_refused_for_a_while(self) -> None:
        """While no credentials help, the last state is kept and the API server is not stormed."""
        self.use(token="old")
        self.server.access.tokens = {"old": None}
        # By the true clock: waits are short again after two minutes without errors.
        content = await self.synced()
        self.server.access.tokens = {"other": None}
        self.server.reset_connections()
        before, began = len(self.server.requests), reactor.seconds()
        await deferLater(reactor, 0.2, lambda: None)
        # The waits of each reflector double: 3, 6, 12, 24, 48, 96 ms.
        most = 2 + log2(1 + (reactor.seconds() - began) / 0.003)
        self.assertLess(len(self.server.requests) - before, len(running_threads()) * most)
        self.server.access.tokens = {"old": None}
        await self.arrives(content, "after")


class TLSRotationTests(RotationTests):
    """The same over TLS, and a credential that there is only there."""

    tls = True

    def show(self, name: str) -> None:
        """Put a client certificate of this name where the kubeconfig leads."""
        chain, key = issue(make_authority("Clients"), [name], common_name=name)
        (self.folder / "client.crt").write_bytes(chain)
        (self.folder / "client.key").write_bytes(key)

    async def test_client_certificate(self) -> None:
        """A client certificate that was replaced is shown after the old one was refused."""
        self.show("old")
        certificate, key = (str(self.folder / f"client.{part}") for part in ("crt", "key"))
        self.use(**{"client-certificate": certificate, "client-key": key})
        content = await self.begin("CN=old")
        self.show("new")
        await self.refuse_all_but("CN=new", content)


class UnreadableAccountTests(SourceTestCase):
    """A running source with the account of a pod, whose files are damaged for a while."""

    tls = True

    async def test_files_that_are_no_text(self) -> None:
        """Files that are not UTF-8 when the token is refused end no thread: the source comes back with what is mounted then."""
        account = Path(self.mktemp())
        account.mkdir()
        assert self.server.authority is not None
        files = {"ca.crt": self.server.authority.pem, "token": b"new"}
        (account / "ca.crt").write_bytes(files["ca.crt"])
        (account / "token").write_text("old", encoding="utf-8")

        def source(*given: Any, **more: Any) -> CredentialSource:
            # By the true clock, so that the token is read by renewals alone.
            more |= {"clock": reactor.seconds, "service_account_directory": account}
            return CredentialSource(*given, **more)

        self.patch(api_server, "CredentialSource", source)
        environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.server.port)}
        self.server.access.tokens = {"old": None}
        content = await self.synced(kubeconfig=None, environ=environ, clock=lambda: reactor.seconds() * 1000)
        threads = running_threads()
        await deferLater(reactor, 0.02, lambda: None)
        with capturedLogs() as events:
            for name in files:
                (account / name).write_bytes(b"# Autorit\xe9")
            self.server.access.tokens = {"new": None}
            self.server.close_watches()
            await self.until(lambda: any("not UTF-8" in (formatEvent(event) or "") for event in events))
        for name, mounted in files.items():
            (account / name).write_bytes(mounted)
        await self.arrives(content, "after")
        self.assertEqual(sorted(running_threads()), sorted(threads))


class ServiceAccountTests(ApiServerTestCase):
    """The account of a pod, whose token the kubelet replaces."""

    tls = True

    async def test_token_is_read_again(self) -> None:
        """The token of the pod's account is read again when it is a minute old, without any 401, whatever time of day it is."""
        account = Path(self.mktemp())
        account.mkdir()
        assert self.server.authority is not None
        (account / "ca.crt").write_bytes(self.server.authority.pem)
        environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.server.port)}
        self.server.access.tokens = {"first": None, "second": None}
        (account / "token").write_text("first\n", encoding="utf-8")
        clock = Clock()
        source = CredentialSource(environ=environ, service_account_directory=account, clock=clock.seconds)
        access = ApiAccess(source)
        await in_thread(access.load)
        connection = ApiConnection(access)
        self.addCleanup(connection.close)

        def ask() -> None:
            response = connection.get("/api/v1/services", [])
            response.read_all()
            response.close()

        await in_thread(ask)
        (account / "token").write_text("second\n", encoding="utf-8")
        for seconds in (59, 1):
            clock.advance(seconds)
            await in_thread(ask)
        self.assertEqual([call.token for call in self.server.requests], ["first", "first", "second"])
