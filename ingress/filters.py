"""Filters: what happens to requests and answers on their way, and how to write one.

This module is the whole contract between the proxy and a filter.  It is what authors of filters
import, inside of this project and outside; ``docs/filters.md`` shows how.  It names things in the
order in which they are learned:

1. A **filter** (``Filter``) lives in the proxy, and has methods that are called when something happens: the *hooks*.
   It overrides those that it needs; a hook that it does not override costs nothing.
2. A hook looks at the **facts** (``Facts``) of a request, and may answer it with a **reply** (``Reply``), at once or
   when an awaited decision has come.
3. What goes on to the endpoint, or back to the client, is changed by **edits** (``RequestEdit``, ``AnswerEdit``),
   and bodies by **stages** (``BodyStage``).
4. A **spec** (``FilterSpec``) is what was asked for, as plain data: it is read from an object or an option, is part of
   the snapshot, and makes the filter once.  Its **phase** (``Phase``) says where among others the filter stands.
5. Whatever else a filter needs, be it the time, another request, or state that outlives it, comes from the
   **services** (``Services``).
6. When all is over there is a **record** (``Record``).

All of it happens in the reactor thread: a hook that takes long keeps every connection waiting, so it computes
little, and awaits what takes time.  A hook that raises costs its request a 500, and nobody else's anything.

Names and values of fields are bytes, as they are on the wire: names in any spelling, where they are looked for in lower
case.  Nothing here imports Twisted or Kubernetes.
"""

from collections.abc import Awaitable, Callable, Hashable
from datetime import datetime
from enum import Enum, IntEnum
from typing import Final, Protocol, TypeVar

from ingress.errors import ComputingRefused
from ingress.model.exchanges.records import AttemptRecord, Record
from ingress.model.exchanges.reply import Reply
from ingress.model.exchanges.sub_requests import SubAnswer, SubRequest, SubRequestFailed
from ingress.model.frozen import frozen
from ingress.model.observability.traces import TraceContext
from ingress.model.observability.tracing_settings import RouteTracing
from ingress.model.requests.cgi import CgiRequest
from ingress.model.requests.client_authentication import ClientEvidence
from ingress.model.text.named_values import cookie_value, query_value
from ingress.model.upstream.backends import Endpoint

__all__ = [
    "AnswerEdit",
    "AnswerHead",
    "AttemptRecord",
    "BodyFlow",
    "BodyStage",
    "CgiRequest",
    "ChangesBy",
    "Clock",
    "ComputingRefused",
    "Facts",
    "FieldChanges",
    "Filter",
    "FilterSpec",
    "MoreBody",
    "Phase",
    "Record",
    "Replicas",
    "Reply",
    "RequestEdit",
    "RouteTracing",
    "ScheduledCall",
    "Scope",
    "Services",
    "SubAnswer",
    "SubRequest",
    "SubRequestFailed",
    "TraceContext",
    "cookie_value",
    "query_value",
]

T = TypeVar("T")


