"""The next version of a route table, in the making: what is different in it is counted, and its backends are looked for.

Part of incremental translation.
"""

from collections.abc import Iterator
from operator import attrgetter

from ingress.model.state import ClusterState
from ingress.routing.route import Route
from ingress.routing.table import AT_ONCE, HostRoutes, RouteTable
from ingress.translate.backend_cache import BackendCache
from ingress.translate.bookkeeping import Draft
from ingress.translate.route_counts import RouteCounts

_LEADS = attrgetter("backends", "owner")


class RouteDraft:
    """The next version of *table*.  *counts* and *backends* are told of what comes and goes."""

    def __init__(self, table: RouteTable, counts: RouteCounts, backends: BackendCache) -> None:
        self._table: Draft[str, HostRoutes, RouteTable] = Draft(table)
        self._counts = counts
        self._backends = backends

    def assign(self, host: str, found: HostRoutes | None, state: ClusterState) -> None:
        """Give *host* its routes in the next version, or none."""
        known = self._table.get(host)
        before, routes = () if known is None else known.routes, () if found is None else found.routes
        if known is None or found is None:
            if known is found:
                return
        elif _are_alike(known, found):
            return
        self._table.put(host, found)
        self._compare(before, routes, state)

    def assign_in_steps(self, host: str, found: HostRoutes | None, state: ClusterState) -> Iterator[None]:
        """Do that in steps, where routes that stay are the same objects as before."""
        known = self._table.get(host)
        before, routes = () if known is None else known.routes, () if found is None else found.routes
        if len(before) + len(routes) <= AT_ONCE:
            self.assign(host, found, state)
            return
        assert found is None or not found.filters
        if known is not None and found is not None and _are_alike(known, found):
            return
        yield
        stay = set(map(id, before)).intersection(map(id, routes))
        yield
        if found is not None:
            yield from found.put_in_order()
        self._table.put(host, found)
        yield
        went = [route for route in before if id(route) not in stay]
        came = [route for route in routes if id(route) not in stay]
        yield
        for at in range(0, max(len(went), len(came)), AT_ONCE):
            self._compare(tuple(went[at : at + AT_ONCE]), tuple(came[at : at + AT_ONCE]), state)
            yield

    def _compare(self, before: tuple[Route, ...], routes: tuple[Route, ...], state: ClusterState) -> None:
        self._counts.compare(before, routes)
        if list(map(_LEADS, routes)) == list(map(_LEADS, before)):
            # Another path, or other filters: what is used, and by whom, is the same.
            return
        for route in routes:
            for backend in route.backends:
                self._backends.use(backend, state)
            self._counts.count(route, 1)
        for route in before:
            for backend in route.backends:
                self._backends.drop(backend)
            self._counts.count(route, -1)

    def clear(self, state: ClusterState) -> None:
        """Give up all routes."""
        for host, _ in list(self._table.finished().by_host()):
            self.assign(host, None, state)

    def finished(self) -> RouteTable:
        """Return the next version; the draft goes on from there."""
        return self._table.finished()


def _are_alike(one: HostRoutes, other: HostRoutes) -> bool:
    return one.routes == other.routes and one.filters == other.filters and one.is_kept is other.is_kept
