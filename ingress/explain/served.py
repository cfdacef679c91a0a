"""What is served, and what else is known of it: that by which a request is explained."""

from datetime import datetime
from typing import Final

from attrs import evolve

from ingress.explain.objects import KnownKinds, KnownObjects, NoObjects, Objects
from ingress.filters import FilterSpec
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.settings import Settings, options_elsewhere
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate

_NO_OBJECTS: Final = NoObjects()


@frozen(eq=False)
class Served:
    """A snapshot, the time, and what a controller has beside them."""

    snapshot: Snapshot
    now: datetime
    everything: tuple[FilterSpec, ...] = ()
    """Filters of the operator, before all requests."""
    objects: Objects = _NO_OBJECTS


def served_by(settings: Settings, state: ClusterState, now: datetime, known: KnownKinds) -> Served:
    """Return what a controller with *settings* serves of *state* at *now*; *known* says what that leaves open."""
    options = options_elsewhere(settings)
    return Served(
        evolve(translate(state, options, now), serving=settings.serving),
        now,
        settings.filters,
        KnownObjects(state, options, known),
    )
