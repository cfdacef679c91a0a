"""Balancing: which endpoint of a backend gets the next attempt.

``Balancer`` is what all algorithms have in common, and ``RoundRobin`` the simplest of
them; the others have modules of their own, and ``ingress.routing.balancing.making`` makes them.
Each decides and does nothing else: no connections and no health.  Clocks and chance
are arguments.
"""

from abc import abstractmethod
from collections.abc import Callable, Container, Mapping
from types import MappingProxyType
from typing import Final

from mypy_extensions import mypyc_attr

from ingress.model.upstream.backends import Endpoint

Clock = Callable[[], float]
"""Returns seconds, of which only differences matter."""
Chance = Callable[[], float]
"""Returns a number from 0 up to and without 1, as ``random.Random.random`` does."""

_NONE: Final[Mapping[Endpoint, float]] = MappingProxyType({})


@mypyc_attr(allow_interpreted_subclasses=True)
class Balancer:
    """Picks an endpoint for each attempt, and keeps what it learned when the endpoints change."""

    __slots__ = ("_endpoints",)

    counts = False
    """Whether it must be told when an attempt begins and ends; most need not, and requests then pay nothing."""

    def __init__(self, endpoints: tuple[Endpoint, ...] = ()) -> None:
        self._endpoints = endpoints

    def __repr__(self) -> str:
        return f"<{type(self).__name__} over {len(self._endpoints)} endpoints>"

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The endpoints to choose from; assign to change them."""
        return self._endpoints

    @endpoints.setter
    def endpoints(self, endpoints: tuple[Endpoint, ...]) -> None:
        if endpoints != self._endpoints:
            self._change(endpoints)

    def _change(self, endpoints: tuple[Endpoint, ...]) -> None:
        """Take other *endpoints*; what is known of those that stay is kept."""
        self._endpoints = endpoints

    @property
    def is_prepared(self) -> bool:
        """Whether a pick is quick; where it is not, ``prepare_some`` is to be called before, until it returns true."""
        return True

    def prepare_some(self) -> bool:
        """Do some of what a pick would have to do first, within a millisecond; return whether that is all."""
        return True

    @abstractmethod
    def pick(self, exclude: Container[Endpoint] = (), key: bytes = b"") -> Endpoint | None:
        """Choose an endpoint that is not in *exclude*; None means that none is left to try.

        *key* is what consistent hashing goes by; all others pay no heed to it.
        """

    def began(self, endpoint: Endpoint) -> None:
        """An attempt at *endpoint* begins (only if ``counts``)."""

    def ended(self, endpoint: Endpoint, seconds: float, failed: bool) -> None:
        """An attempt at *endpoint* ended after *seconds*, with an answer or not (only if ``counts``)."""

    def latency(self, endpoint: Endpoint) -> float | None:
        """Return how long *endpoint* took of late, in seconds; None where that is not measured, or not known."""
        return None

    def starts(self) -> Mapping[Endpoint, float]:
        """Return when the slow start of each endpoint is over that is in one, by the balancer's clock."""
        return _NONE


class RoundRobin(Balancer):
    """Hand out endpoints in turn, each as often as the others, give or take one.

    When the endpoints change, the turn stays with the endpoint that had it, or
    passes to the next one that is left.  Starting anew would favor the first
    endpoint whenever a backend changes often.  Picks with exclusions have turns of
    their own: else an endpoint that fails would be next again after every second attempt.
    """

    __slots__ = ("_other_turn", "_turn")

    def __init__(self, endpoints: tuple[Endpoint, ...] = ()) -> None:
        super().__init__(endpoints)
        self._turn = 0
        """Index of the endpoint that is next; may stand one past the last."""
        self._other_turn = 0
        """The same for picks with exclusions."""

    def _change(self, endpoints: tuple[Endpoint, ...]) -> None:
        upcoming = self._endpoints[self._turn :] + self._endpoints[: self._turn]
        self._endpoints = endpoints
        following = next(iter(upcoming), None)
        if following is not None and following not in endpoints:
            # As it is seldom: a set of thousands takes milliseconds.
            left = frozenset(endpoints)
            following = next((endpoint for endpoint in upcoming if endpoint in left), None)
        if following is not None:
            self._turn = endpoints.index(following)
        else:
            self._turn = self._turn % len(endpoints) if endpoints else 0

    def pick(self, exclude: Container[Endpoint] = (), key: bytes = b"") -> Endpoint | None:
        """Choose the endpoint whose turn it is, passing over those in *exclude*."""
        if exclude:
            return self._pick_other(exclude)
        endpoints = self._endpoints
        turn = self._turn
        if turn >= len(endpoints):
            if not endpoints:
                return None
            turn = 0
        self._turn = turn + 1
        return endpoints[turn]

    def _pick_other(self, exclude: Container[Endpoint]) -> Endpoint | None:
        endpoints = self._endpoints
        count = len(endpoints)
        for step in range(count):
            place = (self._other_turn + step) % count
            if endpoints[place] not in exclude:
                self._other_turn = place + 1
                return endpoints[place]
        return None
