"""The operator's ConfigMap, followed: it stands in front of the sink of a source, and says options as they change.

What it said last stays in force while it is gone: a ConfigMap that is replaced is deleted for a moment, and
a guard must not be open meanwhile.  However often it changes, options are said at most once a second.
"""

from collections.abc import Callable, Collection
from typing import Final

from attrs import evolve
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ingress.cluster.source import Sink
from ingress.model.objects import Batch, ConfigMap, Kind, ObjectKey, Projection
from ingress.model.problems import Problem, Reason
from ingress.options.config_map import nothing_said, read_config_map
from ingress.options.merging import OptionTexts

REST_SECONDS: Final = 1.0
"""The least time between two words, once objects are served: each may have everything translated anew."""

_GONE: Final = "does not exist any more; what it said last stays in force until it is there again or the process starts anew"
_MISSING: Final = (
    "does not exist, so the command line and the defaults count; it is read as soon as it is there"
)


class ConfigMapSource:
    """Says what the ConfigMap *key* has among the objects that go to *sink*; an ``OptionSource`` and a ``Sink``."""

    def __init__(self, key: ObjectKey, sink: Sink, clock: IReactorTime, given: Collection[str] = ()) -> None:
        """*given* are the options of the command line."""
        self._key = key
        self._given = given
        self._id = (Kind.CONFIG_MAP, key)
        self._sink = sink
        self._clock = clock
        self._tell: Callable[[OptionTexts], None] | None = None
        self._found: OptionTexts | None = None
        """What it said when it was there last; None before it was ever seen."""
        self._texts: OptionTexts | None = None
        """What is to be told: that, and whether it is gone."""
        self._said: OptionTexts | None = None
        self._is_synced = False
        self._resting: IDelayedCall | None = None

    # As a source of options

    def start(self, changed: Callable[[OptionTexts], None]) -> None:
        """Tell *changed* from now on; the objects have to come later."""
        self._tell = changed

    def stop(self) -> None:
        """Say nothing any more."""
        self._tell = None
        if self._resting is not None and self._resting.active():
            self._resting.cancel()

    # As a sink

    def changed(self, batch: Batch) -> None:
        """Look for the ConfigMap in *batch*, and hand that on."""
        if self._id in batch:
            self._read(batch[self._id])
        self._sink.changed(batch)

    def synced(self) -> None:
        """Have said all before the first objects are translated."""
        self._is_synced = True
        if self._texts is None:
            self._texts = nothing_said(self._key, Reason.CONFIG_MAP_NOT_FOUND, _MISSING)
        self._say()
        self._sink.synced()

    def _read(self, projection: Projection | None) -> None:
        if projection is None:
            if self._found is None:
                return
            namespace, name = self._key
            gone = Problem(Kind.CONFIG_MAP, namespace, name, Reason.CONFIG_MAP_NOT_FOUND, _GONE)
            self._texts = evolve(self._found, problems=(*self._found.problems, gone))
        elif isinstance(projection.value, ConfigMap):
            self._found = self._texts = read_config_map(self._key, projection.value.content, self._given)
        else:
            # What is wrong with it is told as a problem of the object; what it said before counts.
            self._texts = self._texts or OptionTexts({})
            return
        if self._is_synced and self._resting is None:
            self._say()

    def _say(self) -> None:
        self._resting = None
        if self._tell is None or self._texts is None or self._texts == self._said:
            return
        self._said = self._texts
        self._resting = self._clock.callLater(REST_SECONDS, self._say)
        self._tell(self._texts)
