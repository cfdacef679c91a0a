"""What a filter meets in the proxy, as plain values: facts, edits, services."""

from collections.abc import Awaitable, Callable, Hashable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, cast

from attrs import Factory, define, field
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock as TwistedClock

from ingress.filters import (
    CgiRequest,
    ComputingRefused,
    FieldChanges,
    ScheduledCall,
    Scope,
    SubAnswer,
    SubRequest,
    SubRequestFailed,
)
from ingress.model.observability.traces import TraceContext
from ingress.model.requests.client_authentication import ClientEvidence
from ingress.model.upstream.backends import Endpoint
from ingress.proxy.exchange.filtering.services import ReplicaCount

T = TypeVar("T")


@define
class FakeFacts:
    """Facts of a request, each as it is given."""

    id: bytes = b"id1"
    scheme: bytes = b"http"
    is_secure: bool = False
    host: bytes = b"a.example.com"
    path: bytes = b"/"
    target: bytes = b"/"
    method: bytes = b"GET"
    client: bytes = b"192.0.2.1"
    forwarded_for: bytes = b"192.0.2.1"
    port: int = 80
    client_port: int = 0
    server_address: bytes = b""
    protocol: bytes = b"HTTP/1.1"
    now: float = 0.0
    hostname: bytes = b""
    upgrade: bytes = b""
    content_length: bytes = b""
    body_length: int | None = 0
    client_evidence: ClientEvidence | None = None
    body: bytes = b""
    is_body_whole: bool = True
    endpoint: Endpoint | None = None
    was_retried: bool = False
    trace: TraceContext | None = None
    notes: dict[object, object] = Factory(dict)
    fields: dict[bytes, bytes] = Factory(dict)
    """By name in lower case."""
    proxys_lines: bytes = b"X-Real-IP: 192.0.2.1\r\n"
    forwarded_authority: bytes = b""
    """What a trusted proxy says in place of Host, without port."""

    @property
    def authority(self) -> bytes:
        """What endpoints get as Host."""
        return self.forwarded_authority or self.field(b"host") or self.host

    @property
    def public_host(self) -> bytes:
        """The host by which the client knows us."""
        return self.forwarded_authority or self.host

    @property
    def lines(self) -> bytes:
        """The fields as lines."""
        return b"".join(b"%b: %b\r\n" % field for field in self.fields.items() if field[0] != b"host")

    def field(self, name: bytes) -> bytes:
        """Return the value of a field."""
        return self.fields.get(name, b"")


@define
class FakeEdit:
    """An edit of a request or an answer, which keeps its fields in order."""

    status: int = 200
    is_ours: bool = False
    fields: list[tuple[bytes, bytes]] = Factory(list)
    target: bytes = b""
    """As it is now; empty while nobody said otherwise."""
    authority: bytes | None = None
    told: CgiRequest | None = None
    body: bytes | None = None
    is_body_whole: bool = False

    def tell(self, request: CgiRequest) -> None:
        """Keep what an endpoint of FastCGI is told."""
        self.told = request

    def rewrite(self, target: bytes | None = None, authority: bytes | None = None) -> None:
        """Keep what is asked for."""
        self.target, self.authority = target or self.target, authority or self.authority

    def field(self, name: bytes) -> bytes:
        """Return the first value of a field."""
        return next((value for called, value in self.fields if called.lower() == name), b"")

    def values(self, name: bytes) -> tuple[bytes, ...]:
        """Return all values of a field."""
        return tuple(value for called, value in self.fields if called.lower() == name)

    def names(self) -> tuple[bytes, ...]:
        """Return the names of all fields."""
        return tuple(name.lower() for name, _ in self.fields)

    def put(self, name: bytes, value: bytes) -> None:
        """Have the field once."""
        self.drop(name)
        self.add(name, value)

    def add(self, name: bytes, value: bytes) -> None:
        """Have the field once more."""
        self.fields.append((name, value))

    def drop(self, name: bytes) -> None:
        """Have the field no more."""
        self.fields = [one for one in self.fields if one[0].lower() != name.lower()]

    def change(self, changes: FieldChanges) -> None:
        """Do one after the other."""
        for name in changes.drop:
            self.drop(name)
        for name, value in changes.put:
            self.put(name, value)
        for name, value in changes.add:
            self.add(name, value)
        if changes.vary:
            self.vary(changes.vary)

    def vary(self, name: bytes) -> None:
        """Have the field name it."""
        if name not in self.field(b"vary").split(b", "):
            self.add(b"Vary", name)


