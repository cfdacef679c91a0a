"""The next version of a route table, in the making: what is different in it is counted, and its backends are looked for.

Part of incremental translation.
"""

from collections.abc import Iterator

from ingress.model.cluster.state import ClusterState
from ingress.model.stepwise import Stepwise
from ingress.routing.table import AT_ONCE, HostRoutes, RouteTable
from ingress.translate.caches.backend_cache import BackendCache
from ingress.translate.caches.bookkeeping import Draft
from ingress.translate.caches.route_counts import RouteCounts


class RouteDraft:
    """The next version of *table*.  *counts* and *backends* are told of what comes and goes."""

    def __init__(self, table: RouteTable, counts: RouteCounts, backends: BackendCache) -> None:
        self._table: Draft[str, HostRoutes, RouteTable] = Draft(table)
        self._counts = counts
        self._backends = backends

    def assign(self, host: str, found: HostRoutes | None, state: ClusterState) -> Iterator[None]:
        """Give *host* its routes in the next version, or none; in steps where there are many."""
        known = self._table.get(host)
        before, routes = () if known is None else known.routes, () if found is None else found.routes
        if known is None or found is None:
            if known is found:
                return
        elif (yield from _are_alike(known, found)):
            return
        if found is not None and len(routes) > AT_ONCE:
            yield from found.put_in_order()
        self._table.put(host, found)
        went, came = yield from self._counts.compare(before, routes)
        for number, route in enumerate(came, 1):
            for backend in route.backends:
                self._backends.use(backend, state)
            self._counts.count(route, 1)
            if not number % AT_ONCE:
                yield
        for number, route in enumerate(went, 1):
            for backend in route.backends:
                self._backends.drop(backend)
            self._counts.count(route, -1)
            if not number % AT_ONCE:
                yield

    def clear(self, state: ClusterState) -> Iterator[None]:
        """Give up all routes."""
        for host, _ in list(self._table.finished().by_host()):
            yield from self.assign(host, None, state)
            yield

    def finished(self) -> RouteTable:
        """Return the next version; the draft goes on from there."""
        return self._table.finished()


def _are_alike(one: HostRoutes, other: HostRoutes) -> Stepwise[bool]:
    if (
        len(one.routes) != len(other.routes)
        or one.filters != other.filters
        or one.is_kept is not other.is_kept
    ):
        return False
    for at in range(0, len(one.routes), AT_ONCE):
        if at:
            yield
        if one.routes[at : at + AT_ONCE] != other.routes[at : at + AT_ONCE]:
            return False
    return True
