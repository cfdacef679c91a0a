"""What the proxy does for filters: time, chance, counters, sub-requests, and state that outlives them."""

from collections.abc import Awaitable, Callable, Hashable, Mapping
from datetime import datetime
from hashlib import blake2b
from random import Random
from typing import Any, Protocol, TypeVar, cast

from twisted.internet.error import AlreadyCalled, AlreadyCancelled
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ingress.filters import ScheduledCall, Scope
from ingress.metrics.series.filters import FilterMetrics
from ingress.model.exchanges.sub_requests import SubAnswer, SubRequest, SubRequestFailed

T = TypeVar("T")


class Asker(Protocol):
    """Who sends the sub-requests of all filters."""

    def ask(self, request: SubRequest) -> Awaitable[SubAnswer]:
        """Send *request*; its answer is to be awaited.  Raises ``ValueError`` for what is none."""

    def ask_then(
        self, request: SubRequest, then: Callable[[SubAnswer | SubRequestFailed], T]
    ) -> Awaitable[T]:
        """Send *request*; what *then* makes of its answer is to be awaited.  Raises ``ValueError`` for what is none."""

    def tell(self, request: SubRequest) -> None:
        """Send *request*, and have nobody wait for its answer.  Raises ``ValueError`` for what is none."""


class Computer(Protocol):
    """Who computes for all filters."""

    def compute(
        self, call: Callable[[], object], whose: Hashable = None, once: Hashable = None
    ) -> Awaitable[Any]:
        """Call *call* in a thread.  Raises ``ComputingRefused``."""


class States:
    """What outlives a snapshot: of filters, and of backends.

    Where one process serves all requests, what workers share and what each has itself are the same.  With several of them *shared*
    is all that they share, by name and key.  Replicas share nothing.  *own* is what a process has for its filters from the
    beginning.
    """

    def __init__(
        self,
        shared: Mapping[tuple[str, Hashable], object] | None = None,
        own: Mapping[tuple[str, Hashable], object] | None = None,
    ) -> None:
        self._kept: dict[tuple[str, Hashable], object] = dict(own or {})
        self._shared = shared

    def state(self, scope: Scope, name: str, key: Hashable, make: Callable[[], T]) -> T:
        """Return what is kept for *name* under *key*; *make* makes it for whoever comes first.

        Raises ``LookupError`` where nobody keeps what *scope* shares.
        """
        if scope is Scope.REPLICAS:
            raise LookupError("replicas share no state")
        if scope is Scope.PROCESS and self._shared is not None:
            if (name, key) not in self._shared:
                raise LookupError(f"workers share no state of {name} that is called {key}")
            return cast(T, self._shared[name, key])
        if (name, key) not in self._kept:
            self._kept[name, key] = make()
        return cast(T, self._kept[name, key])


class ReplicaCount:
    """How many replicas of the controller there are; satisfies ``ingress.filters.Replicas``."""

    def __init__(self) -> None:
        self.count = 1


class _Call:
    """A call that is still to come."""

    def __init__(self, delayed: IDelayedCall) -> None:
        self._delayed = delayed

    def cancel(self) -> None:
        """Have it never come; nothing happens if it has."""
        try:
            self._delayed.cancel()
        except (AlreadyCalled, AlreadyCancelled):
            pass


class FilterClock:
    """The time, for filters: durations by *clock*, the time of day by *now*."""

    def __init__(self, clock: IReactorTime, now: Callable[[], datetime]) -> None:
        self._clock = clock
        self.now = now
        # Asked for each request: the reactor's own, and no call around it.
        self.seconds: Callable[[], float] = clock.seconds
        """Returns seconds since some moment."""

    def call_later(self, seconds: float, call: Callable[[], object]) -> ScheduledCall:
        """Have *call* called once *seconds* have passed."""
        return _Call(self._clock.callLater(seconds, call))


class FilterServices:
    """The services of all filters called *name*; satisfies ``ingress.filters.Services``."""

    def __init__(
        self,
        name: str,
        clock: FilterClock,
        random: Random,
        metrics: FilterMetrics,
        states: States,
        asker: Asker,
        replicas: ReplicaCount,
        computer: Computer,
        secret: bytes,
    ) -> None:
        self.clock = clock
        self.replicas = replicas
        self.secret = blake2b(name.encode(), key=secret, digest_size=32).digest()
        self._name = name
        self._random = random
        self._metrics = metrics
        self._states = states
        self._asker = asker
        self._computer = computer

    def random(self) -> float:
        """Return a number from 0 to below 1."""
        return self._random.random()

    def count(self, event: str) -> None:
        """Add one to the counter of *event*."""
        self._metrics.counted(self._name, event)

    def ask(self, request: SubRequest) -> Awaitable[SubAnswer]:
        """Send *request*; its answer is to be awaited."""
        return self._asker.ask(request)

    def ask_then(
        self, request: SubRequest, then: Callable[[SubAnswer | SubRequestFailed], T]
    ) -> Awaitable[T]:
        """Send *request*; what *then* makes of its answer is to be awaited."""
        return self._asker.ask_then(request, then)

    def tell(self, request: SubRequest) -> None:
        """Send *request*, and have nobody wait for its answer."""
        self._asker.tell(request)

    def compute(self, call: Callable[[], T], whose: Hashable = None, once: Hashable = None) -> Awaitable[T]:
        """Have *call* called in a thread; what it returns is to be awaited."""
        return self._computer.compute(call, whose, None if once is None else (self._name, once))

    def state(self, scope: Scope, key: Hashable, make: Callable[[], T]) -> T:
        """Return what is kept under *key*; *make* makes it for whoever comes first."""
        return self._states.state(scope, self._name, key, make)
