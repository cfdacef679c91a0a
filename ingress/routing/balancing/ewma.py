"""EWMA: the endpoint that answered faster of late, of two drawn by chance.

The same as ``load-balance: ewma`` of ingress-nginx: an exponentially weighted moving
average of the seconds that attempts take, weighted by time and not by number, with a
decay of ten seconds.  An average also decays while nothing is sent, so that an endpoint
that was slow is tried again before long.  An endpoint that is new begins with the mean of
the others: with nothing, it would be the fastest of all and get every request.

One thing is different: an attempt that fails never makes an endpoint look faster, since
there is nothing so quick as refusing.
"""

from collections.abc import Container
from math import exp
from typing import Final

from ingress.model.upstream.backends import Endpoint
from ingress.routing.balancing.balancer import Balancer, Chance, Clock
from ingress.routing.balancing.two_choices import draw_two

DECAY_SECONDS: Final = 10.0
"""After so long without attempts, an average has fallen to 1/e of what it was (ingress-nginx)."""


class Ewma(Balancer):
    """Keeps an average for each endpoint, and when it was brought up to date."""

    __slots__ = ("_chance", "_clock", "averages")

    counts = True

    def __init__(self, endpoints: tuple[Endpoint, ...], clock: Clock, chance: Chance) -> None:
        super().__init__(endpoints)
        self._clock = clock
        self._chance = chance
        self.averages: dict[Endpoint, tuple[float, float]] = {}
        """Seconds and time of the last change.  All endpoints of now that were ever tried, and no others."""

    def _change(self, endpoints: tuple[Endpoint, ...]) -> None:
        now = self._clock()
        known = [self.average(endpoint, now) for endpoint in self.averages]
        mean = sum(known) / len(known) if known else 0.0
        before = set(self._endpoints)
        averages = {}
        for endpoint in endpoints:
            if endpoint in self.averages:
                averages[endpoint] = self.averages[endpoint]
            elif endpoint not in before:
                averages[endpoint] = mean, now
        self.averages = averages
        self._endpoints = endpoints

    def pick(self, exclude: Container[Endpoint] = (), key: bytes = b"") -> Endpoint | None:
        """Choose the one of two with the lower average; the first one drawn if both have the same."""
        drawn = draw_two(self._endpoints, exclude, self._chance)
        if drawn is None:
            return None
        one, other = drawn
        now = self._clock()
        return other if self.average(other, now) < self.average(one, now) else one

    def average(self, endpoint: Endpoint, now: float) -> float:
        seconds, since = self.averages.get(endpoint, (0.0, now))
        return seconds * exp(-max(now - since, 0.0) / DECAY_SECONDS)

    def latency(self, endpoint: Endpoint) -> float | None:
        """Return the average; None of one that was never tried."""
        return self.average(endpoint, self._clock()) if endpoint in self.averages else None

    def ended(self, endpoint: Endpoint, seconds: float, failed: bool) -> None:
        """Let an attempt count: the more, the longer the last one is ago."""
        if endpoint not in self.averages and endpoint not in self._endpoints:
            return
        now = self._clock()
        known = self.averages.get(endpoint)
        if known is None:
            self.averages[endpoint] = seconds, now
            return
        before, since = known
        weight = exp(-max(now - since, 0.0) / DECAY_SECONDS)
        if failed:
            seconds = max(seconds, before)
        self.averages[endpoint] = before * weight + seconds * (1.0 - weight), now
