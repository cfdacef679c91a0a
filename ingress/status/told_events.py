"""Which Events were told, and how often each came.  Pure, but for the clock it is given."""

from collections import OrderedDict
from collections.abc import Callable
from math import inf

from attrs import define

from ingress.model.objects import ObjectKey

_MOST_TOLD = 4096

COUNT_SECONDS = 30.0
"""How long after it was told or counted an Event is not counted again; what comes meanwhile is added then."""


@define(eq=False)
class ToldEvent:
    """*count* is what the API server has, None where that is not known; *more* came since; last written *at*."""

    count: int | None
    at: float
    more: int = 0


class ToldEvents:
    """The Events that were told lately, so many at most; *clock* returns seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._events: OrderedDict[ObjectKey, ToldEvent] = OrderedDict()

    def get(self, key: ObjectKey) -> ToldEvent | None:
        """Return what is known of an Event, None when nothing is."""
        return self._events.get(key)

    def told(self, key: ObjectKey) -> None:
        """Note that an Event was written."""
        self._put(key, ToldEvent(1, self._clock()))

    def known(self, key: ObjectKey) -> None:
        """Note that there is such an Event, written by somebody else or long ago."""
        self._put(key, ToldEvent(None, -inf))

    def counted(self, key: ObjectKey, count: int, more: int) -> None:
        """Note that the API server has *count* now, of which *more* are new."""
        event = self._events.get(key)
        if event is not None:
            event.count, event.at = count, self._clock()
            event.more = max(0, event.more - more)
            self._events.move_to_end(key)

    def is_due(self, event: ToldEvent) -> bool:
        """Whether *event* may be counted again."""
        return self._clock() - event.at >= COUNT_SECONDS

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
