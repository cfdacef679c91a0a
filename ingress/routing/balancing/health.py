"""Health: which endpoints of a backend get no requests for a while, since they cannot be reached or never answer.

Passive: nothing is probed, and only what happens to requests counts.  An endpoint that
could not be connected to ``FAILURES`` times within ``WINDOW_SECONDS`` is *ejected* for
``FIRST_SECONDS``, then comes back by itself.  Each time that this happens again it stays
away twice as long, up to ``LONGEST_SECONDS``; after ``LONGEST_SECONDS`` without, that is
forgotten.  The last endpoint of a backend is never ejected: a poor chance is better than none.

One that can be connected to and never answers (a process that is frozen) is *silent*: ``MISSES`` requests in a row
waited for it as long as they may, and nothing at all came from it meanwhile.  It is ejected, too; as soon as anything
comes, it is back.  When its time is over it gets one request, on *trial*, and the next one only once something came, or
after some more time: each request that is lost on it waits for its deadline.

Decides and does nothing else.  Times are arguments, in seconds of any clock that does not
go back.
"""

from collections.abc import Container, MutableMapping
from math import inf
from typing import Final

from mypy_extensions import mypyc_attr

from ingress.model.upstream.backends import Endpoint

FAILURES: Final = 3
WINDOW_SECONDS: Final = 10.0
FIRST_SECONDS: Final = 10.0
LONGEST_SECONDS: Final = 60.0
MISSES: Final = 3
_FEW: Final = 8
"""So many are looked for one by one: to make a set of all endpoints takes longer."""


@mypyc_attr(native_class=False)  # Others refer to it weakly, which native classes do not allow.
class Liveness:
    """When something last came from an endpoint, over whatever connection, and how many requests waited in vain since."""

    __slots__ = ("__weakref__", "_heard_before", "heard_at", "missed")

    def __init__(self) -> None:
        self.heard_at = -inf
        """By the clock of whoever sets it, which is nobody's here."""
        self.missed = 0
        self._heard_before = -inf

    def __repr__(self) -> str:
        return f"<Liveness: {self.missed} missed since {self.heard_at}>"

    def miss(self, since: float) -> None:
        """A request waited in vain *since* then."""
        if self.heard_at != self._heard_before:
            self._heard_before = self.heard_at
            self.missed = 0
        if self.heard_at <= since:
            self.missed += 1


def liveness_of(known: MutableMapping[Endpoint, Liveness], endpoint: Endpoint) -> Liveness:
    """Return what *known* has of *endpoint*: one for all of its connections, for as long as anybody knows of it."""
    liveness = known.get(endpoint)
    if liveness is None:
        liveness = known[endpoint] = Liveness()
    return liveness


