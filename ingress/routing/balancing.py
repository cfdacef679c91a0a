"""Balancing: which endpoint of a backend gets the next attempt.

Decides and does nothing else: no connections, no clock, no health.
"""

from collections.abc import Container

from ingress.model.backends import Endpoint


class RoundRobin:
    """Hand out endpoints in turn, each as often as the others, give or take one.

    When the endpoints change, the turn stays with the endpoint that had it, or
    passes to the next one that is left.  Starting anew would favor the first
    endpoint whenever a backend changes often.
    """

    __slots__ = ("_endpoints", "_turn")

    def __init__(self, endpoints: tuple[Endpoint, ...] = ()) -> None:
        self._endpoints = endpoints
        self._turn = 0
        """Index of the endpoint that is next; may stand one past the last."""

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The endpoints to choose from; assign to change them."""
        return self._endpoints

    @endpoints.setter
    def endpoints(self, endpoints: tuple[Endpoint, ...]) -> None:
        if endpoints == self._endpoints:
            return
        upcoming = self._endpoints[self._turn :] + self._endpoints[: self._turn]
        places = {endpoint: place for place, endpoint in enumerate(endpoints)}
        self._endpoints = endpoints
        for endpoint in upcoming:
            if endpoint in places:
                self._turn = places[endpoint]
                return
        self._turn = self._turn % len(endpoints) if endpoints else 0

    def pick(self, exclude: Container[Endpoint] = ()) -> Endpoint | None:
        """Choose the endpoint whose turn it is, passing over those in *exclude*.

        None means that no endpoint is left to try.
        """
        endpoints = self._endpoints
        count = len(endpoints)
        turn = self._turn
        for _ in range(count):
            if turn >= count:
                turn = 0
            endpoint = endpoints[turn]
            turn += 1
            if endpoint not in exclude:
                self._turn = turn
                return endpoint
        return None

    def __repr__(self) -> str:
        return f"<RoundRobin over {len(self._endpoints)} endpoints>"
