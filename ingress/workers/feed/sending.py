"""What is different between two snapshots, as pieces of bytes."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from ingress.model.upstream.backends import BackendReference, BackendState
from ingress.routing.table import AT_ONCE, NO_ROUTES, HostRoutes, RouteTable
from ingress.translate.snapshot import ListenerTable, Snapshot
from ingress.workers.feed.operations import FORMAT, Operation, Word, counts, shared
from ingress.workers.feed.snapshot_bytes import ValueWriter

K = TypeVar("K")
V = TypeVar("V")

COST: Final = 100
"""What may be in one piece: for each unit it takes some five microseconds to make, and about as many to read."""
OCTETS: Final = 32 * 1024
"""A piece ends with the value that makes it as long as this."""

_A_ROUTE: Final = 3
_AN_ENDPOINT: Final = 1
_AN_ENTRY: Final = 2
_ROUTES: Final = 25
"""Of one host in a piece."""
_ENDPOINTS: Final = 80
_COMPARED: Final = 8
"""Values that are compared for a unit, where most are found equal."""

Step = tuple[int, Operation | None]
"""The cost of a step, and what is to be sent for it, if anything."""

_NO_STATE: Final = BackendState()


def pieces(before: Snapshot | None, after: Snapshot) -> Iterator[bytes]:
    """Yield what makes *after* of *before*, or of nothing, for a ``Follower`` that has that.

    Costs what is different, where *after* was made of *before*; else all of both is compared.  A piece without any bytes says that
    time went by, and need not be sent.  Raises ``SnapshotError`` where something in *after* is no plain data.
    """
    writer, cost = ValueWriter(), 0
    is_empty = True
    for more, operation in _steps(before, after):
        octets = 0
        if operation is not None:
            octets = writer.write(operation)
            is_empty = False
        cost += more
        if cost >= COST or octets >= OCTETS:
            if is_empty:
                yield b""
            else:
                writer.write((int(Word.MORE),))
                yield writer.octets()
                writer, is_empty = ValueWriter(), True
            cost = 0
    writer.write((int(Word.END), len(after.backends), 1 + len(after.others)))
    yield writer.octets()


def _steps(before: Snapshot | None, after: Snapshot) -> Iterator[Step]:
    yield _say(1, Word.BEGIN, FORMAT, before is None)
    known = Snapshot() if before is None else before
    tables = {} if before is None else dict(known.tables())
    for name, table in after.tables():
        yield from _table_steps(name, tables.pop(name, None), table)
    for name in tables:
        yield _say(1, Word.NO_TABLE, name)
    yield from _backends_steps(known, after)
    for word, was, now in (
        (Word.SERVING, known.serving, after.serving),
        (Word.LISTENERS, known.listeners, after.listeners),
        (Word.REPLICAS, known.replicas, after.replicas),
        (Word.REPLICA_ADDRESSES, known.replica_addresses, after.replica_addresses),
    ):
        if now is not was and now != was:
            yield _say(_AN_ENTRY, word, now)


def _say(cost: int, word: Word, *what: object) -> Step:
    return cost, (int(word), *what)


def _portions(before: Mapping[K, V], after: Mapping[K, V]) -> Iterator[list[tuple[K, V | None]]]:
    """Yield the entries that may be others, and None for those that *before* has alone, in portions; some of these are empty."""
    if before is after:
        return
    yield from shared(after).portions_since(shared(before))


# Tables


def _table_steps(name: str, before: ListenerTable | None, after: ListenerTable) -> Iterator[Step]:
    if before is not None and before.shares_all(after):
        yield 1, None
        return
    labels = _labels(after)
    begin = _say(1, Word.TABLE, name, *labels)
    is_told = before is None or _labels(before) != labels
    if before is None or is_told:
        if before is not None:
            yield _say(1, Word.NO_TABLE, name)
        before = ListenerTable()
        yield begin
    for step in _content_steps(before, after):
        if not is_told and step[1] is not None:
            is_told = True
            yield begin
        yield step
    if is_told:
        yield _say(1, Word.COUNTED, *counts(after))


def _labels(table: ListenerTable) -> tuple[bool, ...]:
    return (
        table.routes.covers_labels,
        table.certificates.covers_labels,
        table.handshake_settings.covers_labels,
    )


def _content_steps(before: ListenerTable, after: ListenerTable) -> Iterator[Step]:
    if before.routes is not after.routes:
        yield from _hosts_steps(before.routes, after.routes)
    was, now = before.certificates, after.certificates
    if was is not now:
        yield from _entries(Word.EXACT, was.exact, now.exact)
        yield from _entries(Word.WILDCARD, was.wildcard, now.wildcard)
        if was.default != now.default:
            yield _say(_AN_ENTRY, Word.DEFAULT, now.default)
    yield from _entries(Word.HANDSHAKE, before.handshake_settings.by_host, after.handshake_settings.by_host)
    streams = before.streams.by_host
    for portion in _portions(streams, after.streams.by_host):
        yield 1, None
        for key, route in portion:
            if route is None or streams.get(key) != route:
                yield _say(_A_ROUTE, Word.STREAM, key.decode("utf-8"), route)
            else:
                yield 1, None


def _entries(word: Word, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Step]:
    """Say what entries are others; those that are equal say nothing."""
    for portion in _portions(before, after):
        yield 1, None
        for key, value in portion:
            if value is None or before.get(key) != value:
                yield _say(_AN_ENTRY, word, key, value)
            else:
                yield 1, None


def _hosts_steps(before: RouteTable, after: RouteTable) -> Iterator[Step]:
    for portion in after.portions_since(before):
        yield 1, None
        for host, now in portion:
            if now is None:
                yield _say(1, Word.NO_HOST, host)
            else:
                yield from _host_steps(host, before.get(host), now)


def _host_steps(host: str, was: HostRoutes | None, now: HostRoutes) -> Iterator[Step]:
    known = NO_ROUTES if was is None else was
    start, stop, end = yield from _difference(known.routes, now.routes)
    is_same = start == stop == end and was is not None
    if is_same and (known.filters, known.is_kept) == (now.filters, now.is_kept):
        yield 1, None
        return
    place = start
    while end - place > _ROUTES:
        yield _say(_ROUTES * _A_ROUTE, Word.ROUTES, now.routes[place : place + _ROUTES])
        place += _ROUTES
    routes = now.routes[place:end]
    cost = _AN_ENTRY + len(routes) * _A_ROUTE
    yield _say(cost, Word.HOST, host, start, stop, routes, now.filters, now.is_kept)
    for _ in range(len(now.routes) // AT_ONCE):
        yield _say(COST, Word.ORDER)


# Backends


def _backends_steps(before: Snapshot, after: Snapshot) -> Iterator[Step]:
    for portion in _portions(before.backends, after.backends):
        yield 1, None
        for reference, now in portion:
            if now is None:
                yield _say(1, Word.NO_BACKEND, reference)
            else:
                yield from _backend_steps(reference, before.backends.get(reference), now)


def _backend_steps(
    reference: BackendReference, was: BackendState | None, now: BackendState
) -> Iterator[Step]:
    known = _NO_STATE if was is None else was
    near = now.endpoints
    present = near + now.elsewhere
    start, stop, end = yield from _difference(known.endpoints + known.elsewhere, present)
    is_same = start == stop == end and was is not None
    about = len(near), now.reason, now.problems, now.is_broken
    if is_same and (len(known.endpoints), known.reason, known.problems, known.is_broken) == about:
        yield 1, None
        return
    place = start
    while end - place > _ENDPOINTS:
        yield _say(_ENDPOINTS * _AN_ENDPOINT, Word.ENDPOINTS, present[place : place + _ENDPOINTS])
        place += _ENDPOINTS
    endpoints = present[place:end]
    cost = _AN_ENTRY + len(endpoints) * _AN_ENDPOINT
    yield _say(cost, Word.BACKEND, reference, start, stop, endpoints, *about)


def _difference(
    before: Sequence[object], after: Sequence[object]
) -> Generator[Step, None, tuple[int, int, int]]:
    """Find what is different between two rows: from which place on, up to which of *before*, and up to which of *after*."""
    start, least = 0, min(len(before), len(after))
    while start < least and (before[start] is after[start] or before[start] == after[start]):
        start += 1
        if not start % _COMPARED:
            yield 1, None
    same, most = 0, least - start
    while same < most and (before[-1 - same] is after[-1 - same] or before[-1 - same] == after[-1 - same]):
        same += 1
        if not same % _COMPARED:
            yield 1, None
    return start, len(before) - same, len(after) - same
