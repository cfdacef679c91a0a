"""Whether a snapshot that was kept up to date is what a full translation makes.

For tests and for whoever looks for a bug: it costs as much as translating everything.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

from ingress.filters import FilterSpec
from ingress.routing.table import RouteTable
from ingress.translate.snapshot import ListenerTable, Snapshot

_SHOWN = 20


def differences(found: Snapshot, expected: Snapshot) -> tuple[str, ...]:
    """Return a line for each of the first differences between *found* and *expected*; none when they are equal."""
    lines: list[str] = []
    lines += _of_sets("listener", found.listeners, expected.listeners)
    if not lines and found.listeners != expected.listeners:
        lines.append("the listeners are the same, in another order")
    if found.replicas != expected.replicas:
        lines.append(f"there are {found.replicas} replicas, not {expected.replicas}")
    lines += _of_sets("address of replicas", found.replica_addresses, expected.replica_addresses)
    lines += _of_maps("number of routes of listener ", found.attached, expected.attached)
    tables, wanted = dict(found.tables()), dict(expected.tables())
    lines += _of_sets("table", tables, wanted)
    for name in tables.keys() & wanted.keys():
        lines += _of_tables(f" of table {name}" if name else "", tables[name], wanted[name])
    lines += _of_maps("backend ", found.backends, expected.backends)
    lines += _of_sets("problem", found.problems, expected.problems)
    return tuple(lines)


def _of_tables(of: str, found: ListenerTable, expected: ListenerTable) -> Iterator[str]:
    """Yield the differences of two tables, which are said to be those *of* a name."""
    table, wanted = found.routes, expected.routes
    routes, wanted_routes = table.routes, wanted.routes
    if routes != wanted_routes:
        lines = [*_of_sets(f"route{of}", routes, wanted_routes)]
        yield from lines or [f"the routes{of} are the same, in another order"]
    if (table.count, table.hosts) != (wanted.count, wanted.hosts):
        yield f"the routes{of} are not counted right"
    yield from _of_maps(f"filters{of} of host ", _host_filters(table), _host_filters(wanted))
    yield from _of_sets(f"kept host{of}", _kept(table), _kept(wanted))
    shown, certificates = found.certificates, expected.certificates
    yield from _of_maps(f"certificate{of} of ", shown.exact, certificates.exact)
    yield from _of_maps(f"certificate{of} of *", shown.wildcard, certificates.wildcard)
    if shown.default != certificates.default:
        yield f"the default certificate{of} is another one"
    yield from _of_maps(f"stream{of} of ", found.streams.by_host, expected.streams.by_host)
    settings = found.handshake_settings.by_host, expected.handshake_settings.by_host
    yield from _of_maps(f"settings{of} of ", *settings)


def _host_filters(table: RouteTable) -> dict[str, tuple[FilterSpec, ...]]:
    """Return what stands before the hosts that have routes, where anything does."""
    hosts = {route.host for route in table.unordered()}
    return {host: some.filters for host in hosts if (some := table.get(host)) is not None and some.filters}


def _kept(table: RouteTable) -> frozenset[str]:
    """Return the hosts that listeners have."""
    return frozenset(host for host, some in table.by_host() if some.is_kept)


def _of_sets(what: str, found: Iterable[Hashable], expected: Iterable[Hashable]) -> Iterator[str]:
    has, wants = frozenset(found), frozenset(expected)
    yield from (f"{what} too many: {one}" for one, _ in zip(has - wants, range(_SHOWN), strict=False))
    yield from (f"{what} missing: {one}" for one, _ in zip(wants - has, range(_SHOWN), strict=False))


def _of_maps(what: str, found: Mapping[Any, object], expected: Mapping[Any, object]) -> Iterator[str]:
    if found is expected:
        return
    found, expected = dict(found), dict(expected)
    if found == expected:
        return
    keys = [key for key in {**found, **expected} if found.get(key) != expected.get(key)]
    yield from (f"{what}{key} is {found.get(key)}, not {expected.get(key)}" for key in keys[:_SHOWN])