class Facts(Protocol):
    """What a hook may look at: the request as it came, which no filter changes."""

    @property
    def id(self) -> bytes:
        """What the request is called in the log, and in ``X-Request-ID`` to the endpoint."""

    @property
    def scheme(self) -> bytes:
        """``http`` or ``https``: how the client sent it, as far as a trusted proxy before us knows better than we do."""

    @property
    def is_secure(self) -> bool:
        """Whether our own connection is TLS, whatever a proxy before us says of the scheme."""

    @property
    def host(self) -> bytes:
        """The host asked for: lower case, without port, an address of IPv6 in brackets."""

    @property
    def authority(self) -> bytes:
        """What endpoints get as Host, with its port: what came, or what a trusted proxy before us says in its place."""

    @property
    def public_host(self) -> bytes:
        """The host by which the client knows us, without port: *host*, as far as no trusted proxy before us knows better."""

    @property
    def path(self) -> bytes:
        """The normal form of the path, the one that routes are found by; without query."""

    @property
    def target(self) -> bytes:
        """Path and query as received (RFC 9112 section 3.2.1)."""

    @property
    def method(self) -> bytes:
        """The method, as received; methods are told apart by case."""

    @property
    def client(self) -> bytes:
        """The address of the client."""

    @property
    def forwarded_for(self) -> bytes:
        """What the endpoint is told in ``X-Forwarded-For``: the client, and the proxies that are trusted."""

    @property
    def port(self) -> int:
        """The port of the listener that the request came to."""

    @property
    def client_port(self) -> int:
        """The port of the client; 0 where it is not known, as behind a proxy."""

    @property
    def server_address(self) -> bytes:
        """The address that our own connection came to; empty where it is not known."""

    @property
    def protocol(self) -> bytes:
        """What the client speaks: ``HTTP/1.0``, ``HTTP/1.1`` or ``HTTP/2.0``."""

    @property
    def now(self) -> float:
        """What time it is, in seconds since the epoch."""

    @property
    def hostname(self) -> bytes:
        """The name of the machine or pod that the controller runs in."""

    @property
    def upgrade(self) -> bytes:
        """The protocol that the client asks to go over to, where that is one that is relayed; else empty."""

    @property
    def content_length(self) -> bytes:
        """What the field ``Content-Length`` of the request says, which is none of those that go on; empty where there is none."""

    @property
    def body_length(self) -> int | None:
        """How many bytes the body of the request has; None where that is not known before it has come."""

    @property
    def client_evidence(self) -> ClientEvidence | None:
        """What the handshake of our own connection proved about the client; None without TLS."""

    @property
    def body(self) -> bytes:
        """What is held of the request body: at most about what the filters of the route hold, empty where none does."""

    @property
    def is_body_whole(self) -> bool:
        """Whether *body* is all of it."""

    @property
    def endpoint(self) -> Endpoint | None:
        """The endpoint that was asked last, on answers the one that answered; None as long as none was."""

    @property
    def was_retried(self) -> bool:
        """Whether another endpoint failed the request before."""

    @property
    def trace(self) -> TraceContext | None:
        """The trace that the request is part of; None where it is not traced.  A sub-request that has it is part of it, too."""

    @property
    def notes(self) -> dict[object, object]:
        """What filters remember of this request, each under itself; gone when the exchange is over."""

    @property
    def lines(self) -> bytes:
        """The client's own fields that go on to an endpoint, as lines, each with its CRLF."""

    @property
    def proxys_lines(self) -> bytes:
        """What a proxy says of the request (``X-Request-ID``, ``X-Real-IP``, ``X-Forwarded-For`` …), as such lines."""

    def field(self, name: bytes) -> bytes:
        """Return the value of the field called *name*, in lower case; empty when there is none.

        Of several, it is all of their values with commas between them (RFC 9110 section 5.3), or semicolons where they are cookies.
        """


@frozen(cache_hash=True)
class FieldChanges:
    """What is done to the fields of a head at once: made beforehand, and as cheap as one change however many they are."""

    drop: tuple[bytes, ...] = ()
    """Names of fields that go, ..."""
    put: tuple[tuple[bytes, bytes], ...] = ()
    """... names and values of those that are sent once then, whatever was there, ..."""
    add: tuple[tuple[bytes, bytes], ...] = ()
    """... and of those that are sent beside others of the same name."""
    vary: bytes = b""
    """A field of the request that an answer depends on, as ``AnswerEdit.vary`` has it; nothing for requests."""


@frozen(eq=False)
class ChangesBy:
    """Changes of an answer that go by one field of the request, and by nothing else."""

    changes: Callable[[bytes], FieldChanges | None]
    """Returns the changes for a value of that field, empty where there is none; the same for the same value."""
    field: bytes = b""
    """Its name in lower case; empty for none."""
    over_tls: bool = False
    """Whether they are for requests over our own TLS alone."""


