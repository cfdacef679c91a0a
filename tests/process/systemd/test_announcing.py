"""How far the process is, as the service manager hears it."""

from __future__ import annotations

from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase

from ingress.errors import StartError
from ingress.process.systemd.announcing import REPEATED_SECONDS, SERVING_SECONDS, STARTING_SECONDS, Announcer
from ingress.process.systemd.notify import EXTENSION_SECONDS, Systemd
from tests.fakes.service_managers import FakeServiceManager, abstract_name


class _Reactor(MemoryReactorClock):
    """One that fires what was asked to be done at its end."""

    def fire(self, phase: str) -> None:
        for call in self.triggers.get(phase, {}).get("shutdown", []):
            call[0](*call[1], **call[2])


class AnnouncerTests(SynchronousTestCase):
    """A process from its start to its end."""

    def setUp(self) -> None:
        self.listening = FakeServiceManager(abstract_name("announcer"))
        self.addCleanup(self.listening.close)
        self.reactor = _Reactor()
        self.missing: tuple[str, ...] = ("Ingresses", "Services")
        self.serving = "serves 2 routes of 1 host"

    def start(self, systemd: Systemd | None = None) -> Announcer:
        announcer = Announcer(
            systemd or Systemd(self.listening.name),
            self.reactor,
            lambda: self.missing,
            lambda: self.serving,
        )
        announcer.start()
        return announcer

    def test_ready(self) -> None:
        """What is missing is told when that changes; ready is said once, when nothing is missing any more."""
        self.start()
        self.missing = ("listeners not open",)
        self.reactor.pump([STARTING_SECONDS] * 5)
        self.missing = ()
        self.reactor.pump([STARTING_SECONDS] * 5)
        self.assertEqual(
            self.listening.said("STATUS"),
            [
                "not ready: Ingresses, Services",
                "not ready: listeners not open",
                "serves 2 routes of 1 host",
            ],
        )
        self.assertEqual(self.listening.said("READY"), ["1"])

    def test_many_missing(self) -> None:
        """Of much that is missing some is named."""
        self.missing = ("a", "b", "c", "d", "e")
        self.start()
        self.assertEqual(self.listening.said("STATUS"), ["not ready: a, b, c and 2 more"])

    def test_failed(self) -> None:
        """Why the start failed is said to the end, without what a program of somebody else wrote."""
        announcer = self.start()
        announcer.failed(StartError("no cluster", "its words"))
        self.reactor.fire("before")
        self.assertEqual(set(self.listening.said("STATUS")[1:]), {"no cluster"})

    def test_served(self) -> None:
        """What is served is told again when it is something else, and not otherwise."""
        self.missing = ()
        self.start()
        self.reactor.pump([SERVING_SECONDS] * 10)
        self.serving = "serves 3 routes of 1 host"
        self.reactor.pump([SERVING_SECONDS] * 10)
        self.assertEqual(
            self.listening.said("STATUS"), ["serves 2 routes of 1 host", "serves 3 routes of 1 host"]
        )

    def test_repeated(self) -> None:
        """It is told again after a minute: who takes over from another process is not heard before it has."""
        self.missing = ()
        self.start()
        self.reactor.pump([SERVING_SECONDS] * round(2.5 * REPEATED_SECONDS / SERVING_SECONDS))
        self.assertEqual(self.listening.said("STATUS"), ["serves 2 routes of 1 host"] * 3)
        self.assertEqual(self.listening.said("READY"), ["1"])

    def test_long_start(self) -> None:
        """A start that waits asks for time before what it asked for is over, and no more once it is ready."""
        self.start()
        self.reactor.pump([STARTING_SECONDS] * round(10 * EXTENSION_SECONDS))
        asked = self.listening.said("EXTEND_TIMEOUT_USEC")
        self.assertEqual(set(asked), {str(round(EXTENSION_SECONDS * 1e6))})
        self.assertAlmostEqual(len(asked), 3, delta=1)
        self.missing = ()
        self.reactor.pump([SERVING_SECONDS] * 100)
        self.assertEqual(self.listening.said("EXTEND_TIMEOUT_USEC"), asked)

    def test_end(self) -> None:
        """The end is told when it begins, and asks for time as long as it takes; then nothing is scheduled."""
        self.missing = ()
        self.start()
        self.listening.messages.clear()
        self.missing = ("stopping",)
        self.reactor.fire("before")
        self.reactor.pump([1] * round(EXTENSION_SECONDS))
        self.assertEqual(self.listening.said("STOPPING"), ["1"])
        self.assertEqual(
            self.listening.said("STATUS"), ["serves 2 routes of 1 host", "stops: requests that run end"]
        )
        self.assertGreaterEqual(len(self.listening.said("EXTEND_TIMEOUT_USEC")), 3)
        self.reactor.fire("after")
        self.assertEqual(self.reactor.getDelayedCalls(), [])

    def test_nobody(self) -> None:
        """Where nobody wants to know, nobody looks."""
        self.start(Systemd())
        self.assertEqual((self.reactor.getDelayedCalls(), self.reactor.triggers), ([], {}))
