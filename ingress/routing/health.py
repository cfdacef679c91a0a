"""Health: which endpoints of a backend get no requests for a while, since they cannot be reached.

Passive: nothing is probed, and only what happens to requests counts.  An endpoint that
could not be connected to ``FAILURES`` times within ``WINDOW_SECONDS`` is *ejected* for
``FIRST_SECONDS``, then comes back by itself.  Each time that this happens again it stays
away twice as long, up to ``LONGEST_SECONDS``; after ``LONGEST_SECONDS`` without, that is
forgotten.  The last endpoint of a backend is never ejected: a poor chance is better than none.

Decides and does nothing else.  Times are arguments, in seconds of any clock that does not
go back.
"""

from math import inf
from typing import Final

from ingress.model.backends import Endpoint

FAILURES: Final = 3
WINDOW_SECONDS: Final = 10.0
FIRST_SECONDS: Final = 10.0
LONGEST_SECONDS: Final = 60.0


class Health:
    """What is known of those endpoints of one backend that failed."""

    __slots__ = ("_ejected", "_failures", "_past")

    def __init__(self) -> None:
        self._failures: dict[Endpoint, list[float]] = {}
        """When each endpoint failed of late: fewer than ``FAILURES`` times."""
        self._ejected: dict[Endpoint, float] = {}
        """Who is ejected, and until when."""
        self._past: dict[Endpoint, tuple[int, float]] = {}
        """How often each was ejected in a row, and when the last time was over."""

    def __repr__(self) -> str:
        return f"<Health with {len(self._ejected)} ejected>"

    @property
    def ejected(self) -> tuple[Endpoint, ...]:
        """The endpoints that are ejected now."""
        return tuple(self._ejected)

    @property
    def next_return(self) -> float:
        """When the next ejection is over; never when nothing is ejected."""
        return min(self._ejected.values(), default=inf)

    def failed(self, endpoint: Endpoint, endpoints: tuple[Endpoint, ...], now: float) -> float:
        """Note that *endpoint*, one of *endpoints*, could not be connected to.

        Returns for how many seconds it is ejected by that; 0 when it is not.
        """
        if endpoint in self._ejected or endpoint not in endpoints:
            return 0.0
        recent = [time for time in self._failures.get(endpoint, ()) if now - time < WINDOW_SECONDS]
        recent.append(now)
        self._failures[endpoint] = recent[-FAILURES:]
        others = any(other != endpoint and other not in self._ejected for other in endpoints)
        if len(recent) < FAILURES or not others:
            return 0.0
        del self._failures[endpoint]
        times, over = self._past.get(endpoint, (0, now))
        times = times + 1 if now - over < LONGEST_SECONDS else 1
        seconds = min(FIRST_SECONDS * 2.0 ** (times - 1), LONGEST_SECONDS)
        self._ejected[endpoint] = now + seconds
        self._past[endpoint] = times, now + seconds
        return seconds

    def reached(self, endpoint: Endpoint, now: float) -> bool:
        """Note that *endpoint* was connected to; returns whether that ended an ejection."""
        if self._ejected.pop(endpoint, None) is None:
            return False
        self._past[endpoint] = self._past[endpoint][0], now
        return True

    def returning(self, now: float) -> tuple[Endpoint, ...]:
        """Return the endpoints whose ejection is over by *now*, and eject them no more."""
        over = tuple(endpoint for endpoint, until in self._ejected.items() if until <= now)
        for endpoint in over:
            del self._ejected[endpoint]
        return over

    def in_rotation(self, endpoints: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
        """Return those of *endpoints* that requests may be sent to, in the same order; forget all others.

        When only ejected ones are left, they are ejected no more.
        """
        if self._failures or self._past:
            for known in (self._failures, self._ejected, self._past):
                for endpoint in [each for each in known if each not in endpoints]:
                    del known[endpoint]
        if not self._ejected:
            return endpoints
        left = tuple(endpoint for endpoint in endpoints if endpoint not in self._ejected)
        if not left:
            self._ejected.clear()
            return endpoints
        return left
