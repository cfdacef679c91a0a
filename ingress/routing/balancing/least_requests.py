"""Least requests: the endpoint with fewer attempts under way, of two drawn by chance.

For requests that take very different times: an endpoint that is stuck with long ones
gets no more until it has caught up.
"""

from collections.abc import Container

from ingress.model.upstream.backends import Endpoint
from ingress.routing.balancing.balancer import Balancer, Chance
from ingress.routing.balancing.two_choices import draw_two


class LeastRequests(Balancer):
    """Counts the attempts under way at each endpoint."""

    __slots__ = ("_chance", "running")

    counts = True

    def __init__(self, endpoints: tuple[Endpoint, ...], chance: Chance) -> None:
        super().__init__(endpoints)
        self._chance = chance
        self.running: dict[Endpoint, int] = {}
        """Endpoints without any are not in it, so those that left are forgotten when their last attempt ends."""

    def pick(self, exclude: Container[Endpoint] = (), key: bytes = b"") -> Endpoint | None:
        """Choose the one of two that has less to do; the first one drawn if both have the same."""
        drawn = draw_two(self._endpoints, exclude, self._chance)
        if drawn is None:
            return None
        one, other = drawn
        running = self.running
        return other if running.get(other, 0) < running.get(one, 0) else one

    def began(self, endpoint: Endpoint) -> None:
        """Count an attempt."""
        self.running[endpoint] = self.running.get(endpoint, 0) + 1

    def ended(self, endpoint: Endpoint, seconds: float, failed: bool) -> None:
        """Count it no more."""
        left = self.running[endpoint] - 1
        if left:
            self.running[endpoint] = left
        else:
            del self.running[endpoint]
