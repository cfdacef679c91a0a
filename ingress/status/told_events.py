"""Which Events were told, and how often each came.  Pure, but for the clock it is given."""

from collections import OrderedDict
from collections.abc import Callable
from math import inf

from attrs import define

from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Problem

_MOST_TOLD = 4096

KEPT_SECONDS = 3720.0
"""How long the API server has an Event that nobody writes: an hour (its ``--event-ttl``), and the minute by which it
forgets several at a time, and a little more."""

COUNT_SECONDS = 30.0
"""How long after it was told or counted an Event is not counted again; what comes meanwhile is added then."""


@define(eq=False)
class ToldEvent:
    """*problem* is what it tells of; *count* is what the API server has, None where that is not known; *more* came since.

    It was last written *at*, and it is *since* then that the API server had it and we wrote nothing.
    """

    problem: Problem
    count: int | None
    at: float
    since: float
    more: int = 0


class ToldEvents:
    """The Events that were told lately, so many at most; *clock* returns seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._events: OrderedDict[ObjectKey, ToldEvent] = OrderedDict()

    def get(self, key: ObjectKey) -> ToldEvent | None:
        """Return what is known of an Event, None when nothing is."""
        return self._events.get(key)

    def told(self, key: ObjectKey, problem: Problem) -> None:
        """Note that an Event was written."""
        now = self._clock()
        self._put(key, ToldEvent(problem, 1, now, now))

    def known(self, key: ObjectKey, problem: Problem) -> None:
        """Note that there is such an Event, written by somebody else or long ago."""
        self._put(key, ToldEvent(problem, None, -inf, self._clock()))

    def counted(self, key: ObjectKey, count: int, more: int) -> None:
        """Note that the API server has *count* now, of which *more* are new."""
        event = self._events.get(key)
        if event is not None:
            event.count, event.at = count, self._clock()
            event.since = event.at
            event.more = max(0, event.more - more)
            self._events.move_to_end(key)

    def is_due(self, event: ToldEvent) -> bool:
        """Whether *event* may be counted again."""
        return self._clock() - event.at >= COUNT_SECONDS

    def is_old(self, event: ToldEvent) -> bool:
        """Whether the API server may have forgotten *event* by now."""
        return self._clock() - event.since >= KEPT_SECONDS

    def old(self) -> list[Problem]:
        """Return the problems of those Events that the API server may have forgotten."""
        return [event.problem for event in self._events.values() if self.is_old(event)]

    def forget(self, key: ObjectKey) -> None:
        """Note that the API server does not know an Event any more."""
        self._events.pop(key, None)

    def forget_counts(self) -> None:
        """Note that somebody else may count from now on."""
        for event in self._events.values():
            event.count = None

    def _put(self, key: ObjectKey, event: ToldEvent) -> None:
        self._events[key] = event
        self._events.move_to_end(key)
        if len(self._events) > _MOST_TOLD:
            self._events.popitem(last=False)
