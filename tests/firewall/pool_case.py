"""A firewall whose processes are none, and say what a test has them say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.firewall.messages import Kind, Said, loaded_to_bytes, parts_of, request_of, said_to_bytes
from ingress.firewall.pool import Firewall
from ingress.firewall.rule_log import RuleLog
from ingress.model.exchanges.firewall import FirewallPlan, InspectedRequest, Loaded, RuleSet, Verdict
from ingress.process.framing import Frame

PLAN = FirewallPlan(processes=2, seconds=2.0)
RULES = RuleSet(("SecRuleEngine On",), blocks=True)
PASSED = Said()


def request(target: bytes = b"/", *, body: bytes = b"", stays: bool = False) -> InspectedRequest:
    """Return a request."""
    return InspectedRequest(b"id", b"10.0.0.1", b"shop.test", 80, b"GET", target, b"", body, stays)


class FakeLink:
    """A process that says what a test has it say."""

    def __init__(self, pid: int, came: Callable[[Frame], None], ended: Callable[[str], None]) -> None:
        self.pid = pid
        self.came = came
        self.ended = ended
        self.sent: list[Frame] = []
        self.is_killed = self.is_closed = False
        self.is_open = True

    def send(self, frame: Frame, rest: bytes = b"") -> None:
        """Take rules at once, and keep everything else."""
        frame = Frame(frame.kind, frame.number, frame.payload + rest)
        self.sent.append(frame)
        if frame.kind == Kind.LOAD and b"slow" not in frame.payload:
            size = sum(int(part) for part in parts_of(frame.payload) if part and part.isdecimal())
            refused = "no rule" if b"refused" in frame.payload else ""
            self.came(Frame(Kind.LOADED, frame.number, loaded_to_bytes(size, refused)))

    def kill(self) -> None:
        """Be killed."""
        self.is_killed = True

    def close(self) -> None:
        """Be left."""
        self.is_closed = True

    def kinds(self) -> list[int]:
        """Return the kinds of the frames that were sent."""
        return [frame.kind for frame in self.sent]

    def targets(self) -> list[bytes]:
        """Return the targets that it was asked about."""
        return [request_of(one.payload)[1].target for one in self.sent if one.kind == Kind.REQUEST]

    def say(self, said: Said = PASSED) -> None:
        """Give a verdict on the last thing that it was asked about."""
        last = [one for one in self.sent if one.kind in (Kind.REQUEST, Kind.ANSWER)][-1]
        self.came(Frame(Kind.VERDICT, last.number, said_to_bytes(said)))


class PoolCase(SynchronousTestCase):
    """A firewall whose processes are none."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.links: list[FakeLink] = []
        self.counted: list[str] = []
        self.cannot_start = False
        telling = RuleLog(self.clock.seconds)
        self.firewall = Firewall(self.clock, PLAN, self.start, self.counted.append, telling)
        self.firewall.start()
        self.addCleanup(self.firewall.stop)

    def start(self, came: Callable[[Frame], None], ended: Callable[[str], None]) -> FakeLink:
        """Start a process."""
        if self.cannot_start:
            raise OSError(11, "Resource temporarily unavailable")
        self.links.append(FakeLink(len(self.links) + 100, came, ended))
        return self.links[-1]

    def ready(self, *links: FakeLink) -> None:
        """Have processes say that they are there."""
        for link in links or self.links:
            link.came(Frame(Kind.READY))

    def inspect(self, loaded: Loaded, *args: Any, **more: Any) -> Deferred[Verdict]:
        """Have a request judged."""
        waited = self.firewall.inspect(loaded, request(*args, **more))
        assert isinstance(waited, Deferred)
        return waited
