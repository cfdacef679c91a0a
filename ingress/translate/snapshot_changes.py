"""What is different between two snapshots, by name."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from attrs import astuple, fields, has

from ingress.filters import FilterSpec
from ingress.identity.certificates import CertificateTable
from ingress.model.backends import BackendReference
from ingress.model.frozen import frozen
from ingress.model.listeners import Listener
from ingress.model.shared_map import SharedMap
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes, RouteTable
from ingress.translate.snapshot import ListenerTable, Snapshot

K = TypeVar("K", bound=Hashable)

RouteKey = tuple[str, str, Match, str]
"""``Route.key``."""
HostFilter = tuple[str, FilterSpec]
"""A host, and what stands before it or before one of its routes."""


@frozen
class Difference(Generic[K]):
    """What came, what went, and what is there under the same name in another form; each in no order."""

    came: frozenset[K] = frozenset()
    went: frozenset[K] = frozenset()
    changed: frozenset[K] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.came or self.went or self.changed)


@frozen
class SnapshotChanges:
    """What one snapshot has in another form than the one before."""

    routes: Difference[RouteKey] = Difference()
    filters: Difference[HostFilter] = Difference()
    """Filters come and go; with other settings it is another filter."""
    backends: Difference[BackendReference] = Difference()
    certificates: Difference[str] = Difference()
    """By host, ``*.example.com`` for a wildcard, empty for the default."""
    handshake_settings: Difference[str] = Difference()
    """By host as in a rule."""
    serving: Difference[str] = Difference()
    """By field: ``limits.head_seconds``."""
    listeners: Difference[Listener] = Difference()
    tables: Difference[str] = Difference()
    """Those of other listeners than the command line's, each as a whole."""

    def __bool__(self) -> bool:
        return any(astuple(self, recurse=False))


def changes(old: Snapshot, new: Snapshot) -> SnapshotChanges:
    """Return what *new* has in another form than *old*.

    Costs what is different, where *new* was made of *old*; else all of both.
    """
    hosts_before, hosts_after = _hosts(old.table, new.table)
    return SnapshotChanges(
        _difference(_routes(hosts_before), _routes(hosts_after)),
        _difference(_filters(hosts_before), _filters(hosts_after)),
        _of_maps(old.backends, new.backends),
        _of_certificates(old.certificates, new.certificates),
        _of_maps(old.handshake_settings.by_host, new.handshake_settings.by_host),
        _difference(dict(_fields(old.serving)), dict(_fields(new.serving))),
        _difference(dict.fromkeys(old.listeners), dict.fromkeys(new.listeners)),
        _of_tables(old.others, new.others),
    )


def _difference(old: Mapping[K, object], new: Mapping[K, object]) -> Difference[K]:
    return Difference(
        frozenset(key for key in new if key not in old),
        frozenset(key for key in old if key not in new),
        frozenset(key for key, value in new.items() if key in old and old[key] != value),
    )


def _of_maps(old: Mapping[K, Any], new: Mapping[K, Any]) -> Difference[K]:
    """Return the difference of two mappings, of which one may have been made of the other."""
    if not isinstance(old, SharedMap) or not isinstance(new, SharedMap):
        return _difference(old, new)
    keys = [key for key, _ in new.changes_since(old)]
    return _difference(_only(old, keys), _only(new, keys))


def _only(some: Mapping[K, object], keys: Iterable[K]) -> dict[K, object]:
    return {key: some[key] for key in keys if key in some}


_Hosts = Mapping[str, HostRoutes]


def _hosts(old: RouteTable, new: RouteTable) -> tuple[_Hosts, _Hosts]:
    """Return the hosts that may have other routes, as they were and as they are."""
    after = dict(new.changes_since(old))
    before = {host: some for host in after if (some := old.get(host)) is not None}
    return before, {host: some for host, some in after.items() if some is not None}


def _routes(hosts: _Hosts) -> dict[RouteKey, Route]:
    return {one.key: one for some in hosts.values() for one in some.routes}


def _filters(hosts: _Hosts) -> dict[HostFilter, None]:
    found: dict[HostFilter, None] = {}
    for host, some in hosts.items():
        tuples = {some.filters}
        for route in some.routes:
            tuples.add(route.filters)
            tuples.update(entry.filters for entry in route.weighted)
            if route.stand_in is not None:
                tuples.add(route.stand_in.filters)
            for variant in route.variants:
                tuples.add(variant.filters)
                tuples.update(entry.filters for entry in variant.weighted)
        found.update(dict.fromkeys((host, spec) for specs in tuples for spec in specs))
    return found


def _fields(settings: Any, path: str = "") -> Iterable[tuple[str, object]]:
    """Yield what *settings* and the settings in them say, each by its path."""
    for field in fields(type(settings)):
        value = getattr(settings, field.name)
        if has(type(value)):
            yield from _fields(value, f"{path}{field.name}.")
        else:
            yield path + field.name, value


def _of_tables(old: Mapping[str, ListenerTable], new: Mapping[str, ListenerTable]) -> Difference[str]:
    both = old.keys() & new.keys()
    return Difference(
        frozenset(new.keys() - both),
        frozenset(old.keys() - both),
        frozenset(name for name in both if _is_different(old[name], new[name])),
    )


def _is_different(old: ListenerTable, new: ListenerTable) -> bool:
    before, after = _hosts(old.routes, new.routes)
    return (
        _routes(before) != _routes(after)
        or _filters(before) != _filters(after)
        or bool(_of_certificates(old.certificates, new.certificates))
        or bool(_of_maps(old.handshake_settings.by_host, new.handshake_settings.by_host))
        or bool(_of_maps(old.streams.by_host, new.streams.by_host))
    )


def _of_certificates(old: CertificateTable, new: CertificateTable) -> Difference[str]:
    return Difference() if old is new else _difference(dict(_certificates(old)), dict(_certificates(new)))


def _certificates(table: CertificateTable) -> Iterable[tuple[str, object]]:
    yield from table.exact.items()
    yield from ((f"*{suffix}", some) for suffix, some in table.wildcard.items())
    if table.default is not None:
        yield "", table.default
