"""What is known of a running controller: the events of its stream, one after the other.  Pure.

What came is data of somebody else, perhaps of another version: what is not of the shape that it should have is as if it were not
there.  Texts are printable from here on, and everything is bounded.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isfinite
from typing import Any, Final

from ingress.ctl.terminal import printable
from ingress.model.frozen import frozen

MOST_ROWS: Final = 2000
MOST_ENTRIES: Final = 200
MOST_ENDPOINTS: Final = 200
_MOST_CHARACTERS: Final = 300
_LAST_SECONDS: Final = 120


def text_of(value: object) -> str:
    """Return *value* as a text for a terminal; empty if it is none."""
    return printable(value[:_MOST_CHARACTERS]) if isinstance(value, str) else ""


def number_of(value: object) -> float | None:
    """Return *value* as a number; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


@frozen
class Row:
    """A route object with one of its Services, as far as something happens there."""

    name: str
    """``NAMESPACE/INGRESS/SERVICE``; empty where there was no route."""
    per_second: float = 0.0
    failing: float = 0.0
    """The share of requests that failed of late."""
    p99: float | None = None
    last_failure: str = ""
    """When, with its status and its cause; empty where there is none."""

    @property
    def is_quiet(self) -> bool:
        """Whether there is nothing to tell of it."""
        return not (self.per_second or self.failing or self.last_failure)


@frozen
class HistoryEntry:
    """A change, or a request that failed."""

    number: int
    at: str
    """The time of day, to the second."""
    what: str
    """One word: the sort of a change, the cause of a failure."""
    about: str
    """The object; the status and the URL."""
    text: str
    is_trouble: bool


@frozen
class Endpoint:
    """One that is not just in rotation."""

    endpoint: str
    backend: str
    state: str
    why: str


@frozen
class Status:
    """How the controller is."""

    version: str = ""
    pod: str = ""
    is_ready: bool = False
    missing: tuple[str, ...] = ()
    leader: str = ""
    """In words; empty where there is no election."""
    problems: float = 0
    routes: float = 0
    hosts: float = 0
    workers: float | None = None


@frozen
class Numbers:
    """The whole house at the moment."""

    per_second: float | None = None
    p50: float | None = None
    p99: float | None = None
    upstream_p99: float | None = None
    clients: float | None = None
    most_clients: float | None = None
    endpoints: float | None = None
    ejected: float | None = None
    lag: float | None = None
    failures: tuple[tuple[str, float], ...] = ()
    """Of the last five minutes: the cause and how many, the most first."""
    next_certificate: str = ""
    """The host, and the day on which it ends."""


