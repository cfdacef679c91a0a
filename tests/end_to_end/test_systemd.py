"""Under systemd, which is played: a process that says how it is, to whom that matters."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.objects import NAMESPACE, ingress_object, service_object
from tests.fakes.processes import ControllerProcess
from tests.fakes.service_managers import FakeServiceManager, abstract_name

WATCHDOG_SECONDS = 0.4


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


class LifeTests(ManagedCase):
    """What the service manager hears of the real process."""

    async def test_life(self) -> None:
        """Ready is said when requests are served, signs of life come, the end is told, and all by the process itself."""
        controller = self.begin()
        await self.until(lambda: self.manager.said("READY"))
        self.assertEqual(await self.get(self.http), (200, b"app"))
        self.assertEqual(self.manager.said("STATUS")[-1], "serves 1 route of 1 host")
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
        kubeconfig = self.directory / "kubeconfig"
        kubeconfig.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
            "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
            "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
            "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never,"
            f" command: /bin/sh, args: ['-c', 'env > {found}.new; mv {found}.new {found}; exit 1']}}}}}}]\n"
        )
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
