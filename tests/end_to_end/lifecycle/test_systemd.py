"""Under systemd, which is played: a process that says how it is, to whom that matters."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

from twisted.trial.unittest import SkipTest

from tests.end_to_end.end_to_end_case import PATIENCE, EndToEndCase
from tests.fakes.certificates import issue, make_authority
from tests.fakes.objects import NAMESPACE, ingress_object, secret_object, service_object
from tests.fakes.peers.grpc_upstreams import in_thread
from tests.fakes.processes import ROOT, TWISTD, ControllerProcess, free_port
from tests.fakes.service_managers import FakeServiceManager, abstract_name

WATCHDOG_SECONDS = 1.0
"""Signs of life come twice in that; the kernel keeps ten messages for one that does not read them."""


class ManagedCase(EndToEndCase):
    """A service manager, a directory of manifests, and one route."""

    def setUp(self) -> None:
        super().setUp()
        self.manager = FakeServiceManager(abstract_name("process"))
        self.addCleanup(self.manager.close)
        self.environment = {
            "NOTIFY_SOCKET": self.manager.name,
            "WATCHDOG_USEC": str(round(WATCHDOG_SECONDS * 1e6)),
        }

    def begin(self, *options: str) -> ControllerProcess:
        """Start a controller with one route."""
        app = self.upstream(b"app")
        self.write("app", ingress_object("app", "shop.test"), service_object("app"))
        return self.start_with_manifests(f"--endpoint={NAMESPACE}/app={app.endpoint}", *options)

    async def said_ready(self, controller: ControllerProcess) -> None:
        """Wait until a controller has told that it is ready."""
        deadline = self.reactor.seconds() + PATIENCE
        while not self.manager.said("READY"):
            if controller.status is not None or self.reactor.seconds() > deadline:
                self.fail(f"not ready: {self.manager.messages} {controller.output!r} {controller.errors!r}")
            await self.turn(0.01)


class LifeTests(ManagedCase):
    """What the service manager hears of the real process."""

    async def test_life(self) -> None:
        """Ready is said when requests are served, signs of life come, the end is told, and all by the process itself."""
        controller = self.begin()
        await self.said_ready(controller)
        self.assertEqual(await self.get(self.http), (200, b"app"))
        await self.until(lambda: self.manager.said("STATUS")[-1] == "serves 1 route of 1 host")
        self.assertTrue(all(status.startswith("not ready: ") for status in self.manager.said("STATUS")[:-1]))
        already = len(self.manager.said("WATCHDOG"))
        await self.until(lambda: len(self.manager.said("WATCHDOG")) > already + 2)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
        self.assertEqual((self.manager.said("READY"), self.manager.said("STOPPING")), (["1"], ["1"]))
        self.assertEqual({pid for pid, _ in self.manager.messages}, {controller.pid})

    async def test_hung(self) -> None:
        """A process that hangs gives no sign of life, which is what the watchdog is for."""
        controller = self.begin()
        await self.until(lambda: len(self.manager.said("WATCHDOG")) > 2)
        controller.signal(signal.SIGSTOP)
        status = Path(f"/proc/{controller.pid}/stat")
        await self.until(lambda: status.read_text().rsplit(")", 1)[1].split()[0] == "T")
        already = len(self.manager.said("WATCHDOG"))
        await self.turn(3 * WATCHDOG_SECONDS)
        self.assertEqual(len(self.manager.said("WATCHDOG")), already)
        controller.signal(signal.SIGCONT)
        await self.until(lambda: len(self.manager.said("WATCHDOG")) > already)

    async def test_environment(self) -> None:
        """The variables are not in the environment that the process would give to a child."""
        self.environment = {**self.environment, "WATCHDOG_PID": "1"}
        await self.starting_with_child()
        self.assertEqual(self.manager.said("WATCHDOG"), [])

    async def starting_with_child(self) -> None:
        """Start a controller whose kubeconfig has it run a program, and look at that program's environment."""
        found = self.directory / "environment"
        kubeconfig = running(self.directory, f"env > {found}.new; mv {found}.new {found}; exit 1")
        controller = self.start(f"--kubeconfig={kubeconfig}")
        await self.until(found.exists)
        names = {line.split("=", 1)[0] for line in found.read_text().splitlines()}
        self.assertIn("HOME", names)
        self.assertEqual({name for name in names if name.startswith(("NOTIFY", "WATCHDOG", "LISTEN"))}, set())
        controller.signal(signal.SIGTERM)
        await controller.end()

    async def test_unsynced(self) -> None:
        """While nothing is known of the cluster yet, it is told what is waited for, and more time is asked for."""
        controller = self.start("--server=http://127.0.0.1:1")
        await self.until(lambda: self.manager.said("STATUS"))
        await self.until(lambda: "refused" in self.manager.said("STATUS")[-1])
        self.assertTrue(self.manager.said("EXTEND_TIMEOUT_USEC"))
        self.assertEqual(self.manager.said("READY"), [])
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
        self.assertEqual(self.manager.said("STOPPING"), ["1"])

    async def test_failed(self) -> None:
        """A start that fails leaves the reason as the status, which ``systemctl status`` shows."""
        controller = self.begin("--http=tcp:80:interface=192.0.2.7")
        self.assertEqual(await self.end_of(controller), 1)
        self.assertIn("cannot listen on tcp:80:interface=192.0.2.7", self.manager.said("STATUS")[-1])
        self.assertEqual(self.manager.said("READY"), [])

    async def test_nobody_listens(self) -> None:
        """A service manager that is gone harms nothing, and is said once."""
        self.manager.close()
        controller = self.begin()
        await self.until_ready(controller)
        self.assertEqual(await self.get(self.http), (200, b"app"))
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
        self.assertEqual(controller.output.count(b"is not reached"), 1)


