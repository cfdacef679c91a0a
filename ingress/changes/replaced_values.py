"""What a snapshot has and the next one has not, to be let go in steps.  Pure.

Whoever has the last reference to a snapshot frees all of that at once, which takes tens of milliseconds where thousands of hosts are others.
"""

from collections.abc import Mapping
from typing import Any, Final

from ingress.model.shared_map import SharedMap
from ingress.model.stepwise import LET_GO_AT_ONCE, Stepwise
from ingress.routing.table import RouteTable
from ingress.translate.snapshot import ListenerTable, Snapshot

SEEN_AT_ONCE: Final = 400
"""Entries that are looked at in one step, of both."""
NO_TABLE: Final = ListenerTable()


def replaced(before: Snapshot, after: Snapshot) -> Stepwise[list[object]]:
    """Return what is in *before* and not in *after*: with this at hand, *before* itself is gone in a moment."""
    found: list[object] = []
    holders: list[object] = []
    new = dict(after.tables())
    for name, table in before.tables():
        other = new.get(name, NO_TABLE)
        if other is table:
            continue
        if other.routes is not table.routes:
            yield from _of_routes(table.routes, other.routes, found)
            holders += table.routes.shards
        yield
        was, now = table.certificates, other.certificates
        yield from _of_map(was.exact, now.exact, found, holders)
        yield from _of_map(was.wildcard, now.wildcard, found, holders)
    yield from _of_map(before.backends, after.backends, found, holders)
    yield from _of_map(before.problems_by_source, after.problems_by_source, found, holders)
    # These go first, as long as what they hold is held here.
    return found + holders if len(found) > LET_GO_AT_ONCE else found


def _of_routes(before: RouteTable, after: RouteTable, found: list[object]) -> Stepwise[None]:
    for portion in after.replaced_since(before, SEEN_AT_ONCE):
        for had, _ in portion:
            if had is not None:
                found += had.routes
        yield


def _of_map(
    before: Mapping[Any, object], after: Mapping[Any, object], found: list[object], holders: list[object]
) -> Stepwise[None]:
    if before is after or not isinstance(before, SharedMap) or not isinstance(after, SharedMap):
        return
    holders += before.shards
    for portion in after.portions_since(before, SEEN_AT_ONCE):
        found += [known for known in (before.get(key) for key, _ in portion) if known is not None]
        yield