@define
class FakeClock:
    """The time of a test."""

    clock: TwistedClock = Factory(TwistedClock)
    began: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    def seconds(self) -> float:
        """Return the seconds of the test's clock."""
        return self.clock.seconds()

    def now(self) -> datetime:
        """Return a date that goes with the clock."""
        return self.began + timedelta(seconds=self.clock.seconds())

    def call_later(self, seconds: float, call: Callable[[], object]) -> ScheduledCall:
        """Schedule on the test's clock."""
        later: ScheduledCall = self.clock.callLater(seconds, call)
        return later


@define
class FakeComputing:
    """Computes at once, or, where *holds*, when ``go`` is called; keeps who asked."""

    holds: bool = False
    refuses: ComputingRefused | None = None
    asked: list[tuple[Hashable, Hashable]] = Factory(list)
    """*whose* and *once* of each."""
    _waiting: list[tuple[Deferred[Any], Callable[[], object]]] = Factory(list)

    def compute(
        self, call: Callable[[], object], whose: Hashable = None, once: Hashable = None
    ) -> Deferred[Any]:
        """Compute, or keep."""
        if self.refuses is not None:
            raise self.refuses
        self.asked.append((whose, once))
        if not self.holds:
            return succeed(call())
        waiting: Deferred[Any] = Deferred()
        self._waiting.append((waiting, call))
        return waiting

    def go(self) -> None:
        """Compute all that waits."""
        waiting, self._waiting = self._waiting, []
        for one, call in waiting:
            one.callback(call())


@define
class FakeServices:
    """Services that keep what they are asked for; sub-requests are answered by *answer*."""

    clock: FakeClock = Factory(FakeClock)
    answer: Callable[[SubRequest], Awaitable[SubAnswer]] | None = None
    counted: list[str] = Factory(list)
    told: list[SubRequest] = Factory(list)
    chance: float = 0.5
    replicas: ReplicaCount = Factory(ReplicaCount)
    computing: FakeComputing = Factory(FakeComputing)
    secret: bytes = b"a secret of the tests"
    _states: dict[tuple[Scope, Hashable], object] = field(factory=dict)

    def random(self) -> float:
        """Return the chance that the test set."""
        return self.chance

    def count(self, event: str) -> None:
        """Keep the event."""
        self.counted.append(event)

    def ask(self, request: SubRequest) -> Awaitable[SubAnswer]:
        """Ask the test."""
        assert self.answer is not None
        return self.answer(request)

    async def ask_then(self, request: SubRequest, then: Callable[[SubAnswer | SubRequestFailed], T]) -> T:
        """Ask the test, and return what is made of it."""
        assert self.answer is not None
        try:
            heard: SubAnswer | SubRequestFailed = await self.answer(request)
        except SubRequestFailed as failed:
            heard = failed
        return then(heard)

    def tell(self, request: SubRequest) -> None:
        """Keep the request."""
        self.told.append(request)

    def compute(self, call: Callable[[], T], whose: Hashable = None, once: Hashable = None) -> Awaitable[T]:
        """Compute as the test wants it."""
        return self.computing.compute(call, whose, once)

    def state(self, scope: Scope, key: Hashable, make: Callable[[], T]) -> T:
        """Keep one state for each key."""
        return cast(T, self._states.setdefault((scope, key), make()))
