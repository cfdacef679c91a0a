"""Slow start: the share of a new endpoint grows from nothing to that of the others.

For programs that are slow at first, with cold caches or code not compiled yet.  Around
any other balancer: it picks, and a pick of an endpoint that is new counts only with the
probability of its age over the time of the slow start; otherwise it picks again among
the rest.  When only new endpoints are left, the first pick counts.
"""

from collections.abc import Container, Mapping

from ingress.model.upstream.backends import Endpoint
from ingress.routing.balancing.balancer import Balancer, Chance, Clock


class SlowStart(Balancer):
    """Holds back the endpoints that came while others were there already."""

    __slots__ = ("_chance", "_clock", "_inner", "_seconds", "counts", "starting")

    def __init__(self, inner: Balancer, seconds: float, clock: Clock, chance: Chance) -> None:
        super().__init__(inner.endpoints)
        self._inner = inner
        self._seconds = seconds
        self._clock = clock
        self._chance = chance
        self.starting: dict[Endpoint, float] = {}
        """When each endpoint came that is new; empty most of the time."""
        self.counts = inner.counts

    def __repr__(self) -> str:
        return f"<SlowStart of {len(self.starting)} in {self._inner!r}>"

    def _change(self, endpoints: tuple[Endpoint, ...]) -> None:
        now = self._clock()
        before = set(self._endpoints)
        # Those that came to an empty backend have nobody to leave requests to.
        came = {endpoint: now for endpoint in endpoints if endpoint not in before} if before else {}
        stay = set(endpoints)
        self.starting = {
            endpoint: since for endpoint, since in self.starting.items() if endpoint in stay
        } | came
        self._inner.endpoints = endpoints
        self._endpoints = endpoints

    def pick(self, exclude: Container[Endpoint] = (), key: bytes = b"") -> Endpoint | None:
        """Pick what the other balancer picks, unless that is new and has had its share."""
        picked = self._inner.pick(exclude, key)
        if not self.starting or picked is None or self._may_have(picked):
            return picked
        passed_over = [picked]
        while True:
            other = self._inner.pick(_Either(exclude, passed_over), key)
            if other is None:
                return picked
            if self._may_have(other):
                return other
            passed_over.append(other)

    def _may_have(self, endpoint: Endpoint) -> bool:
        since = self.starting.get(endpoint)
        if since is None:
            return True
        share = (self._clock() - since) / self._seconds
        if share >= 1.0:
            del self.starting[endpoint]
            return True
        return self._chance() < share

    def count_starting(self) -> int:
        """Return how many endpoints have not their whole share yet; those that have it are new no more."""
        now = self._clock()
        self.starting = {
            endpoint: since for endpoint, since in self.starting.items() if now - since < self._seconds
        }
        return len(self.starting)

    def began(self, endpoint: Endpoint) -> None:
        """Tell the other balancer."""
        self._inner.began(endpoint)

    def ended(self, endpoint: Endpoint, seconds: float, failed: bool) -> None:
        """Tell the other balancer."""
        self._inner.ended(endpoint, seconds, failed)

    def latency(self, endpoint: Endpoint) -> float | None:
        """Return what the other balancer measured."""
        return self._inner.latency(endpoint)

    def starts(self) -> Mapping[Endpoint, float]:
        """Return when each new endpoint gets as much as the others; that may be over, of one that was not picked since."""
        return {endpoint: since + self._seconds for endpoint, since in self.starting.items()}


class _Either:
    """What is in one container or the other."""

    __slots__ = ("_one", "_other")

    def __init__(self, one: Container[Endpoint], other: Container[Endpoint]) -> None:
        self._one = one
        self._other = other

    def __contains__(self, endpoint: object) -> bool:
        return endpoint in self._one or endpoint in self._other
