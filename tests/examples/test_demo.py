"""Tests for ``examples.demo.demo``."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

import ingress
from examples.demo.demo import (
    MANIFESTS,
    Children,
    DemoBackend,
    as_typed,
    backend_command,
    busy_ports,
    controller_command,
    demo_backends,
    is_ready,
    way_out,
)
from examples.demo.tour import Ports, stops
from ingress.errors import StartError
from tests.fakes.processes import free_port

WAIT_SECONDS = 240.0
"""Bound for what seven processes need three seconds of a processor for, and whoever shares it with many others more than a minute."""


class DemoBackendsTests(SynchronousTestCase):
    """Which backends the manifests ask for."""

    def manifests(self, **files: str) -> Path:
        """A directory with these files."""
        directory = Path(self.mktemp())
        directory.mkdir()
        for name, text in files.items():
            (directory / f"{name}.yaml").write_text(text)
        return directory

    def test_examples(self) -> None:
        """The demo's own manifests ask for five backends on fixed ports."""
        self.assertEqual(
            [(backend.name, backend.port) for backend in demo_backends(MANIFESTS)],
            [
                ("shop-1", 18081),
                ("shop-2", 18082),
                ("cart-1", 18083),
                ("sites-1", 18084),
                ("welcome-1", 18085),
            ],
        )

    def test_slices(self) -> None:
        """Loopback endpoints of all slices count once; other addresses and other kinds do not."""
        one = """
            {kind: EndpointSlice, metadata: {name: a}, ports: [{port: 1}, {port: 2}], endpoints: [
              {addresses: [127.0.0.1], targetRef: {name: pod}}, {addresses: [10.0.0.1]}]}
        """
        two = """
            {kind: Service, metadata: {name: s}}
            ---
            {kind: EndpointSlice, metadata: {name: b}, ports: [{port: 2}, {port: 3}], endpoints: [
              {addresses: ["127.0.0.1", "::1"]}]}
            ---
        """
        unindented = {name: text.replace("            ", "") for name, text in (("one", one), ("two", two))}
        self.assertEqual(
            demo_backends(self.manifests(**unindented)),
            (
                DemoBackend("pod", "127.0.0.1", 1),
                DemoBackend("pod", "127.0.0.1", 2),
                DemoBackend("b", "::1", 2),
                DemoBackend("b", "127.0.0.1", 3),
                DemoBackend("b", "::1", 3),
            ),
        )

    def test_nothing_there(self) -> None:
        """A directory without manifests is told in one line that names it."""
        with self.assertRaisesRegex(StartError, r"^no manifests in /nowhere; run from a checkout"):
            demo_backends(Path("/nowhere"))

    def test_broken_files(self) -> None:
        """A file that is no YAML, or holds a slice of another shape, is named in one line."""
        for text in (
            "a: [",
            "kind: EndpointSlice\nports: 7",
            "kind: EndpointSlice\nports: [{}]\nendpoints: [{}]",
        ):
            directory = self.manifests(bad=text)
            with self.assertRaises(StartError) as caught:
                demo_backends(directory)
            self.assertIn(str(directory / "bad.yaml"), str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))


class CommandTests(SynchronousTestCase):
    """The command lines of the children."""

    def test_backend(self) -> None:
        """A backend listens where its endpoint is, under the name of its pod."""
        command = backend_command(DemoBackend("shop-1", "127.0.0.1", 18081))
        self.assertEqual(command[0], sys.executable)
        self.assertEqual(
            command[1:], ["-m", "examples.whoami", "--host=127.0.0.1", "--port=18081", "--name=shop-1"]
        )

    def test_controller(self) -> None:
        """The controller stays in the foreground, writes no pid file, and listens on loopback only."""
        command = controller_command(Path("here"), Ports(1, 2, 3))
        self.assertEqual(command[0], sys.executable)
        self.assertEqual(
            command[3:],
            [
                "--nodaemon",
                "--pidfile=",
                "ingress",
                "--manifests=here",
                "--http=tcp:1:interface=127.0.0.1",
                "--https=tcp:2:interface=127.0.0.1",
                "--admin=tcp:3:interface=127.0.0.1",
                "--no-hsts",
                "--shutdown-delay=0",
                "--shutdown-grace=2",
            ],
        )

    def test_as_typed(self) -> None:
        """A path below the working directory is shown as one would type it, another in full."""
        self.assertEqual(as_typed(Path.cwd() / "a" / "b"), "a/b")
        self.assertEqual(as_typed(Path("/somewhere/else")), "/somewhere/else")


