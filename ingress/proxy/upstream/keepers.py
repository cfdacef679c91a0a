"""What connections ask of the pool that keeps them."""

from collections.abc import MutableMapping
from typing import Protocol, TypeVar

from ingress.metrics.series.http2 import SideMetrics
from ingress.model.serving.limits import Timeouts
from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.upstream.program_errors import ProgramErrorLog
from ingress.routing.balancing.health import Liveness

C = TypeVar("C", contravariant=True)


class Keeper(Protocol[C]):
    """Keeps connections, each a *C*, and is told what becomes of them."""

    deadlines: Deadlines
    timeouts: Timeouts
    """Those that hold where a route asks for nothing else."""

    @property
    def livenesses(self) -> MutableMapping[Endpoint, Liveness]:
        """What is known of endpoints, for as long as anybody knows them."""

    def connected(self, connection: C, /) -> None:
        """Take note that *connection* is made."""

    def discard(self, connection: C, /) -> None:
        """Offer it to nobody, or to nobody else."""

    def lost(self, connection: C, /) -> None:
        """Take note that it is gone; called once."""


class Taker(Protocol[C]):
    """Takes connections back: for each request, which is a direct call of who inherits from this."""

    def release(self, connection: C, /) -> None:
        """Take it back: its answer is whole."""


class IdleKeeper(Keeper[C], Taker[C], Protocol):
    """Keeps those that are idle between exchanges."""

    program_errors: ProgramErrorLog
    """Where what programs behind FastCGI complain of is told."""

    def was_stale(self, endpoint: Endpoint, /) -> None:
        """Take note that a kept connection to *endpoint* ended under a request."""


class SessionKeeper(Keeper[C], Protocol):
    """Keeps those that are shared by exchanges."""

    http2: SideMetrics
    """What is counted of all of them."""

    def failed(self, connection: C, /) -> None:
        """Take note that *connection* ends for what its endpoint did."""

    def learned(self, endpoint: Endpoint, most_streams: int, /) -> None:
        """Take note of how many streams *endpoint* takes at once on a connection."""
