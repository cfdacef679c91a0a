"""What the stream of what happens shows, out of what the pages are made of."""

from collections.abc import Callable
from datetime import timedelta
from itertools import islice
from typing import Final

from ingress.admin.contract.page_sources import PageSources
from ingress.admin.lists.changes import change_as_data
from ingress.admin.lists.failures import failure_as_data
from ingress.admin.lists.watches import watch_as_data
from ingress.admin.lists.workers import worker_as_data
from ingress.admin.pages.status_pages import status_as_data
from ingress.live.counted import ROWS, counted
from ingress.live.live import Shown
from ingress.model.observability.endpoint_states import Ejection, EndpointsSeen, EndpointStage
from ingress.process.timestamps import rfc3339

MOST_ENDPOINTS: Final = 500
MOST_WATCHES: Final = 200
MOST_WORKERS: Final = 64
"""Of how many something is told."""


_WHY: Final = {
    Ejection.UNREACHABLE: "connections to it failed",
    Ejection.SILENT: "requests waited there in vain",
}


def shown_by(sources: PageSources, most_clients: Callable[[], int]) -> Shown:
    """Return what there is to show; *most_clients* returns how many connections of clients there may be."""
    metrics = sources.metrics
    return Shown(
        lambda: sources.published().snapshot,
        lambda: sources.published().number,
        lambda: counted(metrics),
        lambda: metrics.exchanges.rows,
        ROWS,
        most_clients,
        lambda: _lag(sources),
        sources.rings,
        sources.now,
        change_as_data,
        failure_as_data,
        {
            "status": lambda: status_as_data(sources, sources.published()),
            "watches": lambda: [
                watch_as_data(one, sources.now()) for one in tuple(metrics.watch.reflectors)[:MOST_WATCHES]
            ],
            "workers": lambda: [worker_as_data(one) for one in sources.workers.states()[:MOST_WORKERS]],
        },
        {"endpoints": lambda: sources.endpoints().addCallback(_troubled, sources)},
    )


def _troubled(seen: EndpointsSeen, sources: PageSources) -> dict[str, object]:
    """Return the endpoints that are not just in rotation, as far as there are not too many."""
    now, told = sources.now(), []
    troubled = (one for one in seen.states.items() if one[1].stage is not EndpointStage.IN_ROTATION)
    for (backend, endpoint), state in islice(troubled, MOST_ENDPOINTS):
        until = now + timedelta(seconds=round(state.seconds)) if state.seconds else None
        told.append(
            {
                "endpoint": endpoint,
                "backend": backend,
                "state": state.stage.value,
                "until": None if until is None else rfc3339(until.replace(microsecond=0)),
                "why": _WHY.get(state.ejection, ""),
            }
        )
    return {"endpoints": told, "more": max(0, sum(1 for _ in troubled))}


def _lag(sources: PageSources) -> float:
    """Return by how much what serves is late: workers, or else this process."""
    lateness = [worker.lateness_seconds for worker in sources.workers.states()]
    return max(lateness, default=sources.metrics.reactor.worst_seconds)