class ReadinessTests(SynchronousTestCase):
    """What is asked before and while the children start."""

    def test_way_out_of_busy_ports(self) -> None:
        """Who has something else at a port of the controller is told the option; the backends' stand in the manifests."""
        ports = Ports()
        self.assertEqual(
            way_out(["127.0.0.1:8080", "127.0.0.1:10254"], ports),
            "stop what listens there, or start the demo by"
            f" {as_typed(Path(sys.executable))} -m examples.demo --http-port=PORT --admin-port=PORT",
        )
        self.assertEqual(
            way_out(["127.0.0.1:8080", "127.0.0.1:18081"], ports),
            "stop what listens there (another demo?) first",
        )

    def test_busy_ports(self) -> None:
        """Ports that something listens on are told from those that are free."""
        with socket.socket() as taken, socket.socket() as free:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            free.bind(("127.0.0.1", 0))
            taken_port, free_port = taken.getsockname()[1], free.getsockname()[1]
            free.close()
            self.assertEqual(
                busy_ports([("127.0.0.1", taken_port), ("127.0.0.1", free_port)]),
                (f"127.0.0.1:{taken_port}",),
            )

    def test_ready(self) -> None:
        """Only a 200 means ready; another status, nonsense, and silence on the port do not."""
        for reply, expected in (
            (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", True),
            (b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", False),
            (b"nonsense\r\n\r\n", False),
        ):
            with socket.create_server(("127.0.0.1", 0)) as server:
                thread = threading.Thread(target=self.answer_once, args=(server, reply))
                thread.start()
                self.assertIs(is_ready(server.getsockname()[1]), expected)
                thread.join()
        self.assertIs(is_ready(free_port()), False)

    @staticmethod
    def answer_once(server: socket.socket, reply: bytes) -> None:
        """Take one connection, read its request, write *reply*."""
        connection, _ = server.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(reply)


class ChildrenTests(SynchronousTestCase):
    """Starting, watching and stopping real processes."""

    def test_ended(self) -> None:
        """A child that ends is named with its status; a signal counts as in a shell."""
        for code, status in (("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", 137)):
            children = Children()
            children.start("it", [sys.executable, "-c", code])
            children.running["it"].wait(WAIT_SECONDS)
            self.assertEqual(children.ended(), ("it", status))

    def test_stop(self) -> None:
        """Stopping ends all children and waits for them."""
        children = Children()
        for name in ("one", "two"):
            children.start(name, [sys.executable, "-c", "import signal; signal.pause()"])
        self.assertIsNone(children.ended())
        children.stop()
        self.assertEqual([process.returncode for process in children.running.values()], [-15, -15])

    def test_stop_order(self) -> None:
        """The child that was started last still has the others while it ends."""
        code = """if True:
            import os, signal, sys, threading
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
            os.write(1, b"ready\\n")
            signal.sigwait([signal.SIGTERM])
            threading.Event().wait(float(sys.argv[2]))
            os.write(1, sys.argv[1].encode() + b" ends\\n")
        """
        reader, writer = os.pipe()
        children = Children()
        for name, seconds in (("first", "0"), ("last", "0.2")):
            command = [sys.executable, "-c", code, name, seconds]
            children.running[name] = subprocess.Popen(command, stdout=writer)
            self.addCleanup(children.running[name].kill)
        os.close(writer)
        with open(reader, encoding="ascii") as output:
            self.assertEqual([output.readline() for _ in range(2)], ["ready\n", "ready\n"])
            children.stop()
            self.assertEqual(output.read(), "last ends\nfirst ends\n")


class DemoTests(SynchronousTestCase):
    """The demo as a process, on ports of its own."""

    def setUp(self) -> None:
        self.directory = Path(self.mktemp()).absolute()
        shutil.copytree(MANIFESTS, self.directory)
        backends = self.directory / "backends.yaml"
        free = [free_port() for _ in range(8)]
        self.ports = Ports(*free[:3])
        self.backend_ports = free[3:]
        text = backends.read_text()
        for at, port in enumerate(self.backend_ports):
            text = text.replace(f"port: {18081 + at}", f"port: {port}")
        backends.write_text(text)
        gateway = self.directory / "gateway.yaml"
        gateway.write_text(gateway.read_text().replace("port: 8080", f"port: {self.ports.http}"))

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start the demo; the test's end ends it."""
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "examples.demo",
                f"--manifests={self.directory}",
                f"--http-port={self.ports.http}",
                f"--https-port={self.ports.https}",
                f"--admin-port={self.ports.admin}",
                *arguments,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=Path(ingress.__file__).parents[1],
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.terminate)
        return process

    def read_until(self, process: "subprocess.Popen[str]", text: str) -> str:
        """Read the output up to a line with *text*; fail with all of it when none comes."""
        assert process.stdout is not None
        timer = threading.Timer(WAIT_SECONDS, process.terminate)
        timer.start()
        seen = ""
        try:
            for line in process.stdout:
                seen += line
                if text in line:
                    return seen
        finally:
            timer.cancel()
        self.fail(f"the demo ended with {process.wait()} and never said {text!r}:\n{seen}")
        raise AssertionError("unreachable")

    def test_tour(self) -> None:
        """Every printed command shows what the tour promises; SIGTERM ends all with status 0."""
        if shutil.which("curl") is None:
            self.skipTest("needs curl")
        process = self.start()
        self.read_until(process, "Ctrl-C stops everything")
        environment = {
            name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")
        }
        for stop in stops(self.ports, str(self.directory)):
            answered = subprocess.run(
                ["/bin/sh", "-c", stop.command],
                capture_output=True,
                timeout=WAIT_SECONDS,
                env=environment,
                check=False,
            )
            output = answered.stdout.decode()
            for expected in stop.expected:
                self.assertIn(expected, output, f"{stop.title}\n{stop.command}\n{answered.stderr.decode()}")
        problems = subprocess.run(
            ["curl", "-s", f"http://127.0.0.1:{self.ports.admin}/api/v1/problems"],
            stdout=subprocess.PIPE,
            timeout=WAIT_SECONDS,
            env=environment,
            check=True,
        )
        self.assertNotIn("reason", json.dumps(json.loads(problems.stdout)))
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, 0, output)
        self.assert_all_gone()

    def test_port_in_use(self) -> None:
        """A port that is taken is one line that names it, status 1, and nothing is started."""
        with socket.create_server(("127.0.0.1", self.backend_ports[1])):
            process = self.start()
            output, _ = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(
            output,
            f"demo: in use already: 127.0.0.1:{self.backend_ports[1]}; "
            "stop what listens there (another demo?) first\n",
        )
        self.assert_all_gone()

    def test_controller_ends(self) -> None:
        """When the controller ends, the demo ends with its status and leaves nothing behind."""
        process = self.start(f"--https-port={self.ports.http}")
        output, _ = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, 1, output)
        last = "demo: the controller ended with status 1; its last lines are above. Stopping the rest.\n"
        self.assertTrue(output.endswith(last), output)
        self.assertIn(str(self.ports.http), output.removesuffix(last))
        self.assertNotIn("Traceback", output)
        self.assert_all_gone()

    def assert_all_gone(self) -> None:
        """Nothing listens any more where the demo's children did."""
        for port in (*self.backend_ports, self.ports.http, self.ports.https, self.ports.admin):
            with socket.socket() as probe:
                self.assertNotEqual(probe.connect_ex(("127.0.0.1", port)), 0, port)
