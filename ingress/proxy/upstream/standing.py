"""How the endpoints of this process are, for whoever looks: what rotations, balancers and the pool know of them.

Nothing is kept for that while nobody looks.
"""

from collections.abc import Iterator, Sequence

from ingress.model.observability.endpoint_states import (
    AT_ONCE,
    Ejection,
    EndpointStage,
    PoolRow,
    RotationRow,
    Row,
)
from ingress.proxy.upstream.pool import UpstreamPool
from ingress.proxy.upstream.rotation import Rotation


def standing(rotations: Sequence[Rotation], pool: UpstreamPool, now: float) -> Iterator[Row | None]:
    """Yield a row for each endpoint of which there is something to say; None where a step has none.

    *now* is the time by the clock of the rotations.
    """
    for rotation in rotations:
        yield from _of_rotation(rotation, now)
        yield None
    for number, row in enumerate(pool.standing(), 1):
        yield PoolRow(*row)
        if not number % AT_ONCE:
            yield None


def _of_rotation(rotation: Rotation, now: float) -> Iterator[Row | None]:
    backend = str(rotation.backend)
    balancer = rotation.balancer
    starts, health = balancer.starts(), rotation.health
    for number, endpoint in enumerate(rotation.all, 1):
        if not number % AT_ONCE:
            yield None
        stage, until, ejection = EndpointStage.IN_ROTATION, now, Ejection.NONE
        if health is not None and health.is_on_trial(endpoint):
            ejection = Ejection.SILENT
        if health is not None and (back := health.back_at(endpoint)) is not None:
            stage, until = EndpointStage.EJECTED, back
            ejection = Ejection.SILENT if health.is_silent(endpoint) else Ejection.UNREACHABLE
        elif starts.get(endpoint, now) > now:
            stage, until = EndpointStage.SLOW_START, starts[endpoint]
        latency = balancer.latency(endpoint)
        if stage is not EndpointStage.IN_ROTATION or ejection is not Ejection.NONE or latency is not None:
            yield RotationRow(backend, str(endpoint), stage, max(0.0, until - now), ejection, latency)
