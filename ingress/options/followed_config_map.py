"""A ConfigMap of the operator's, followed: what it comes to is told as it changes.

It stands in front of the sink of a source.  What a ConfigMap said last is told on while it is gone: one that is replaced is deleted for
a moment.  However often it changes, it is told of at most once a second.
"""

from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.cluster.source import Sink
from ingress.model.cluster.objects import Batch, ConfigMap, Kind, ObjectKey, Projection
from ingress.model.stepwise import Stepwise, finished
from ingress.process.in_slices import first_at_once

REST_SECONDS: Final = 1.0
"""The least time between two words, once objects are served: each may have everything translated anew."""

T = TypeVar("T")

_log: Final = Logger()


class FollowedConfigMap(Generic[T]):
    """Tells what the ConfigMap *key* comes to, as it is found among the objects that go to *sink*; a ``Sink`` itself."""

    def __init__(
        self,
        key: ObjectKey,
        sink: Sink,
        clock: IReactorTime,
        read: Callable[[Mapping[str, str]], Stepwise[T]],
        missing: Callable[[T | None], T],
        nothing: T,
    ) -> None:
        """*read* makes of its content what is told, in steps, *missing* of what was read last, None if nothing was, what is told while it
        is not there; *nothing* is told of one that could never be read."""
        self._id = (Kind.CONFIG_MAP, key)
        self._sink = sink
        self._clock = clock
        self._made_of = read
        self._missing = missing
        self._nothing = nothing
        self._tell: Callable[[T], None] | None = None
        self._found: T | None = None
        """What it came to when it was there last; None before it was ever seen."""
        self._present: T | None = None
        """What is to be told: that, or that it is gone."""
        self._told: T | None = None
        self._is_synced = False
        self._reading: Deferred[None] | None = None
        self._resting: IDelayedCall | None = None

    def start(self, changed: Callable[[T], None]) -> None:
        """Tell *changed* from now on; the objects have to come later."""
        self._tell = changed

    def stop(self) -> None:
        """Say nothing any more."""
        self._tell = None
        self._stop_reading()
        if self._resting is not None and self._resting.active():
            self._resting.cancel()

    # As a sink

    def changed(self, batch: Batch) -> None:
        """Look for the ConfigMap in *batch*, and hand that on."""
        if self._id in batch:
            self._read(batch[self._id])
        self._sink.changed(batch)

    def synced(self) -> None:
        """Have told all before the first objects are translated."""
        self._is_synced = True
        if self._present is None:
            self._present = self._missing(None)
        self._say()
        self._sink.synced()

    def _read(self, projection: Projection | None) -> None:
        self._stop_reading()
        if projection is None:
            if self._found is None:
                return
            self._present = self._missing(self._found)
        elif not isinstance(projection.value, ConfigMap):
            # What is wrong with it is told as a problem of the object; what it said before counts.
            self._present = self._nothing if self._present is None else self._present
            return
        elif not self._is_synced:
            # Nobody is served yet.
            self._found = self._present = finished(self._made_of(projection.value.content))
            return
        else:
            reading = first_at_once(self._clock, self._made_of(projection.value.content))
            self._reading = reading.addCallback(self._was_read)
            self._reading.addErrback(self._failed)
            return
        self._say_soon()

    def _was_read(self, found: T) -> None:
        self._found = self._present = found
        self._say_soon()

    def _failed(self, failure: Failure) -> None:
        if not failure.check(CancelledError):
            _log.failure("A ConfigMap could not be read, which is a bug; what it said before counts", failure)

    def _stop_reading(self) -> None:
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.cancel()

    def _say_soon(self) -> None:
        if self._is_synced and self._resting is None:
            self._say()

    def _say(self) -> None:
        self._resting = None
        if self._tell is None or self._present is None or self._present == self._told:
            return
        self._told = self._present
        self._resting = self._clock.callLater(REST_SECONDS, self._say)
        self._tell(self._present)