LISTENERS = ("--http=systemd:name=http", "--https=systemd:name=https", "--admin=systemd:name=admin")


class ActivatedCase(ManagedCase):
    """Sockets that listen before the process does, and after it."""

    def setUp(self) -> None:
        super().setUp()
        self.sockets: list[tuple[str, socket.socket]] = []
        self.authority = make_authority()

    def listening(
        self, name: str, family: socket.AddressFamily = socket.AF_INET, address: object = ("127.0.0.1", 0)
    ) -> socket.socket:
        """Listen, and have this handed over."""
        sock = socket.socket(family, socket.SOCK_STREAM)
        self.addCleanup(sock.close)
        sock.bind(address)  # type: ignore[arg-type]
        sock.listen()
        self.sockets.append((name, sock))
        return sock

    def listen(self) -> None:
        """Listen for HTTP, HTTPS and the admin port."""
        self.http, self.https, self.admin = (
            self.listening(name).getsockname()[1] for name in ("http", "https", "admin")
        )
        self.admins.add(self.admin)

    def activate(self, *options: str, **environment: str) -> ControllerProcess:
        """Start a controller with one route that has these sockets."""
        usual = (
            f"--manifests={self.manifests}",
            f"--access-log={self.access_log}",
            "--shutdown-delay=0",
        )
        return self.run_with_route(*usual, *options, **environment)

    def run_with_route(self, *options: str, **environment: str) -> ControllerProcess:
        """Start a controller that has these sockets, and nothing else than these *options* but for its endpoints."""
        app = self.app = self.upstream(b"app")
        self.write(
            "app",
            ingress_object("app", "shop.test"),
            ingress_object("app-tls", "secure.test", "cert"),
            service_object("app"),
            service_object("app-tls"),
            secret_object("cert", *issue(self.authority, ["secure.test"])),
        )
        controller = ControllerProcess(
            self.reactor,
            str(self.directory),
            *(f"--endpoint={NAMESPACE}/{name}={app.endpoint}" for name in ("app", "app-tls")),
            *options,
            environment={**self.environment, **environment},
            handed_over=self.sockets,
        )
        self.addCleanup(controller.kill)
        return controller

    async def answers(self) -> None:
        """All three are served, and by the socket that was handed over."""
        self.assertEqual(await self.get(self.http), (200, b"app"))
        self.assertEqual(await self.get(self.https, host="secure.test", trust=self.authority), (200, b"app"))

    def holders(self, controller: ControllerProcess) -> dict[int, int]:
        """Return how many of the sockets each process below *controller*, and itself, has."""
        inodes = {f"socket:[{os.fstat(sock.fileno()).st_ino}]" for _, sock in self.sockets}
        found = {}
        for pid in self.family_of(controller.pid):
            links = [os.readlink(one) for one in Path(f"/proc/{pid}/fd").iterdir() if one.is_symlink()]
            found[pid] = len(inodes & set(links))
        return found

    def family_of(self, pid: int) -> list[int]:
        """Return *pid* and the processes below it."""
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [pid, *(one for child in children for one in self.family_of(int(child)))]


