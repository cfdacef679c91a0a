"""Where this process runs, and for whom endpoints are: zones and nodes.

Sources: ``discovery.k8s.io/v1``, ``EndpointHints``; the label ``topology.kubernetes.io/zone`` of Nodes.
"""

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Final

from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise


@frozen
class Locality:
    """Where a process runs; an empty name is one that nobody knows."""

    zone: str = ""
    node: str = ""

    def __str__(self) -> str:
        named = (("zone", self.zone), ("node", self.node))
        return " and ".join(f"{what} {name}" for what, name in named if name) or "nowhere known"


@frozen
class Hints:
    """Whose requests an endpoint is for, by what whoever writes EndpointSlices makes of all of them."""

    zones: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()


NO_HINTS: Final = Hints()

hints_of: Final = lru_cache(maxsize=1024)(Hints)
"""Makes ``Hints``: those of most endpoints of a zone are the same, and one copy of them is kept."""

_Names = Callable[[Hints], Collection[str]]
_NODES: Final[_Names] = attrgetter("nodes")
_ZONES: Final[_Names] = attrgetter("zones")
_AT_ONCE: Final = 1000


def nearest(hints: Sequence[Hints], locality: Locality) -> Stepwise[Sequence[Hints] | None]:
    """Find, in steps, which endpoints are for *locality*, given the *hints* of all that are ready; None where all are.

    As kube-proxy has it: hints count if all endpoints have some and one of them is for us, those of nodes before
    those of zones.
    """
    for names_of, name in ((_NODES, locality.node), (_ZONES, locality.zone)):
        ours: list[Hints] = []
        for number, one in enumerate(hints, 1):
            names = names_of(one)
            if not names:
                break
            if name in names:
                ours.append(one)
            if not number % _AT_ONCE:
                yield
        else:
            if ours and name:
                return ours
    return None
