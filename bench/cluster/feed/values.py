"""What pieces cost to make and to read, in one process: in milliseconds of the processor, bytes, and the longest piece.

Without garbage collector, whose turns have a bound of their own (``ingress.process.interpreter``).
"""

import gc
import sys
from collections.abc import Iterator
from time import thread_time
from types import FunctionType, ModuleType
from typing import Final

from attrs import frozen

from bench.cluster.feed.cluster import Cluster, endpoint_slice, ingress
from ingress.model.cluster.objects import ClusterObject, EndpointSlice, ObjectKey, SlicePort
from ingress.translate.snapshot import Snapshot
from ingress.workers.feed.follower import Follower
from ingress.workers.feed.sending import pieces

_MANY_ROUTES: Final = 2_000
_PODS_OF_SLICE: Final = 1_000
_SLICES: Final = 5
_TIMES: Final = 20


@frozen
class Cost:
    """What one change came to."""

    what: str
    pieces: int
    octets: int
    making: float
    longest_making: float
    reading: float
    longest_reading: float
    """All in milliseconds."""


def measured(what: str, follower: Follower, before: Snapshot | None, after: Snapshot) -> Cost:
    """Have *follower* come from *before* to *after*."""
    sizes: list[int] = []
    making: list[float] = []
    reading: list[float] = []
    making_them = pieces(before, after)
    while True:
        began = thread_time()
        piece = next(making_them, None)
        made = thread_time()
        if piece is None:
            break
        follower.take(piece)
        reading.append((thread_time() - made) * 1000)
        making.append((made - began) * 1000)
        sizes.append(len(piece))
    return Cost(what, len(sizes), sum(sizes), sum(making), max(making), sum(reading), max(reading))


def costs(cluster: Cluster, count: int) -> Iterator[Cost]:
    """Yield what changes of *cluster* cost, which has so many Ingresses; of frequent ones the median of several."""
    follower = Follower()
    current = cluster.snapshot
    gc.collect()
    gc.disable()
    yield measured("all, to a worker that has nothing", follower, None, current)

    def changed(what: str, *objects: ClusterObject) -> Cost:
        nonlocal current
        before, current = current, cluster.change(*objects)
        return measured(what, follower, before, current)

    for what, changes in (
        ("other pods of one Service", [endpoint_slice(number, shift=7) for number in range(_TIMES)]),
        ("another path of one Ingress", [ingress(number, paths=3) for number in range(_TIMES)]),
    ):
        some = [changed(what, one) for one in changes]
        yield sorted(some, key=lambda cost: cost.making + cost.reading)[_TIMES // 2]
    yield changed(f"an Ingress of {_MANY_ROUTES:,} paths", ingress(40, paths=_MANY_ROUTES))
    yield changed("one of these paths", ingress(40, paths=_MANY_ROUTES - 1))
    yield changed(
        f"{_SLICES * _PODS_OF_SLICE:,} pods of one Service", *(_slice(at, 0) for at in range(_SLICES))
    )
    yield changed("one of these pods", _slice(2, 1))
    yield changed("all Ingresses", *(ingress(number, size="9m") for number in range(count)))
    before, current = current, cluster.translated_anew()
    yield measured("all translated anew, to the same", follower, before, current)


def _slice(at: int, fewer: int) -> EndpointSlice:
    pods = range(_PODS_OF_SLICE - fewer)
    return EndpointSlice(
        ObjectKey("team-41", f"many-{at}"),
        ObjectKey("team-41", "app-41"),
        ports=(SlicePort("http", 8080),),
        ready=tuple(f"10.{at}.{pod >> 8}.{pod & 255}" for pod in pods),
    )


def reachable_mib(snapshot: Snapshot) -> float:
    """Return the memory of what *snapshot* is made of, each object once, but for classes and what these have."""
    tables = [
        (one.routes, one.certificates, one.handshake_settings, one.streams) for _, one in snapshot.tables()
    ]
    found: dict[int, object] = {}
    waiting: list[object] = [tables, snapshot.backends, snapshot.serving, snapshot.listeners]
    while waiting:
        one = waiting.pop()
        if id(one) in found or isinstance(one, type | ModuleType | FunctionType):
            continue
        found[id(one)] = one
        waiting += gc.get_referents(one)
    return sum(map(sys.getsizeof, found.values())) / 2**20


def sharing(cluster: Cluster) -> tuple[float, float, int]:
    """Return the memory of the snapshot of *cluster*, that of what a follower made of it, and how many values that remembers."""
    follower = Follower()
    for piece in pieces(None, cluster.snapshot):
        follower.take(piece)
    return reachable_mib(cluster.snapshot), reachable_mib(follower.snapshot), follower.remembered