class ActivationTests(ActivatedCase):
    """Socket activation."""

    async def served(self, *options: str) -> ControllerProcess:
        """HTTP, HTTPS and the admin port are served on what was handed over, and by the next process again."""
        self.listen()
        controller = self.activate(*LISTENERS, *options)
        await self.until_ready(controller)
        await self.answers()
        return controller

    async def test_epoll(self) -> None:
        """The epoll set listens on sockets that were handed over; nothing was imported before they are looked for."""
        self.environment = {**self.environment, "PYTHONDONTWRITEBYTECODE": "1"}
        await self.served()

    async def test_twisted(self) -> None:
        """So do Twisted's transports."""
        await self.served("--no-epoll")

    async def test_workers(self) -> None:
        """So do workers; what forks them has none of the sockets."""
        controller = await self.served("--workers=2")
        held = self.holders(controller)
        self.assertEqual(held[controller.pid], 3)
        # Workers have those of HTTP and HTTPS, and the fork server none.
        self.assertEqual(sorted(held.values()), [0, 2, 2, 3])
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)

    async def six(self, *options: str) -> None:
        """IPv6 is served, and who asks is known by the address."""
        try:
            self.listening("http", socket.AF_INET6, ("::1", 0))
        except OSError as error:
            raise SkipTest(f"there is no IPv6 here: {error}") from None
        port = self.sockets[0][1].getsockname()[1]
        self.admin = self.listening("admin").getsockname()[1]
        self.admins.add(self.admin)
        controller = self.activate(
            "--http=systemd:domain=INET6:name=http",
            f"--https=tcp:{free_port()}:interface=127.0.0.1",
            "--admin=systemd:index=1",
            *options,
        )
        await self.until_ready(controller)
        answer = await in_thread(self.reactor, lambda: ask(("::1", port), socket.AF_INET6))
        self.assertIn(b" 200 ", answer)
        await self.until(lambda: b"::1" in self.access_log.read_bytes())

    async def test_six(self) -> None:
        """By the epoll set."""
        await self.six()

    async def test_six_on_twisted(self) -> None:
        """By Twisted's transports."""
        await self.six("--no-epoll")

    async def test_unix(self) -> None:
        """A UNIX socket is served, by the process and by workers."""
        for options in ((), ("--workers=1",)):
            with TemporaryDirectory() as directory:
                self.sockets.clear()
                self.listening("http", socket.AF_UNIX, f"{directory}/http")
                self.admin = self.listening("admin").getsockname()[1]
                self.admins.add(self.admin)
                controller = self.activate(
                    "--http=systemd:name=http",
                    f"--https=tcp:{free_port()}:interface=127.0.0.1",
                    "--admin=systemd:name=admin",
                    *options,
                )
                await self.until_ready(controller)
                path = f"{directory}/http"
                answer = await in_thread(self.reactor, partial(ask, path, socket.AF_UNIX))
                self.assertIn(b" 200 ", answer)
                controller.signal(signal.SIGTERM)
                await self.stopped(controller)

    async def test_next_process(self) -> None:
        """Who connects while there is no process waits in the socket, and the next one answers."""
        controller = await self.served()
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
        waiting = await self.connect(self.http)
        waiting.get(b"/", b"shop.test")
        controller = self.activate(*LISTENERS)
        await waiting.answer(1)
        self.assertEqual([answer.status for answer in waiting.answers], [200])

    async def test_children(self) -> None:
        """A program that the process runs has neither the variables nor the sockets."""
        self.listen()
        found = self.directory / "found"
        kubeconfig = running(
            self.directory, f"(env; ls -l /proc/self/fd) > {found}.new; mv {found}.new {found}; exit 1"
        )
        controller = ControllerProcess(
            self.reactor,
            str(self.directory),
            f"--kubeconfig={kubeconfig}",
            *LISTENERS,
            environment=self.environment,
            handed_over=self.sockets,
        )
        self.addCleanup(controller.kill)
        await self.until(found.exists)
        text = found.read_text()
        self.assertNotIn("LISTEN_", text)
        for _, sock in self.sockets:
            self.assertNotIn(f"socket:[{os.fstat(sock.fileno()).st_ino}]", text)

    async def test_unused(self) -> None:
        """A socket that no option names is told of."""
        self.listen()
        self.listening("metrics")
        controller = self.activate(*LISTENERS)
        await self.until_ready(controller)
        await self.until(
            lambda: b"1 socket was handed over and no option names them: metrics" in controller.output
        )

    async def test_refused(self) -> None:
        """What is not there, or not meant for this process, ends the start in one line that says so."""
        self.listen()
        for options, environment, line in (
            (
                ("--http=systemd:name=web", *LISTENERS[1:]),
                {},
                "no socket of this name was handed over; there are admin, http, https",
            ),
            (
                (*LISTENERS, "--http=systemd:index=7"),
                {},
                "there is no socket 7: 3 were handed over, counted from 0",
            ),
            (LISTENERS, {"LISTEN_PID": "1"}, "the sockets of LISTEN_FDS are for process '1', and this is "),
            (
                ("--http=systemd:domain=INET6:name=http", *LISTENERS[1:]),
                {},
                "socket 'http' is of INET, not of INET6: leave the domain out",
            ),
            (("--http=systemd:https",), {}, "write systemd:name=NAME, or systemd:index=NUMBER"),
        ):
            controller = self.activate(*options, **environment)
            self.assertEqual(await self.end_of(controller), 1, line)
            self.assertIn(line, controller.errors.decode())
            self.assertEqual(controller.errors.count(b"\n"), 1, controller.errors)