class Health:
    """What is known of those endpoints of one backend that failed; the first ejection of each takes *first_seconds*."""

    __slots__ = ("_ejected", "_failures", "_first_seconds", "_past", "_silent", "_trials", "_watched")

    def __init__(self, first_seconds: float = FIRST_SECONDS) -> None:
        self._first_seconds = first_seconds
        self._failures: dict[Endpoint, list[float]] = {}
        """When each endpoint failed of late: fewer than ``FAILURES`` times."""
        self._ejected: dict[Endpoint, float] = {}
        """Who is ejected, and until when."""
        self._past: dict[Endpoint, tuple[int, float]] = {}
        """How often each was ejected in a row, and when the last time was over."""
        self._watched: dict[Endpoint, Liveness] = {}
        """Those that missed a deadline of late: what is known of them must outlive their connections."""
        self._silent: dict[Endpoint, float] = {}
        """Who was ejected for being silent and has said nothing since, with when it was heard last."""
        self._trials: set[Endpoint] = set()
        """Those of them that are in rotation again, for one request."""

    def remembers(self, endpoint: Endpoint) -> bool:
        """Whether anything is kept of *endpoint*."""
        return any(
            endpoint in known
            for known in (
                self._failures,
                self._ejected,
                self._past,
                self._watched,
                self._silent,
                self._trials,
            )
        )

    def __repr__(self) -> str:
        return f"<Health with {len(self._ejected)} ejected>"

    @property
    def ejected(self) -> tuple[Endpoint, ...]:
        """The endpoints that are ejected now."""
        return tuple(self._ejected)

    @property
    def next_return(self) -> float:
        """When to look again: when the next ejection is over, always while any is silent, never when nothing is ejected."""
        return -inf if self._silent else min(self._ejected.values(), default=inf)

    @property
    def has_trials(self) -> bool:
        """Whether ``trial_began`` is to be called."""
        return bool(self._trials)

    def back_at(self, endpoint: Endpoint) -> float | None:
        """Until when *endpoint* is ejected; None where it is not."""
        return self._ejected.get(endpoint)

    def is_silent(self, endpoint: Endpoint) -> bool:
        """Whether it was ejected since it never answered, and nothing came from it since."""
        return endpoint in self._silent

    def is_on_trial(self, endpoint: Endpoint) -> bool:
        """Whether it gets one request, to see whether it answers again."""
        return endpoint in self._trials and endpoint not in self._ejected

    def failed(self, endpoint: Endpoint, endpoints: tuple[Endpoint, ...], now: float) -> float:
        """Note that *endpoint*, one of *endpoints*, could not be connected to.

        Returns for how many seconds it is ejected by that; 0 when it is not.
        """
        if endpoint in self._ejected or endpoint not in endpoints:
            return 0.0
        recent = [time for time in self._failures.get(endpoint, ()) if now - time < WINDOW_SECONDS]
        recent.append(now)
        self._failures[endpoint] = recent[-FAILURES:]
        if len(recent) < FAILURES or not self._has_others(endpoint, endpoints):
            return 0.0
        del self._failures[endpoint]
        return self._eject(endpoint, now)

    def _has_others(self, endpoint: Endpoint, endpoints: tuple[Endpoint, ...]) -> bool:
        return any(other != endpoint and other not in self._ejected for other in endpoints)

    def _eject(self, endpoint: Endpoint, now: float) -> float:
        times, over = self._past.get(endpoint, (0, now))
        times = times + 1 if endpoint in self._silent or now - over < LONGEST_SECONDS else 1
        seconds = min(self._first_seconds * 2.0 ** (times - 1), LONGEST_SECONDS)
        self._ejected[endpoint] = now + seconds
        self._past[endpoint] = times, now + seconds
        return seconds

    def silent(
        self, endpoint: Endpoint, endpoints: tuple[Endpoint, ...], now: float, liveness: Liveness
    ) -> float:
        """Note that a request to *endpoint*, one of *endpoints*, waited in vain; *liveness* knows of it.

        Returns for how many seconds it is ejected by that; 0 when it is not.
        """
        if endpoint not in endpoints:
            return 0.0
        self._watched[endpoint] = liveness
        is_on_trial = endpoint in self._ejected and endpoint in self._trials
        if liveness.missed < MISSES or (endpoint in self._ejected and not is_on_trial):
            return 0.0
        if not self._has_others(endpoint, endpoints):
            return 0.0
        seconds = self._eject(endpoint, now)
        self._silent[endpoint] = liveness.heard_at
        self._trials.discard(endpoint)
        return seconds

    def trial_began(self, endpoint: Endpoint, now: float) -> bool:
        """Note that a request goes to *endpoint*; returns whether it was its trial, and it is out again."""
        if endpoint not in self._trials or endpoint in self._ejected:
            return False
        self._ejected[endpoint] = now + LONGEST_SECONDS
        return True

    def reached(self, endpoint: Endpoint, now: float) -> bool:
        """Note that *endpoint* was connected to; returns whether that ended an ejection.

        Of one that is silent it says nothing: its system makes connections for it.
        """
        if endpoint in self._silent:
            return False
        if self._ejected.pop(endpoint, None) is None:
            return False
        self._past[endpoint] = self._past[endpoint][0], now
        return True

    def returning(self, now: float) -> tuple[Endpoint, ...]:
        """Return the endpoints whose ejection is over by *now*, or which were heard again, and eject them no more.

        One that is silent still is on trial from now on, and not among them.
        """
        heard = tuple(each for each, before in self._silent.items() if self._watched[each].heard_at != before)
        for endpoint in heard:
            del self._silent[endpoint], self._watched[endpoint]
            self._trials.discard(endpoint)
            if self._ejected.pop(endpoint, None) is not None:
                self._past[endpoint] = self._past[endpoint][0], now
        over = tuple(endpoint for endpoint, until in self._ejected.items() if until <= now)
        for endpoint in over:
            del self._ejected[endpoint]
            if endpoint in self._silent:
                self._trials.add(endpoint)
        return heard + tuple(endpoint for endpoint in over if endpoint not in self._silent)

    def in_rotation(
        self, endpoints: tuple[Endpoint, ...], elsewhere: tuple[Endpoint, ...] = ()
    ) -> tuple[Endpoint, ...]:
        """Return those of *endpoints* that requests may be sent to, in the same order; forget all others.

        When only ejected ones are left, those *elsewhere* stand in; when only ejected ones are left there, too, they are ejected no more.
        """
        if self._failures or self._past or self._watched:
            are_many = len(self._failures) + len(self._past) + len(self._watched) > _FEW
            both = endpoints + elsewhere
            present: Container[Endpoint] = frozenset(both) if are_many else both
            for known in (self._failures, self._ejected, self._past, self._watched, self._silent):
                for endpoint in [each for each in known if each not in present]:
                    del known[endpoint]
            self._trials.intersection_update(both)
        if not self._ejected:
            return endpoints
        for some in (endpoints, elsewhere):
            left = tuple(endpoint for endpoint in some if endpoint not in self._ejected)
            if left:
                return left
        self._ejected.clear()
        self._silent.clear()
        self._trials.clear()
        return endpoints