class Board:
    """Takes events, and has what there is to see."""

    def __init__(self) -> None:
        self.status = Status()
        self.numbers = Numbers()
        self.history: deque[float] = deque(maxlen=_LAST_SECONDS)
        """Requests of each of the last seconds."""
        self.rows: dict[str, Row] = {}
        self.changes: deque[HistoryEntry] = deque(maxlen=MOST_ENTRIES)
        """The oldest first, as failures are."""
        self.failures: deque[HistoryEntry] = deque(maxlen=MOST_ENTRIES)
        self.endpoints: tuple[Endpoint, ...] = ()
        self.why_ended = ""
        """What the controller said at the end of its stream."""
        self.seconds = 0
        """How many seconds were told."""
        self._plain: dict[str, Any] = {}
        self._life = ""
        """Of the controller, from whose start on it counts changes and failures; empty before any came."""

    def __repr__(self) -> str:
        return f"<Board of {self.status.pod or 'nobody'} with {len(self.rows)} rows>"

    @property
    def is_known(self) -> bool:
        """Whether everything was told once, with numbers of a whole second."""
        return self.seconds > 1 and {"status", "numbers"} <= self._plain.keys()

    def begin(self) -> None:
        """A stream begins anew: rows are those that it tells of; what happened stays, if it goes on there."""
        self.rows.clear()
        self.why_ended = ""
        self.seconds = 0

    def take(self, name: str, data: object, event_id: str = "") -> None:
        """Take one event; those of other names, and what is not of its shape, change nothing.

        *event_id* says which life of a controller counts what happened (``ingress.live.server_sent.Mark``); another one begins anew.
        """
        life = event_id.partition(".")[0]
        if life and life != self._life:
            self._life = life
            for kept in (self.changes, self.failures):
                kept.clear()
            self._plain.pop("changes", None)
            self._plain.pop("failures", None)
        take: Callable[[Any], None] | None = {
            "": self._take_nothing,
            "status": self._take_status,
            "numbers": self._take_numbers,
            "routes": self._take_rows,
            "changes": self._take_changes,
            "failures": self._take_failures,
            "endpoints": self._take_endpoints,
            "end": self._take_end,
        }.get(name)
        if take is not None:
            take(data)

    def plain(self) -> dict[str, Any]:
        """Return what was told last under each name, as it came: the data of a machine."""
        return dict(self._plain)

    def _take_nothing(self, data: object) -> None:
        self.seconds += 1
        if self.numbers.per_second is not None:
            self.history.append(self.numbers.per_second)

    def _take_status(self, data: object) -> None:
        status, snapshot = _mapping(data), _mapping(_mapping(data).get("snapshot"))
        self._plain["status"] = data
        self.status = Status(
            text_of(status.get("version")),
            text_of(status.get("pod")),
            status.get("ready") is True,
            tuple(map(text_of, _list(status.get("missing"))[:10])),
            _leader(status.get("leader")),
            number_of(snapshot.get("problems")) or 0,
            number_of(snapshot.get("routes")) or 0,
            number_of(snapshot.get("hosts")) or 0,
            number_of(status.get("workers")),
        )

    def _take_numbers(self, data: object) -> None:
        numbers = _mapping(data)
        history = [one for one in map(number_of, _list(numbers.get("history"))) if one is not None]
        self._plain["numbers"] = {name: value for name, value in numbers.items() if name != "history"}
        certificate = _mapping(numbers.get("nextCertificate"))
        host, ends = text_of(certificate.get("host")), text_of(certificate.get("notAfter"))[:10]
        failures = [
            (text_of(cause), number)
            for cause, value in _mapping(numbers.get("failures")).items()
            if (number := number_of(value))
        ]
        self.numbers = Numbers(
            number_of(numbers.get("perSecond")),
            number_of(numbers.get("p50")),
            number_of(numbers.get("p99")),
            number_of(numbers.get("upstreamP99")),
            number_of(numbers.get("clients")),
            number_of(numbers.get("mostClients")),
            number_of(numbers.get("endpoints")),
            number_of(numbers.get("ejected")),
            number_of(numbers.get("lag")),
            tuple(sorted(failures, key=lambda one: (-one[1], one[0]))[:20]),
            f"{host or 'any host'} {ends}" if ends else "",
        )
        if "history" in numbers:
            # The first word of a stream, and no second of it.
            self.history.clear()
            self.history.extend(history[-_LAST_SECONDS:])
        else:
            self._take_nothing(None)

    def _take_rows(self, data: object) -> None:
        for name, value in _mapping(data).items():
            row = _row(text_of(name), _mapping(value))
            plain = self._plain.setdefault("routes", {})
            if row.is_quiet:
                self.rows.pop(name, None)
                plain.pop(name, None)
            elif name in self.rows or len(self.rows) < MOST_ROWS:
                self.rows[name] = row
                plain[name] = value

    def _take_changes(self, data: object) -> None:
        _add(self.changes, map(_change, map(_mapping, _list(data))))
        self._keep("changes", data)

    def _take_failures(self, data: object) -> None:
        _add(self.failures, map(_failure, map(_mapping, _list(data))))
        self._keep("failures", data)

    def _keep(self, name: str, data: object) -> None:
        self._plain[name] = [*self._plain.get(name, ()), *_list(data)][-MOST_ENTRIES:]

    def _take_endpoints(self, data: object) -> None:
        found = _list(_mapping(data).get("endpoints"))[:MOST_ENDPOINTS]
        self._plain["endpoints"] = found
        self.endpoints = tuple(_endpoints(map(_mapping, found)))

    def _take_end(self, data: object) -> None:
        self.why_ended = text_of(_mapping(data).get("why")) or "it ends"


def _leader(value: object) -> str:
    leader = _mapping(value)
    if not leader:
        return ""
    if leader.get("leading") is True:
        return "leads"
    return f"leader {text_of(leader.get('leader'))}" if leader.get("leader") else "no leader"


def _row(name: str, value: Mapping[str, Any]) -> Row:
    last = _mapping(value.get("lastFailure"))
    status = number_of(last.get("status"))
    words = (_time(last.get("at")), "" if status is None else f"{status:.0f}", text_of(last.get("cause")))
    return Row(
        "" if name == "//" else name,
        number_of(value.get("perSecond")) or 0.0,
        number_of(value.get("failing")) or 0.0,
        number_of(value.get("p99")),
        " ".join(filter(None, words)),
    )


def _time(value: object) -> str:
    """Return the time of day of a moment as RFC 3339 has it."""
    return text_of(value)[11:19]


def _change(value: Mapping[str, Any]) -> HistoryEntry:
    about = " ".join(filter(None, (text_of(value.get("kind")), text_of(value.get("object")))))
    return HistoryEntry(
        int(number_of(value.get("number")) or 0),
        _time(value.get("at")),
        text_of(value.get("sort")),
        about,
        # A problem begins with its object, which stands beside it here.
        text_of(value.get("text")).removeprefix(f"{about}: "),
        value.get("trouble") is True,
    )


def _failure(value: Mapping[str, Any]) -> HistoryEntry:
    status = number_of(value.get("status"))
    attempts = [text_of(_mapping(one).get("endpoint")) for one in _list(value.get("attempts"))[-3:]]
    words = (text_of(value.get("reason")), text_of(value.get("backend")), ", ".join(filter(None, attempts)))
    return HistoryEntry(
        int(number_of(value.get("number")) or 0),
        _time(value.get("at")),
        text_of(value.get("cause")),
        f"{status or 0:.0f} {text_of(value.get('method'))} {text_of(value.get('host'))}{text_of(value.get('path'))}",
        "; ".join(filter(None, words)),
        True,
    )


def _add(kept: deque[HistoryEntry], more: Iterable[HistoryEntry]) -> None:
    """Add *more*, but what came twice, as it does when a stream begins anew."""
    known = {one.number for one in kept}
    kept.extend(one for one in more if one.number not in known)


def _endpoints(values: Iterable[Mapping[str, Any]]) -> Iterator[Endpoint]:
    for value in values:
        yield Endpoint(
            text_of(value.get("endpoint")),
            text_of(value.get("backend")),
            text_of(value.get("state")),
            text_of(value.get("why")),
        )