class ToolTests(ActivatedCase):
    """Systemd's own tools, where there are any."""

    async def test_socket_activate(self) -> None:
        """``systemd-socket-activate`` starts the process with the first connection, and that one is answered."""
        tool = which("systemd-socket-activate")
        if tool is None:
            raise SkipTest("there is no systemd-socket-activate here")
        http = free_port()
        app = self.upstream(b"app")
        self.write("app", ingress_object("app", "shop.test"), service_object("app"))
        options = (
            "--http=systemd:name=http",
            f"--https=tcp:{free_port()}:interface=127.0.0.1",
            f"--admin=tcp:{free_port()}:interface=127.0.0.1",
            f"--access-log={self.access_log}",
            f"--manifests={self.manifests}",
            f"--endpoint={NAMESPACE}/app={app.endpoint}",
        )
        runner = ("--nodaemon", "--pidfile=", f"--rundir={self.directory}")
        python = (sys.executable, "-c", TWISTD)
        kept = ("-E", "PYTHONPATH", "-E", "HOME")
        process = subprocess.Popen(
            (
                tool,
                f"--listen=127.0.0.1:{http}",
                "--fdname=http",
                *kept,
                *python,
                *runner,
                "ingress",
                *options,
            ),
            env={"PATH": os.environ["PATH"], "HOME": str(self.directory), "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        await self.until(lambda: listens(http))
        self.assertEqual(await self.get(http), (200, b"app"))


def listens(port: int) -> bool:
    """Whether a TCP port of 127.0.0.1 is listened on; nobody is connected to for that."""
    wanted = f"0100007F:{port:04X} 00000000:0000 0A"
    return wanted in Path("/proc/net/tcp").read_text()


def ask(address: Any, family: socket.AddressFamily) -> bytes:
    """Return the answer to a request."""
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.settimeout(60)
        sock.connect(address)
        sock.sendall(b"GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n")
        received = b""
        while data := sock.recv(65536):
            received += data
        return received


def running(directory: Path, script: str) -> Path:
    """Return a kubeconfig whose credentials come from this *script* for a shell."""
    kubeconfig = directory / "kubeconfig"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never,"
        f" command: /bin/sh, args: ['-c', '{script}']}}}}}}]\n"
    )
    return kubeconfig
