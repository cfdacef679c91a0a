"""A worker tells its parent what it counts: each second, whenever it is asked, and at its end.

A tally is made in each turn of the reactor, so however many Ingresses had requests, no request waits for long.  While the parent
does not read what was sent, nothing is taken, and so nothing is lost: it is in a later tally.
"""

from collections.abc import Callable, Iterator
from typing import Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

from ingress.metrics.metrics import Metrics
from ingress.metrics.totals.tallying import Tallying

SECONDS: Final = 1.0
"""How often a worker tells unasked, and so what is lost with one that is killed: what it counted since."""
OWN_EVERY: Final = 10
"""With each so manieth time it tells of its memory, descriptors, processor time and collections, too."""
MOST_UNSENT: Final = 262_144
"""Bytes that may wait for the parent; beyond that nothing is told unasked."""


class TallySender:
    """Has *send* called with tallies of *metrics*; *unsent* returns how many bytes still wait for the parent."""

    def __init__(
        self,
        clock: IReactorTime,
        metrics: Metrics,
        send: Callable[[bytes], None],
        unsent: Callable[[], int],
    ) -> None:
        self._clock = clock
        self._tallying = Tallying(metrics)
        self._send = send
        self._unsent = unsent
        self._under_way: Iterator[bytes] | None = None
        self._told: list[Deferred[None]] = []
        """Of who asked for what is under way."""
        self._waiting: list[Deferred[None]] = []
        """Of who asked since it began."""
        self._times = 0
        self._loop = LoopingCall(self._tell_unasked)
        self._loop.clock = clock

    def start(self) -> None:
        """Tell each second from now on."""
        self._loop.start(SECONDS, now=False)

    def tell(self) -> Deferred[None]:
        """Tell all that was counted until now; fires when it was sent."""
        told: Deferred[None] = Deferred()
        self._waiting.append(told)
        if self._under_way is None:
            self._begin(True)
        return told

    def finish(self) -> None:
        """Tell all that was counted at once; what is counted later is told only if somebody asks."""
        if self._loop.running:
            self._loop.stop()
        for tallies in (self._under_way or (), self._tallying.take(True)):
            for octets in tallies:
                self._send_some(octets)

    def _tell_unasked(self) -> None:
        if self._under_way is None and self._unsent() <= MOST_UNSENT:
            self._times += 1
            self._begin(self._times % OWN_EVERY == 0)

    def _begin(self, with_own: bool) -> None:
        self._told, self._waiting = self._waiting, []
        self._under_way = self._tallying.take(with_own)
        self._step()

    def _step(self) -> None:
        assert self._under_way is not None
        octets = next(self._under_way, None)
        if octets is not None:
            self._send_some(octets)
            self._clock.callLater(0, self._step)
            return
        self._under_way = None
        told, self._told = self._told, []
        for one in told:
            one.callback(None)
        if self._waiting:
            self._begin(True)

    def _send_some(self, octets: bytes) -> None:
        if octets:
            self._send(octets)