class RequestEdit(Protocol):
    """What goes to the endpoint.  The log, the metrics and ``Facts`` keep what came.

    Fields that frame the message or belong to the connection (``Content-Length``, ``Transfer-Encoding``, ``Connection`` …)
    are the proxy's.  Each method raises ``ValueError`` for a name of those, and for what is no name, value or target.
    """

    @property
    def target(self) -> bytes:
        """Path and query as the endpoint is asked for them, as they stand now."""

    def names(self) -> tuple[bytes, ...]:
        """Return the names of all fields as they stand now, in lower case; a name may come twice."""

    def tell(self, request: CgiRequest) -> None:
        """Tell the endpoint *request* if it speaks FastCGI; any other one hears nothing of it."""

    def rewrite(self, target: bytes | None = None, authority: bytes | None = None) -> None:
        """Ask the endpoint for *target* (path and query), and as *authority* (``Host``), in place of what came."""

    def put(self, name: bytes, value: bytes) -> None:
        """Send the field once with *value*, whatever was there."""

    def add(self, name: bytes, value: bytes) -> None:
        """Send the field beside those of the same name."""

    def drop(self, name: bytes) -> None:
        """Send no field of this name."""

    def change(self, changes: FieldChanges) -> None:
        """Do all of *changes*."""


class AnswerEdit(Protocol):
    """The head of an answer, before it is sent.  What changes fields refuses what that of ``RequestEdit`` does."""

    status: int
    """200 to 599; another one may be set, as long as whether there is a body does not depend on it (204, 304)."""

    @property
    def is_ours(self) -> bool:
        """Whether this is a reply of the proxy's or of a filter, and no endpoint's answer."""

    @property
    def body(self) -> bytes | None:
        """What of the body is held, before stages have changed anything of it; None as long as nobody has asked for it (``MoreBody``)."""

    @property
    def is_body_whole(self) -> bool:
        """Whether *body* is all of it."""

    def field(self, name: bytes) -> bytes:
        """Return the value of the first field called *name*, in lower case, as it stands now; empty for none."""

    def values(self, name: bytes) -> tuple[bytes, ...]:
        """Return the values of all fields called *name*, in lower case, as they stand now."""

    def names(self) -> tuple[bytes, ...]:
        """Return the names of all fields as they stand now, in lower case; a name may come twice."""

    def put(self, name: bytes, value: bytes) -> None:
        """Send the field once with *value*, whatever was there."""

    def add(self, name: bytes, value: bytes) -> None:
        """Send the field beside those of the same name, such as another ``Set-Cookie``."""

    def drop(self, name: bytes) -> None:
        """Send no field of this name."""

    def change(self, changes: FieldChanges) -> None:
        """Do all of *changes*."""

    def vary(self, name: bytes) -> None:
        """Say in ``Vary`` that the answer depends on the field *name* of the request, unless that is said already."""


@frozen
class MoreBody:
    """What ``on_answer`` returns to be asked again once more of the body is there, as ``AnswerEdit.body``; nothing is sent before.

    Whoever asks for it bounds what all answers together may hold so.
    """

    size: int
    """How many bytes are to be there, or else all of it: more than there are."""


class AnswerHead(Protocol):
    """The head of an answer as it is sent, for whoever is about to change its body."""

    @property
    def status(self) -> int:
        """200 to 599."""

    @property
    def content_length(self) -> int | None:
        """How long the body is without its stages; None where that is not known."""

    def field(self, name: bytes) -> bytes:
        """Return the value of the first field called *name*, in lower case; empty for none."""


class BodyStage(Protocol):
    """Changes, counts or copies a body while it passes.  Where there is one that may change it, the body has no ``Content-Length``.

    It is called in order, and not at all any more once the exchange is over, which may be amid the body.  An answer comes in
    slices of 16 KiB at most.  That of a filter that ``watches_bodies`` is only shown what passes.
    """

    def feed(self, piece: bytes) -> bytes:
        """Take some of the body; return what goes on in its place now, which may be nothing."""

    def finish(self) -> bytes:
        """Take note that the body is whole; return what goes on before its end."""


class BodyFlow(Protocol):
    """Sets the pace of a body: what a stage was fed too fast."""

    def pause(self) -> None:
        """Have whoever sends the body wait.  Of an answer nothing is fed until it goes on, and its end waits, too."""

    def resume(self) -> None:
        """Have the body go on."""


