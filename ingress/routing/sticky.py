"""Affinity: the endpoint that a client's cookie names, or that its key is hashed to (``ingress.model.affinity``).

Whoever has no key yet gets endpoints in turn.
"""

from collections.abc import Container

from ingress.model.affinity import mark_of_endpoint
from ingress.model.backends import Endpoint
from ingress.routing.balancing import Balancer, RoundRobin
from ingress.routing.consistent_hash import ConsistentHash


class Sticky(Balancer):
    """The endpoints by their marks, and the ring for all other keys."""

    __slots__ = ("_by_mark", "_in_turn", "_ring")

    def __init__(self, endpoints: tuple[Endpoint, ...]) -> None:
        super().__init__()
        self._in_turn = RoundRobin()
        self._ring = ConsistentHash(())
        self._by_mark: dict[bytes, Endpoint] = {}
        self._change(endpoints)

    def _change(self, endpoints: tuple[Endpoint, ...]) -> None:
        self._endpoints = self._in_turn.endpoints = self._ring.endpoints = endpoints
        known = {endpoint: mark for mark, endpoint in self._by_mark.items()}
        self._by_mark = {
            known.get(endpoint) or mark_of_endpoint(endpoint): endpoint for endpoint in endpoints
        }

    def pick(self, exclude: Container[Endpoint] = (), key: bytes = b"") -> Endpoint | None:
        """Choose the endpoint of *key*, or another one where that is in *exclude*."""
        if not key:
            return self._in_turn.pick(exclude)
        endpoint = self._by_mark.get(key)
        if endpoint is not None and endpoint not in exclude:
            return endpoint
        return self._ring.pick(exclude, key)
