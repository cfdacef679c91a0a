"""Where this process runs, and for whom endpoints are: zones and nodes.

Sources: ``discovery.k8s.io/v1``, ``EndpointHints``; the label ``topology.kubernetes.io/zone`` of Nodes.
"""

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from operator import attrgetter
from typing import Final

from ingress.model.frozen import frozen


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


def nearest(hints: Iterable[Hints], locality: Locality) -> Callable[[Hints], bool] | None:
    """Return which endpoints are for *locality*, given the *hints* of all that are ready; None where all are.

    As kube-proxy has it: hints count if all endpoints have some and one of them is for us, those of nodes before
    those of zones.
    """
    distinct = frozenset(hints)
    for names_of, name in ((_NODES, locality.node), (_ZONES, locality.zone)):
        if name and _is_complete(distinct, names_of, name):
            return lambda one: name in names_of(one)
    return None


def _is_complete(distinct: Collection[Hints], names_of: _Names, name: str) -> bool:
    return all(map(names_of, distinct)) and any(name in names_of(one) for one in distinct)
