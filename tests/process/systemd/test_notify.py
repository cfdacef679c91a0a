"""What the service manager is told, over a socket of the kind that systemd has."""

from __future__ import annotations

import os
from tempfile import TemporaryDirectory

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.process.systemd.notify import (
    AGAIN_SECONDS,
    LEAST_WATCHDOG_SECONDS,
    MOST_STATUS_CHARACTERS,
    Systemd,
    address_of,
)
from tests.fakes.service_managers import FakeServiceManager, abstract_name


class SystemdCase(SynchronousTestCase):
    """A socket that somebody reads."""

    def setUp(self) -> None:
        self.listening = FakeServiceManager(abstract_name("notify"))
        self.addCleanup(self.listening.close)
        self.clock = Clock()

    def systemd(self, watchdog_seconds: float | None = None) -> Systemd:
        """Return the process's side."""
        return Systemd(self.listening.name, watchdog_seconds)


class EnvironmentTests(SystemdCase):
    """What the environment says, and what is left of it."""

    def test_taken(self) -> None:
        """The variables are taken out, so that no child speaks; all others stay."""
        environment = {
            "NOTIFY_SOCKET": self.listening.name,
            "WATCHDOG_USEC": "5000000",
            "WATCHDOG_PID": "7",
            "HOME": "/",
        }
        systemd = Systemd.taken_from(environment, 7)
        self.assertEqual(environment, {"HOME": "/"})
        self.assertTrue(systemd.is_there)
        self.assertEqual(
            systemd.environment(), {"NOTIFY_SOCKET": self.listening.name, "WATCHDOG_USEC": "5000000"}
        )

    def test_nobody(self) -> None:
        """Without a socket nothing is told, nothing waits, and nobody is to be told later."""
        systemd = Systemd.taken_from({"WATCHDOG_USEC": "5000000"}, 7)
        systemd.start(self.clock)
        systemd.ready("serves")
        systemd.stop()
        self.assertFalse(systemd.is_there)
        self.assertEqual((systemd.environment(), self.clock.getDelayedCalls()), ({}, []))

    def test_watchdog_of_others(self) -> None:
        """A watchdog that waits for another process, or asks for what is no time, gets no sign of life."""
        for asked in (
            {"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "8"},
            {"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "x"},
            {"WATCHDOG_USEC": "0"},
            {"WATCHDOG_USEC": "-5"},
            {"WATCHDOG_USEC": "²"},
            {"WATCHDOG_USEC": "1e6"},
            {},
        ):
            systemd = Systemd.taken_from({"NOTIFY_SOCKET": self.listening.name, **asked}, 7)
            systemd.start(self.clock)
            self.clock.advance(10)
            systemd.stop()
            self.assertEqual(self.listening.read(), [], asked)

    def test_addresses(self) -> None:
        """A path and an abstract name are addresses; whatever else is none, and is told in one line."""
        self.assertEqual(address_of("/run/systemd/notify"), "/run/systemd/notify")
        self.assertEqual(address_of("@name"), "\0name")
        for name in ("", "@", "/", "run/notify", "vsock:2:9999", "/" + "x" * 107, "/" + "é" * 60):
            self.assertIsNone(address_of(name), name)
            self.assertFalse(Systemd(name).is_there)


class MessageTests(SystemdCase):
    """What is said."""

    def test_life(self) -> None:
        """Each state is a message of its own, sent at once."""
        systemd = self.systemd()
        systemd.start(self.clock)
        systemd.status("not ready: Ingresses")
        systemd.extend(30)
        systemd.ready("serves 2 routes")
        systemd.stopping("stops")
        self.assertEqual(
            self.listening.read(),
            [
                {"STATUS": "not ready: Ingresses"},
                {"EXTEND_TIMEOUT_USEC": "30000000"},
                {"READY": "1", "STATUS": "serves 2 routes"},
                {"STOPPING": "1", "STATUS": "stops"},
            ],
        )
        self.assertEqual({pid for pid, _ in self.listening.messages}, {os.getpid()})

    def test_path(self) -> None:
        """A socket at a path is spoken to as one of an abstract name is."""
        with TemporaryDirectory() as directory:
            listening = FakeServiceManager(f"{directory}/notify")
            self.addCleanup(listening.close)
            Systemd(listening.name).ready("serves")
            self.assertEqual(listening.said("READY"), ["1"])

    def test_status_is_a_line(self) -> None:
        """Whatever a status is made of, it is one line of bounded length, and can say nothing else."""
        systemd = self.systemd()
        systemd.status("a\nREADY=1\x1b[31m\u2028b\udc80" + "x" * 10_000)
        (status,) = self.listening.said("STATUS")
        self.assertEqual(len(status), MOST_STATUS_CHARACTERS)
        self.assertTrue(status.startswith("a READY=1 [31m b xxx"), status)
        self.assertEqual(self.listening.said("READY"), [])

    def test_hand_over(self) -> None:
        """Who handed over says which process it is now, and nothing from then on."""
        systemd = self.systemd(watchdog_seconds=2)
        systemd.start(self.clock)
        systemd.hand_over(4711, "process 4711 serves")
        systemd.status("drains")
        systemd.stopping("stops")
        self.clock.advance(60)
        self.assertEqual(
            self.listening.read(),
            [{"WATCHDOG": "1"}, {"MAINPID": "4711", "READY": "1", "STATUS": "process 4711 serves"}],
        )


class WatchdogTests(SystemdCase):
    """Signs of life."""

    def test_half(self) -> None:
        """They come twice as often as they are asked for, by the reactor's clock, and end with the process."""
        systemd = self.systemd(watchdog_seconds=10)
        systemd.start(self.clock)
        for _ in range(20):
            self.clock.advance(1)
        self.assertEqual(self.listening.said("WATCHDOG"), ["1"] * 5)
        systemd.stop()
        self.clock.advance(100)
        self.assertEqual(self.listening.said("WATCHDOG"), ["1"] * 5)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_absurdly_short(self) -> None:
        """However short a time is asked for, the reactor has others to serve."""
        systemd = self.systemd(watchdog_seconds=1e-6)
        systemd.start(self.clock)
        (call,) = self.clock.getDelayedCalls()
        self.assertAlmostEqual(call.getTime(), LEAST_WATCHDOG_SECONDS)
        systemd.stop()


class UnreachedTests(SystemdCase):
    """Nobody reads, or nobody is there."""

    def test_full(self) -> None:
        """Where the socket is full nobody waits; what was not taken is said later, in its newest form and at once."""
        systemd = self.systemd()
        systemd.start(self.clock)
        for number in range(2000):
            systemd.status(f"status {number}")
        systemd.ready("serves")
        systemd.stopping("stops")
        taken = self.listening.read()
        self.assertLess(len(taken), 2000)
        self.assertNotIn("STOPPING", taken[-1])
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)
        self.clock.advance(AGAIN_SECONDS)
        self.assertEqual(self.listening.read()[len(taken) :], [{"STATUS": "stops", "STOPPING": "1"}])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_gone(self) -> None:
        """Where nobody listens nothing is raised, one line says so, and who comes back hears all that counts."""
        systemd = self.systemd(watchdog_seconds=4)
        self.listening.close()
        systemd.start(self.clock)
        systemd.ready("serves")
        for _ in range(10):
            self.clock.advance(AGAIN_SECONDS)
        self.listening = FakeServiceManager(self.listening.name)
        self.clock.advance(AGAIN_SECONDS)
        (heard,) = self.listening.read()
        self.assertEqual(heard, {"WATCHDOG": "1", "READY": "1", "STATUS": "serves"})
        systemd.stop()

    def test_last_words(self) -> None:
        """What could not be sent is tried once more at the very end."""
        systemd = self.systemd()
        systemd.start(self.clock)
        self.listening.close()
        systemd.stopping("stops")
        self.listening = FakeServiceManager(self.listening.name)
        systemd.stop()
        self.assertEqual(self.listening.said("STOPPING"), ["1"])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_before_the_clock(self) -> None:
        """What could not be sent before the reactor runs is sent when it does."""
        systemd = self.systemd()
        self.listening.close()
        systemd.status("not ready")
        self.listening = FakeServiceManager(self.listening.name)
        systemd.start(self.clock)
        self.assertEqual(self.listening.said("STATUS"), ["not ready"])
