"""Whether a snapshot that was kept up to date is what a full translation makes.

For tests and for whoever looks for a bug: it costs as much as translating everything.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

from ingress.filters import FilterSpec
from ingress.routing.table import RouteTable
from ingress.translate.snapshot import Snapshot

_SHOWN = 20


def differences(found: Snapshot, expected: Snapshot) -> tuple[str, ...]:
    """Return a line for each of the first differences between *found* and *expected*; none when they are equal."""
    lines: list[str] = []
    lines += _of_sets("route", found.table.routes, expected.table.routes)
    if not lines and found.table.routes != expected.table.routes:
        lines.append("the routes are the same, in another order")
    if (found.table.count, found.table.hosts) != (expected.table.count, expected.table.hosts):
        lines.append("the routes are not counted right")
    lines += _of_maps("filters of host ", _host_filters(found.table), _host_filters(expected.table))
    lines += _of_maps("backend ", found.backends, expected.backends)
    lines += _of_maps("certificate of ", found.certificates.exact, expected.certificates.exact)
    lines += _of_maps("certificate of *", found.certificates.wildcard, expected.certificates.wildcard)
    if found.certificates.default != expected.certificates.default:
        lines.append("the default certificate is another one")
    lines += _of_maps("settings of ", found.handshake_settings.by_host, expected.handshake_settings.by_host)
    lines += _of_sets("problem", found.problems, expected.problems)
    return tuple(lines)


def _host_filters(table: RouteTable) -> dict[str, tuple[FilterSpec, ...]]:
    """Return what stands before the hosts that have routes, where anything does."""
    hosts = {route.host for route in table.unordered()}
    return {host: some.filters for host in hosts if (some := table.get(host)) is not None and some.filters}


def _of_sets(what: str, found: Iterable[Hashable], expected: Iterable[Hashable]) -> Iterator[str]:
    has, wants = frozenset(found), frozenset(expected)
    yield from (f"{what} too many: {one}" for one, _ in zip(has - wants, range(_SHOWN), strict=False))
    yield from (f"{what} missing: {one}" for one, _ in zip(wants - has, range(_SHOWN), strict=False))


def _of_maps(what: str, found: Mapping[Any, object], expected: Mapping[Any, object]) -> Iterator[str]:
    keys = [key for key in {**found, **expected} if found.get(key) != expected.get(key)]
    yield from (f"{what}{key} is {found.get(key)}, not {expected.get(key)}" for key in keys[:_SHOWN])
