"""What filters get in place of the proxy's services when they are only asked what they would do.

Nothing here reaches anything: no request is sent, nothing is computed, no time passes, nothing is counted, and what a filter
remembers is forgotten with it.  What it wants of others is noted instead, and awaiting that tells the one who asked the
filter (``Awaited``).
"""

from collections.abc import Awaitable, Callable, Generator, Hashable
from datetime import datetime
from typing import Any, Final, Generic, TypeVar, cast

from ingress.filters import ScheduledCall, Scope
from ingress.http.own_request import own_request_head
from ingress.model.exchanges.sub_requests import SubAnswer, SubRequest, SubRequestFailed
from ingress.model.frozen import frozen
from ingress.model.network.http_urls import parse_url

T = TypeVar("T")

_NOT_SECRET: Final = bytes(32)


class Awaited(Generic[T]):
    """What a filter waits for: the answer to a request, or what is computed."""

    def __init__(
        self,
        request: SubRequest | None = None,
        then: Callable[[SubAnswer | SubRequestFailed], T] | None = None,
    ) -> None:
        self.request = request
        """None where something is computed."""
        self.then = then
        """What makes a decision of the answer, where that is known beforehand."""

    def __await__(self) -> Generator[Any, Any, T]:
        yield self
        raise RuntimeError("nothing comes of what is only asked about")


class _NoCall:
    def cancel(self) -> None:
        """Have it never come, as it would not anyway."""


class StillClock:
    """A clock that stands."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def seconds(self) -> float:
        """Return the same moment each time."""
        return 0.0

    def now(self) -> datetime:
        """Return the time of day that is asked about."""
        return self._now

    def call_later(self, seconds: float, call: Callable[[], object]) -> ScheduledCall:
        """Call nothing."""
        return _NoCall()


@frozen
class CountedReplicas:
    """How many replicas there are."""

    count: int = 1


class AskedServices:
    """The services of one filter; satisfies ``ingress.filters.Services``."""

    secret = _NOT_SECRET

    def __init__(self, now: datetime, replicas: int) -> None:
        self.clock = StillClock(now)
        self.replicas = CountedReplicas(replicas)
        self.told: list[SubRequest] = []
        """Requests that nobody waits for the answers to."""
        self.keeps_count = False
        """Whether what it says depends on other requests."""
        self._kept: dict[Hashable, object] = {}

    def random(self) -> float:
        """Return the same number each time."""
        return 0.0

    def count(self, event: str) -> None:
        """Count nothing."""

    def ask(self, request: SubRequest) -> Awaitable[SubAnswer]:
        """Note that *request* would be sent; raises ``ValueError`` for what is none."""
        _check(request)
        return Awaited(request)

    def ask_then(
        self, request: SubRequest, then: Callable[[SubAnswer | SubRequestFailed], T]
    ) -> Awaitable[T]:
        """Note that *request* would be sent, and what would be made of its answer; raises ``ValueError`` for what is none."""
        _check(request)
        return Awaited(request, then)

    def tell(self, request: SubRequest) -> None:
        """Note that *request* would be sent; raises ``ValueError`` for what is none."""
        _check(request)
        self.told.append(request)

    def compute(self, call: Callable[[], T], whose: Hashable = None, once: Hashable = None) -> Awaitable[T]:
        """Note that something would be computed."""
        return Awaited()

    def state(self, scope: Scope, key: Hashable, make: Callable[[], T]) -> T:
        """Return what is kept under *key* by nobody else; raises ``LookupError`` as the proxy's does."""
        if scope is Scope.REPLICAS:
            raise LookupError("replicas share no state")
        self.keeps_count = self.keeps_count or scope is not Scope.WORKER
        if key not in self._kept:
            self._kept[key] = make()
        return cast(T, self._kept[key])


def _check(request: SubRequest) -> None:
    own_request_head(
        request.method,
        parse_url(request.url),
        request.fields,
        request.body,
        target=request.target,
        authority=request.authority,
        lines=request.lines,
        without=request.without,
    )