class Filter:
    """A live filter; override the hooks that are needed.

    One filter serves all requests of the routes whose specs are equal, and outlives snapshots as long as there is such a
    route.  What it knows of one request alone it keeps in ``facts.notes``.

    Hooks on requests are called from the outermost filter to the innermost, those on answers the other way around, so
    that the outermost has the last word.  A hook whose return type is ``Awaitable`` may be an ``async def``.  The request
    waits for it, at most as long as the proxy lets decisions take: then the client gets 504.  If the client leaves,
    what is awaited is cancelled.
    """

    holds_body: int = 0
    """How many bytes of the request body have to be there, or else all of it, before ``on_request`` is called."""

    watches_bodies: bool = False
    """Whether its stages only look at bodies: what they return is not used, and a body keeps its ``Content-Length``."""

    asked_methods: frozenset[bytes] | None = None
    """The methods of those requests about which ``on_request`` is called, and for which the body is held; None for all.

    Requests of other methods pass at no cost."""

    asked_schemes: frozenset[bytes] | None = None
    """The same for schemes: that of ``Facts``, so what a trusted proxy before us says counts; None for all."""

    asks_unsized: bool = False
    """Whether it is asked about those requests alone whose body comes without a length, and the body of others is not held."""

    answer_changes: FieldChanges | ChangesBy | None = None
    """What is done to each answer, whatever the request was, or by one field of it: that costs far less than ``on_answer``,
    which is not called where this is set."""

    tracing: RouteTracing | None = None
    """What is said of the traces of its requests, in place of what holds for all."""

    def on_request(self, facts: Facts) -> Reply | Awaitable[Reply | None] | None:
        """Answer the request, or return None to let it pass."""
        return None

    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        """Change what goes to the endpoint; called for each attempt, of one that passed."""

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> Reply | MoreBody | Awaitable[Reply | None] | None:
        """Change the head of the answer, whoever made it; a reply replaces the answer, and its body is not looked at.

        With ``MoreBody`` it is called again for the same answer.
        """
        return None

    def on_request_body(self, facts: Facts, flow: BodyFlow) -> BodyStage | None:
        """Return what the body of the request passes through; None for nothing."""
        return None

    def on_answer_body(self, facts: Facts, head: AnswerHead, flow: BodyFlow) -> BodyStage | None:
        """Return what the body of the answer passes through; None for nothing."""
        return None

    def on_end(self, facts: Facts, record: Record) -> None:
        """Take note that the exchange is over, however it ended; called once for each request that matched."""


class Hook(Enum):
    """The hooks, by the names of their methods."""

    REQUEST = "on_request"
    UPSTREAM = "on_upstream"
    ANSWER = "on_answer"
    REQUEST_BODY = "on_request_body"
    ANSWER_BODY = "on_answer_body"
    END = "on_end"


_INHERITED: Final = {hook: getattr(Filter, hook.value) for hook in Hook}


def used_hooks(live: Filter) -> frozenset[Hook]:
    """Return the hooks that the class of *live*, or one that it inherits from, overrides."""
    kind = type(live)
    return frozenset(hook for hook, nothing in _INHERITED.items() if getattr(kind, hook.value) is not nothing)


class Phase(IntEnum):
    """Where in a chain a filter stands; the order is nginx's, and no text's.

    Within a phase the order is: what holds for everything, for the host, for the route or its variant, for the weighted
    backend; and then as they were given.
    """

    HANDSHAKE = 5
    """What a connection proved of its client, where it counts before anything else may answer."""
    SERVER = 10
    """What a host does before its paths are looked at (``server`` in nginx)."""
    PREFLIGHT = 20
    """Answers to what browsers ask beforehand, which carries no credentials, and of which they follow no redirect."""
    REWRITE = 30
    """What a path does with its requests before anything else: returns, rewritten targets."""
    REDIRECT = 40
    """Elsewhere, and to HTTPS: before anybody is asked for a password in the clear."""
    LIMITS = 50
    """Rates and connections."""
    ACCESS = 60
    """Who may: address ranges, certificates, passwords, what another service decides."""
    EDITS = 70
    """What endpoints are told."""
    CODING = 75
    """How bodies of answers are compressed, by what their heads have become."""
    ANSWER = 80
    """What clients are told."""


