"""The commands as a whole: their list, and what becomes of mistakes."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from select import select

import yaml
from click import Context

from ingress.ctl.main import COMMANDS, commands
from tests.ctl.ctl_case import CtlCase, ingress
from tests.fakes.apiserver.kubeconfig import kubeconfig


class CommandsTests(CtlCase):
    def test_each_command_of_the_list_is_there_under_its_name(self) -> None:
        """Every row has its module, and help of its own."""
        for name in COMMANDS:
            found = commands.get_command(Context(commands), name)
            self.assertEqual(getattr(found, "name", None), name)
            self.assertEqual(self.run_command(name, "--help").exit_code, 0)

    def test_a_misspelled_command_is_told_the_one_that_is_meant(self) -> None:
        """It ends with status 2, and the name that is close."""
        result = self.run_command("lnit")
        self.assertEqual(result.exit_code, 2)
        self.assertIn("did you mean lint?", result.stderr)

    def test_a_path_that_is_not_there_is_a_line_and_status_2(self) -> None:
        """No traceback; the path is named."""
        result = self.run_command("lint", str(self.folder / "absent.yaml"))
        self.assertEqual(result.exit_code, 2)
        self.assertIn("absent.yaml: No such file or directory", result.stderr)

    def test_an_option_of_the_controller_is_read_as_the_controller_reads_it(self) -> None:
        """An Ingress of another class is served by the option that names that class."""
        path = self.manifest(
            ingress(nonsense="1").replace("ingressClassName: nginx", "ingressClassName: own")
        )
        self.assertNotIn("nonsense", self.run_command("lint", path).stdout)
        self.assertIn("nonsense", self.run_command("lint", "-o", "ingress-class=own", path).stdout)

    def test_an_option_that_the_controller_has_not_is_told_with_the_one_that_is_meant(self) -> None:
        """The mistake names both."""
        result = self.run_command("lint", "-o", "ingress-clas=own", str(self.folder))
        self.assertEqual(result.exit_code, 2)
        self.assertIn("no option 'ingress-clas'; did you mean ingress-class?", result.stderr)

    def test_what_other_programs_have_is_told_what_it_is_called_here(self) -> None:
        """Whatever somebody types from habit, the answer has what to type instead, and status 2."""
        for arguments, told in (
            (("lint", "--json", "."), "lint has no option --json; write --output json"),
            (("lint", "--format", "json"), "here it is --output"),
            (("lint", "-o", "json", "."), "for a format, write --output json"),
            (
                ("lint", "-f", "a.yaml"),
                "name files and folders without an option, as in ingressctl lint PATH",
            ),
            (("migrate", "-f", "a.yaml"), "as in ingressctl migrate PATH"),
            (("lint", "--manifests", "my"), "without an option, as in ingressctl lint PATH"),
            (("lint", "-m", "my"), "without an option, as in ingressctl lint PATH"),
            (("lint", "--file", "a.yaml"), "without an option, as in ingressctl lint PATH"),
            (("render", "--manifests=my"), "as in ingressctl render --as gateway PATH"),
            (("diff", "--manifests", "a", "b"), "as in ingressctl diff OLD NEW"),
            (("explain", "-f", "my", "a.test"), "as in ingressctl explain URL PATH"),
            (("lint", "-o", f"manifests={self.folder}"), "PATH in the place of -o manifests=PATH"),
            (
                ("lint", "-o", f"manifests={self.folder}", str(self.folder)),
                "PATH in the place of -o manifests=PATH",
            ),
            (("explain", str(self.folder), "http://a.test/"), f"explain http://a.test/ {self.folder}"),
            (
                ("lint", "--endpoint", "*=127.0.0.1:3000", "my"),
                "write -o endpoint=NAMESPACE/SERVICE[:PORT]=HOST:PORT",
            ),
            (("lint", "--shared-hosts", "my"), "write -o shared-hosts"),
            (("lint", "--recursive", "."), "folders are looked through anyway"),
            (("lint", "--ingress-class=alb", "."), "write -o ingress-class=NAME"),
            (("--live", "lint"), "options stand behind the command"),
            (("lint", "--verbos"), "--verbose"),
            ((str(self.folder),), f"write ingressctl lint {self.folder}"),
            (("frobnicate",), "ingressctl --help lists them"),
            (("validate", "my"), "write ingressctl lint PATH"),
            (("convert", "my"), "write ingressctl render --as gateway PATH"),
            (("compare",), "write ingressctl migrate --compare"),
            (("plan",), "write ingressctl diff OLD NEW"),
            (("conf",), "write ingressctl render --as served PATH"),
            (("ingresses",), "write ingressctl lint --verbose PATH"),
            (("backends",), "the admin port of a running controller has it, at /api/v1/endpoints"),
            (("certs",), "the admin port of a running controller has it, at /api/v1/certificates"),
            (("serve",), "write twistd --nodaemon ingress --manifests PATH"),
            (("lint", "nowhere/*.yaml"), "nothing matches this pattern"),
            (("lint", "https://a.test/x.yaml"), "nothing is fetched; pipe it in, as in curl -s URL |"),
            (("lint",), "name files or folders (. is the current one)"),
            (("lint", "-n", "", str(self.folder)), "--namespace is empty; leave it out to have all"),
            (("diff", "-n", "", "a", "b"), "--namespace is empty; leave it out to have all"),
            (
                ("explain", "a.test", ".", "--token-file", "x"),
                "--token-file is for a running controller: add",
            ),
            (("explain", "a.example.com"), "files or folders of manifests behind the URL"),
            (("explain", str(self.folder)), f"ingressctl explain URL {self.folder}"),
        ):
            result = self.run_command(*arguments)
            self.assertEqual(result.exit_code, 2, arguments)
            self.assertIn(told, " ".join(result.stderr.split()), arguments)

    def test_help_and_version_by_the_names_that_are_tried_first(self) -> None:
        """They are the same as the help and the version by their own names."""
        for asked, same in (
            (("help",), ("--help",)),
            (("help", "lint"), ("lint", "--help")),
            (("--version",), ("version",)),
            (("-V",), ("version",)),
        ):
            result = self.run_command(*asked)
            self.assertEqual((result.exit_code, result.stdout), (0, self.run_command(*same).stdout), asked)


_RUN = "from ingress.ctl.main import run; run()"
_BROKEN = "from ingress.ctl.commands import version; version.command.callback = lambda: {}"


class OutputTests(CtlCase):
    """An answer that does not arrive is no good answer; as processes, for that is about their files."""

    def ended(self, redirected: str, *arguments: str, program: str = _RUN) -> tuple[int, str]:
        """The status of ``ingressctl`` and what it says on standard error, its files *redirected* by a shell."""
        command = ["sh", "-c", f'"$@" {redirected}', "sh", sys.executable, "-c", program, *arguments]
        found = subprocess.run(command, capture_output=True, text=True)
        return found.returncode, found.stderr

    def test_no_room_or_no_output_is_status_2(self) -> None:
        """One line says why, whoever prints."""
        for arguments in (("version",), ("render", "--as", "served", self.manifest(ingress()))):
            self.assertEqual(
                self.ended("> /dev/full", *arguments),
                (2, "Error: standard output: No space left on device\n"),
            )
        self.assertEqual(
            self.ended(">&-", "version"),
            (2, "Error: standard output is closed; to have no answer, send it to /dev/null\n"),
        )

    def test_no_input_is_status_2(self) -> None:
        """Standard input may be closed; whoever asks for it is told."""
        for arguments in (("lint", "-"), ("migrate", "--compare", "--dry-run", "--requests", "-")):
            status, told = self.ended("<&-", *arguments)
            self.assertEqual((status, told.count("\n")), (2, 1), told)
            self.assertIn("is closed", told)
        self.assertEqual(self.ended("<&-", "lint", self.manifest(ingress())), (0, ""))

    def test_a_failure_of_its_own_is_no_finding(self) -> None:
        """It ends with status 2 and the traceback that somebody may report."""
        status, told = self.ended("", "version", program=f"{_BROKEN.format('1 / 0')}; {_RUN}")
        self.assertEqual(status, 2)
        self.assertIn("Traceback", told)
        self.assertIn("ZeroDivisionError", told)

    def test_whoever_ends_it_found_nothing(self) -> None:
        """Ctrl-C is status 130."""
        program = f"import signal; {_BROKEN.format('signal.raise_signal(signal.SIGINT)')}; {_RUN}"
        self.assertEqual(self.ended("", "version", program=program), (130, "\ninterrupted\n"))

    def test_nobody_has_to_listen_to_what_is_beside_the_answer(self) -> None:
        """Standard error may be closed."""
        self.assertEqual(self.ended("2>&-", "lint", self.manifest(ingress())), (0, ""))


class EndedTests(CtlCase):
    """A command that is ended takes with it what it has started, which is in sessions of its own and so gets no signal."""

    def setUp(self) -> None:
        super().setUp()
        self.pipe = Path(self.mktemp()).resolve()
        os.mkfifo(self.pipe)
        # More than a pipe holds: once all of it is written, somebody reads.
        text = f"#!/bin/sh\nexec 3> '{self.pipe}'\nhead -c 100000 /dev/zero\necho >&3\nsleep 120\n"
        self.program = Path(self.manifest(text, "bin/kubectl")).resolve()
        self.program.chmod(0o700)

    def assert_all_end(
        self, number: signal.Signals, *arguments: str, environ: Mapping[str, str] = os.environ
    ) -> None:
        """Fail unless ``ingressctl`` ends by the signal *number*, as shells say it, with the program that it runs then."""
        command = [sys.executable, "-c", _RUN, *arguments]
        # Nobody has the other end of it any more once all of them have ended.
        reader = os.open(self.pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        with subprocess.Popen(command, stderr=subprocess.PIPE, env=environ) as process:
            self.assertEqual(self.next_of(reader), b"\n")
            process.send_signal(number)
            self.assertEqual(self.next_of(reader), b"")
            process.communicate()
        self.assertEqual(process.returncode, 128 + number)

    def next_of(self, reader: int) -> bytes:
        """Return what comes next over a pipe, nothing at its end."""
        self.assertEqual(select([reader], [], [], 60.0)[0], [reader])
        return os.read(reader, 100)

    def test_credential_plugin(self) -> None:
        """The program of a kubeconfig that says who we are."""
        found = yaml.safe_load(kubeconfig("https://127.0.0.1:9", None, None))
        plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(self.program)}
        found["users"][0]["user"] = {"exec": {**plugin, "interactiveMode": "Never"}}
        path = self.manifest(yaml.safe_dump(found), "kubeconfig")
        for number in (signal.SIGTERM, signal.SIGHUP):
            self.assert_all_end(number, "lint", "--live", f"--kubeconfig={path}")

    def test_kustomize(self) -> None:
        """The program that builds a kustomization, also where it is the user who ends all."""
        folder = Path(self.manifest("namePrefix: x-\nresources: []\n", "overlay/kustomization.yaml")).parent
        environ = {**os.environ, "PATH": f"{self.program.parent}:/bin:/usr/bin"}
        for number in (signal.SIGTERM, signal.SIGINT):
            self.assert_all_end(number, "lint", str(folder), environ=environ)

    def test_screen(self) -> None:
        """A terminal is as it was when what it shows is ended, and whoever starts that may have SIGHUP be ignored there, too."""
        end = b"\x1b[?1049l"
        for before, number, key, status in (
            ("", signal.SIGTERM, b"", 128 + signal.SIGTERM),
            ("import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); ", signal.SIGHUP, b"q", 0),
        ):
            ours, its = os.openpty()
            self.addCleanup(os.close, ours)
            command = [sys.executable, "-c", f"{before}{_RUN}", "top", "--admin", "http://127.0.0.1:9"]
            with subprocess.Popen(command, stdin=its, stdout=its) as process:
                os.close(its)
                shown = b""
                while b"\x1b[?1049h" not in shown:
                    shown += self.next_of(ours)
                process.send_signal(number)
                os.write(ours, key)
                while end not in shown:
                    shown += self.next_of(ours)
            self.assertEqual(process.returncode, status)

    def test_once_more(self) -> None:
        """What comes after the first one, as of a terminal that is closed or of ``timeout``, keeps nothing from being ended."""
        twice = "finally:\n  signal.raise_signal(signal.SIGHUP)\n  signal.raise_signal(signal.SIGTERM)"
        program = f"import signal\ndef ended():\n try: signal.raise_signal(signal.SIGTERM)\n {twice}\n{_BROKEN.format('ended()')}\n{_RUN}"
        found = subprocess.run([sys.executable, "-c", program, "version"])
        self.assertEqual(found.returncode, 128 + signal.SIGTERM)

    def test_ignored(self) -> None:
        """What whoever started it has it ignore is ignored, as with nohup."""
        program = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); {_BROKEN.format('signal.raise_signal(signal.SIGHUP)')}; {_RUN}"
        found = subprocess.run([sys.executable, "-c", program, "version"])
        self.assertEqual(found.returncode, 0)
