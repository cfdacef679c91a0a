"""The next version of a table of streams, in the making: what is different in it is counted, and its backends are looked for.

Part of incremental translation.
"""

from ingress.model.cluster.state import ClusterState
from ingress.model.stepwise import finished
from ingress.routing.streams import NO_STREAMS, StreamRoute, StreamTable
from ingress.translate.caches.backend_cache import BackendCache
from ingress.translate.caches.bookkeeping import Draft
from ingress.translate.caches.route_counts import RouteCounts


class StreamDraft:
    """The next version of a table of streams.  *counts* and *backends* are told of what comes and goes."""

    def __init__(self, counts: RouteCounts, backends: BackendCache) -> None:
        self._table: Draft[str, StreamRoute, StreamTable] = Draft(NO_STREAMS)
        self._counts = counts
        self._backends = backends

    def assign(self, host: str, route: StreamRoute | None, state: ClusterState) -> None:
        """Have the streams for *host* lead where *route* says; None where no listener has it."""
        before = self._table.get(host)
        if route == before:
            return
        self._table.put(host, route)
        went, came = finished(self._counts.compare(_counted(before), _counted(route)))
        for each in came:
            for backend in each.backends:
                self._backends.use(backend, state)
            self._counts.count(each, 1)
        for each in went:
            for backend in each.backends:
                self._backends.drop(backend)
            self._counts.count(each, -1)

    def clear(self, state: ClusterState) -> None:
        """Give up all routes."""
        for route in list(self._table.finished()):
            self.assign(route.host, None, state)

    def finished(self) -> StreamTable:
        """Return the next version; the draft goes on from there."""
        return self._table.finished()


def _counted(route: StreamRoute | None) -> tuple[StreamRoute, ...]:
    """Return *route* if somebody asked for it."""
    return () if route is None or route.owner is None else (route,)
