"""How endpoints are: what a data plane tells of those that are not just in rotation and at rest, and how that travels.

Who serves tells *rows*: one for each endpoint of a backend of which there is something to say, and one for each endpoint
to which there are connections.  In several processes each has met endpoints by itself; ``EndpointsSeen`` is what they
say together.  Pure.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, StrEnum
from typing import Any, Final, NamedTuple

from ingress.model.stepwise import Stepwise

AT_ONCE: Final = 100
"""Rows that are looked at in one step."""
MOST_BYTES: Final = 900_000
"""Of what one process tells another; beyond that it leaves out, and says so."""
_MOST_NAME: Final = 700


class EndpointStage(StrEnum):
    """Whether requests are sent to an endpoint; of several processes that do not agree, the last of these that one says."""

    IN_ROTATION = "in-rotation"
    SLOW_START = "slow-start"
    """It is new, and has a growing share of the requests."""
    EJECTED = "ejected"
    """It is left out for a while."""
    NOT_READY = "not-ready"
    """Its pod says so."""
    TERMINATING = "terminating"
    """Its pod ends; it gets requests while no other is ready."""
    ELSEWHERE = "elsewhere"
    """It is for another zone or node; it gets requests while none is for this process, or those that are fail."""


class Ejection(Enum):
    """Why one is ejected, or was until its trial."""

    NONE = ""
    UNREACHABLE = "unreachable"
    SILENT = "silent"


_STAGES: Final = (EndpointStage.IN_ROTATION, EndpointStage.SLOW_START, EndpointStage.EJECTED)
"""Those that a data plane knows."""


class RotationRow(NamedTuple):
    """An endpoint of a backend, in one rotation of one process."""

    backend: str
    endpoint: str
    stage: EndpointStage
    seconds: float = 0.0
    """How long that still lasts; 0 where nobody knows."""
    ejection: Ejection = Ejection.NONE
    latency: float | None = None
    """How long it took to answer of late, in seconds; None where nobody measures that."""


class PoolRow(NamedTuple):
    """The connections of one process to an endpoint."""

    endpoint: str
    connections: int
    requests: int
    """Those under way, or waiting for a connection that is being made."""


Row = RotationRow | PoolRow


class EndpointState:
    """An endpoint of a backend, as all processes say together that have something to say."""

    __slots__ = ("_latencies", "ejection", "seconds", "stage", "told")

    def __init__(self) -> None:
        self.stage = EndpointStage.IN_ROTATION
        self.seconds = 0.0
        self.ejection = Ejection.NONE
        self.told = 0
        """How many say that it is in this stage."""
        self._latencies: list[float] = []

    def add(self, row: RotationRow) -> None:
        """Take what one of them says."""
        if row.latency is not None:
            self._latencies.append(row.latency)
        place, known = _STAGES.index(row.stage), _STAGES.index(self.stage)
        if place > known:
            self.stage, self.seconds, self.ejection, self.told = row.stage, 0.0, row.ejection, 0
        if place >= known:
            self.told += 1
            self.seconds = max(self.seconds, row.seconds)
            self.ejection = row.ejection if self.ejection is Ejection.NONE else self.ejection

    @property
    def latency(self) -> float | None:
        """The mean of what they measured; None where nobody did."""
        return sum(self._latencies) / len(self._latencies) if self._latencies else None


class EndpointsSeen:
    """What is known of all endpoints; of those that are not in it there is nothing to say."""

    def __init__(self) -> None:
        self.states: dict[tuple[str, str], EndpointState] = {}
        """By backend and endpoint."""
        self.pool: dict[str, tuple[int, int]] = {}
        """Connections and requests, by endpoint."""
        self.left_out: list[int] = []
        """The slots of workers that did not answer in time, or not sensibly."""
        self.is_whole = True
        """Whether the others have told all that they know."""

    def take(self, rows: Iterable[Row]) -> Stepwise[None]:
        """Add what one process says."""
        ours: dict[tuple[str, str], RotationRow] = {}
        for number, row in enumerate(rows, 1):
            if isinstance(row, PoolRow):
                connections, requests = self.pool.get(row.endpoint, (0, 0))
                self.pool[row.endpoint] = connections + row.connections, requests + row.requests
            else:
                key = row.backend, row.endpoint
                known = ours.get(key)
                if known is None or _STAGES.index(row.stage) > _STAGES.index(known.stage):
                    # Routes that share requests in ways of their own have rotations of their own.
                    ours[key] = row
            if not number % AT_ONCE:
                yield
        for number, (key, told) in enumerate(ours.items(), 1):
            self.states.setdefault(key, EndpointState()).add(told)
            if not number % AT_ONCE:
                yield


class RowsRefusedError(ValueError):
    """What came are no rows."""


def rows_to_bytes(rows: Iterable[Row | None]) -> Stepwise[bytes]:
    """Return *rows* as they travel, as many as fit; None among them is a step."""
    written: list[bytes] = []
    size = 0
    is_whole = True
    for row in rows:
        if row is None:
            yield
            continue
        line = json.dumps(_plain(row), separators=(",", ":")).encode()
        size += len(line) + 1
        if size > MOST_BYTES:
            is_whole = False
            break
        written.append(line)
    written.append(b"true" if is_whole else b"false")
    return b"\n".join(written)


def _plain(row: Row) -> list[Any]:
    if isinstance(row, PoolRow):
        return list(row)
    return [row.backend, row.endpoint, row.stage.value, row.seconds, row.ejection.value, row.latency]


def rows_from_bytes(octets: bytes) -> Iterator[Row | bool]:
    """Yield the rows that *octets* are, and last whether these are all; raises ``RowsRefusedError``."""
    *lines, last = octets.split(b"\n")
    if last not in (b"true", b"false") or len(octets) > MOST_BYTES + len(last):
        raise RowsRefusedError("they break off")
    for line in lines:
        try:
            yield _row(json.loads(line))
        except (ValueError, TypeError, RecursionError):
            raise RowsRefusedError("one of them is none") from None
    yield last == b"true"


def _row(fields: Any) -> Row:
    match fields:
        case [str(endpoint), int(connections), int(requests)] if _are_counts(connections, requests):
            return PoolRow(_name(endpoint), connections, requests)
        case [str(backend), str(endpoint), stage, float(seconds), ejection, float() | None as latency]:
            told = EndpointStage(stage)
            if told not in _STAGES or not 0 <= seconds < 1e6 or not 0 <= (latency or 0) < 1e6:
                raise ValueError
            return RotationRow(_name(backend), _name(endpoint), told, seconds, Ejection(ejection), latency)
    raise ValueError


def _are_counts(*numbers: int) -> bool:
    return all(type(number) is int and 0 <= number < 1 << 31 for number in numbers)


def _name(text: str) -> str:
    if len(text) > _MOST_NAME or not text.isprintable():
        raise ValueError
    return text


def seen_by(answers: Mapping[int, bytes | None]) -> Stepwise[EndpointsSeen]:
    """Return what workers say together, by slot; None for those that said nothing."""
    seen = EndpointsSeen()
    for slot, octets in sorted(answers.items()):
        rows: list[Row] = []
        try:
            for number, row in enumerate(rows_from_bytes(octets or b""), 1):
                if isinstance(row, bool):
                    seen.is_whole &= row
                else:
                    rows.append(row)
                if not number % AT_ONCE:
                    yield
        except RowsRefusedError:
            seen.left_out.append(slot)
        else:
            yield from seen.take(rows)
    return seen
