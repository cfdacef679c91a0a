"""Affinity: the endpoint that a client's cookie names, or that its key is hashed to (``ingress.model.upstream.affinity``).

Whoever has no key yet gets endpoints in turn.
"""

from collections.abc import Container, Generator
from typing import Final

from ingress.model.upstream.affinity import mark_of_endpoint
from ingress.model.upstream.backends import Endpoint
from ingress.routing.balancing.balancer import Balancer, RoundRobin
from ingress.routing.balancing.consistent_hash import SMALL, ConsistentHash, differences

_MARKED_AT_ONCE: Final = 100


class Sticky(Balancer):
    """The endpoints by their marks, and the ring for all other keys."""

    __slots__ = ("_by_mark", "_in_turn", "_marked", "_marks", "_ring", "_steps")

    def __init__(self, endpoints: tuple[Endpoint, ...]) -> None:
        super().__init__()
        self._in_turn = RoundRobin()
        self._ring = ConsistentHash(())
        self._by_mark: dict[bytes, Endpoint] = {}
        self._marks: dict[Endpoint, bytes] = {}
        self._marked: tuple[Endpoint, ...] | None = None
        """Whose marks these are; None amid a change.  They are made when they are next asked for, as the ring is."""
        self._steps: Generator[None, None, None] | None = None
        self._change(endpoints)

    def _change(self, endpoints: tuple[Endpoint, ...]) -> None:
        self._endpoints = self._in_turn.endpoints = self._ring.endpoints = endpoints

    @property
    def is_prepared(self) -> bool:
        """Whether a pick need not mark many endpoints, or put them on the ring."""
        if self._marked is not self._endpoints:
            are_few = len(self._endpoints) <= SMALL and len(self._marks) <= SMALL
            if not are_few or self._steps is not None:
                return False
        return self._ring.is_prepared

    def prepare_some(self) -> bool:
        """Take a step of marking the endpoints of now, or of putting them on the ring; return whether all is done."""
        return self._mark_some() and self._ring.prepare_some()

    def _mark_some(self) -> bool:
        """Take a step of marking; return whether all are marked."""
        if self._steps is None:
            if self._marked is self._endpoints:
                return True
            self._steps = self._marking(self._endpoints)
        try:
            next(self._steps)
        except StopIteration:
            self._steps = None
        except BaseException:
            # Nobody knows how far it came.
            self._steps = None
            self._marks, self._by_mark = {}, {}
            raise
        return self._steps is None and self._marked is self._endpoints

    def _marking(self, wanted: tuple[Endpoint, ...]) -> Generator[None, None, None]:
        """Mark those *wanted*, and forget all others, some a step."""
        self._marked = None
        marks, by_mark = self._marks, self._by_mark
        gone, came = yield from differences(marks, tuple(marks), wanted)
        for number, endpoint in enumerate(gone, 1):
            by_mark.pop(marks.pop(endpoint), None)
            if not number % _MARKED_AT_ONCE:
                yield
        for number, endpoint in enumerate(came, 1):
            mark = marks[endpoint] = mark_of_endpoint(endpoint)
            by_mark[mark] = endpoint
            if not number % _MARKED_AT_ONCE:
                yield
        self._marked = wanted

    def pick(self, exclude: Container[Endpoint] = (), key: bytes = b"") -> Endpoint | None:
        """Choose the endpoint of *key*, or another one where that is in *exclude*: the next in turn as long as marks of many are not made."""
        if not key:
            return self._in_turn.pick(exclude)
        if self._marked is not self._endpoints:
            if exclude and not self.is_prepared:
                return self._in_turn.pick(exclude)
            while not self._mark_some():
                pass
        endpoint = self._by_mark.get(key)
        if endpoint is not None and endpoint not in exclude:
            return endpoint
        return self._ring.pick(exclude, key)