class ScheduledCall(Protocol):
    """A call that is still to come."""

    def cancel(self) -> None:
        """Have it never come; nothing happens if it has."""


class Clock(Protocol):
    """The time, for filters."""

    def seconds(self) -> float:
        """Return seconds since some moment.  They never go back: this is what durations are measured by."""

    def now(self) -> datetime:
        """Return the time of day, in UTC."""

    def call_later(self, seconds: float, call: Callable[[], object]) -> ScheduledCall:
        """Have *call* called once *seconds* have passed."""


class Scope(Enum):
    """Who shares a state."""

    WORKER = "worker"
    """One process that serves requests: the cheapest, right for caches."""
    PROCESS = "process"
    """All workers of one controller: right for limits of one replica.  Where there are several, there is only what the
    proxy's own limits have in common: processes share no objects."""
    REPLICAS = "replicas"
    """All controllers of the cluster, which share nothing: there is no such state."""


class Replicas(Protocol):
    """How many replicas of the controller share the requests."""

    @property
    def count(self) -> int:
        """How many are ready, as far as that is asked for and known; else 1.  It may be another one at any time."""


class Services(Protocol):
    """What the proxy does for a filter."""

    @property
    def replicas(self) -> Replicas:
        """Who else serves: what divides a limit that is to hold for all together."""

    @property
    def clock(self) -> Clock:
        """The time."""

    def random(self) -> float:
        """Return a number from 0 to below 1; not for secrets."""

    def count(self, event: str) -> None:
        """Add one to ``ingress_filter_events_total`` of this filter and *event*: a fixed word, never a text of requests."""

    def ask(self, request: SubRequest) -> Awaitable[SubAnswer]:
        """Send *request*; its answer is to be awaited, and what raises ``SubRequestFailed`` is that there is none.

        Raises ``ValueError`` at once for a URL that is none.
        """

    def ask_then(
        self, request: SubRequest, then: Callable[[SubAnswer | SubRequestFailed], T]
    ) -> Awaitable[T]:
        """Send *request*; what is to be awaited is what *then* makes of its answer, or of there being none.

        It is ``ask`` without a coroutine, which costs half as much: for what is asked about each request.
        Raises ``ValueError`` at once for a request that is none.
        """

    def tell(self, request: SubRequest) -> None:
        """Send *request*, and have nobody wait for its answer, nor hear of its failure; the metrics count both."""

    def compute(self, call: Callable[[], T], whose: Hashable = None, once: Hashable = None) -> Awaitable[T]:
        """Have *call* called in one of a few threads, for what takes more than a millisecond; what it returns is to be awaited.

        *call* touches nothing that others change.  Of those for the same *whose*, such as an address, only some wait
        at a time; those of this filter with the same *once* that are under way are called once, for all who wait.  Raises
        ``ComputingRefused`` at once where too many wait.
        """

    @property
    def secret(self) -> bytes:
        """32 bytes that nobody else knows, for keyed hashes: the same for all workers of one controller, another one after each
        start, and for each name of a filter."""

    def state(self, scope: Scope, key: Hashable, make: Callable[[], T]) -> T:
        """Return what is kept of this filter's name under *key*; *make* makes it for whoever comes first.

        Raises ``LookupError`` where nobody keeps what *scope* shares.
        """


class FilterSpec(Protocol):
    """What was asked for: plain data, frozen and equal by value, as ``attrs.frozen`` makes it.

    A spec holds numbers, texts, bytes, enumerations, tuples and frozen sets, and frozen values of these.  It needs no base
    class: *phase* and *name* are variables of its class.
    """

    @property
    def phase(self) -> Phase:
        """Where its filter stands in a chain."""

    @property
    def name(self) -> str:
        """What the filter is called in log, metrics and pages: short, lower case, words joined by hyphens."""

    def describe(self) -> str:
        """Say in one sentence what its filter does, with its settings."""

    def make(self, services: Services) -> Filter:
        """Make the filter; called once in a process for equal specs."""

    def __hash__(self) -> int:
        """Return equal numbers for equal specs."""
