"""What the pages of the admin port are made of: functions that are asked when a page is."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from attrs import Factory
from twisted.internet.defer import Deferred, succeed

from ingress.explain.served import Served
from ingress.history.rings import Rings
from ingress.live.live import Live
from ingress.metrics.metrics import Metrics
from ingress.model.frozen import frozen
from ingress.model.observability.endpoint_states import EndpointsSeen
from ingress.model.observability.workers import WorkerState
from ingress.model.stepwise import Stepwise
from ingress.translate.endpoints.unready import Unready
from ingress.translate.snapshot import Snapshot


@frozen(eq=False)
class Published:
    """A snapshot, the how manieth it is, and when it was made current; number 0 is what there is before the first."""

    snapshot: Snapshot
    number: int = 0
    at: datetime | None = None


def _no_workers() -> Sequence[WorkerState]:
    return ()


def _at_once() -> Deferred[None]:
    return succeed(None)


def _nothing_seen() -> Deferred[EndpointsSeen]:
    return succeed(EndpointsSeen())


def _none_unready() -> Stepwise[Unready]:
    yield from ()
    return {}


def _now() -> datetime:
    return datetime.now(UTC)


@frozen
class Workers:
    """What the pages say of workers; of a process that serves by itself there is nothing to say."""

    states: Callable[[], Sequence[WorkerState]] = _no_workers
    """What is known of each."""
    told: Callable[[], Deferred[None]] = _at_once
    """Asks them for their numbers; fires when these are known, or nobody is to wait for them any longer."""


NO_WORKERS: Final = Workers()


@frozen(eq=False)
class PageSources:
    """All that pages may ask."""

    readiness: Callable[[], tuple[str, ...]]
    """Returns what is missing, one line each, and nothing when all is ready."""
    published: Callable[[], Published]
    """Returns what is current."""
    metrics: Metrics
    leader: Callable[[], Mapping[str, object]] | None = None
    """Returns what is known of the election; None where there is none."""
    served: Callable[[], Served] | None = None
    """Returns the snapshot with what else is known to explain requests by; without it the snapshot alone explains them."""
    workers: Workers = NO_WORKERS
    """Those that serve, if it is not this process."""
    endpoints: Callable[[], Deferred[EndpointsSeen]] = _nothing_seen
    """Asks who serves how endpoints are; takes a second at most."""
    unready: Callable[[], Stepwise[Unready]] = _none_unready
    """Finds the endpoints whose pods are not ready."""
    now: Callable[[], datetime] = _now
    """Returns the time of day, with its zone."""
    started: datetime = Factory(_now)
    """When this was made."""
    rings: Rings = Factory(Rings)
    """What happened of late."""
    live: Live | None = None
    """What happens at the moment, for whoever looks; None where nobody can."""
    version: str = ""
    code: str = ""
    """Whether the hot path is ``compiled`` or ``plain``."""
    pod: str = ""

    def explained_by(self) -> Served:
        """Return what requests are explained by."""
        return Served(self.published().snapshot, self.now()) if self.served is None else self.served()
