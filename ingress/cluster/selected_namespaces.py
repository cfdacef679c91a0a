"""Which namespaces are read, by their labels (``--watch-namespace-selector``).

It stands before everything that makes something of route objects: of a namespace that is not selected there are none
behind it, and so nobody looks for what these refer to.  A namespace that is not known is not selected.  All objects are kept here, since their
namespace may be selected at any time: then they come, in portions, as if they were new; and they go as if they were deleted.
While they do, nothing is published of them (``Source.is_amid_change``): some may keep visitors from what others serve.  Labels that change
meanwhile are judged once that is over, and there was time for a round, so that it is over however often they do.

Services, EndpointSlices, Secrets and ConfigMaps pass: they matter only to who refers to them, which another namespace does only with a
ReferenceGrant of theirs, and those do not pass; or else the operator does.  ingress-nginx does it alike.
"""

from collections.abc import Collection, Container
from typing import Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ingress.cluster.namespace_labels import is_selected
from ingress.cluster.source import Sink
from ingress.model.cluster.label_selectors import LabelSelector
from ingress.model.cluster.objects import Batch, Kind, ObjectId, Projection
from ingress.translate.readers.gateway.objects.names import NAMESPACE
from ingress.wording import number_of

_PORTION: Final = 25
"""As many objects as a delta queue hands over at a time."""
REST_SECONDS: Final = 0.05
"""For so long nothing comes or goes by other labels after something has: that of a round to begin, which looks far more often."""

log = Logger()


class SelectedNamespaces:
    """A sink before *sink*, which gets objects of *kinds* where labels of their namespace meet *selector*.  Reactor thread.

    *clock* is the reactor's.
    """

    def __init__(
        self,
        sink: Sink,
        selector: LabelSelector,
        kinds: Container[Kind],
        clock: IReactorTime,
    ) -> None:
        self._sink = sink
        self._selector = selector
        self._kinds = kinds
        self._clock = clock
        self._known: dict[str, dict[ObjectId, Projection]] = {}
        self._selected: set[str] = set()
        # What the sink is still to be told of, since its namespace came to be selected, or ceased to be.  A list, of which a hundred
        # thousand are noted in a millisecond: what stands in it twice is told twice, as it is then.
        self._turning: list[ObjectId] = []
        # Namespaces that changed since that began, as they are now, and those that changed before, which are judged with it.
        self._unjudged: dict[ObjectId, Projection | None] = {}
        self._judging: dict[ObjectId, Projection | None] = {}
        # What goes on with it, or ends the rest behind it.
        self._call: IDelayedCall | None = None
        self._is_synced = False
        self._is_stopped = False

    def __repr__(self) -> str:
        return f"<SelectedNamespaces {len(self._selected)} selected, {len(self._turning)} objects turning>"

    def changed(self, batch: Batch) -> None:
        """Take changes, and hand on what the sink is to have of them."""
        is_judged = self._call is None
        if is_judged:
            for (kind, key), projection in batch.items():
                if kind is NAMESPACE:
                    self._judge(key.name, projection)
        part: dict[ObjectId, Projection | None] = {}
        for object_id, projection in batch.items():
            kind, key = object_id
            if kind is NAMESPACE and not is_judged:
                self._unjudged[object_id] = projection
                continue
            if kind in self._kinds:
                self._keep(key.namespace, object_id, projection)
                if key.namespace not in self._selected:
                    continue
            part[object_id] = projection
        if not self._is_synced:
            # Nobody is served yet, and what follows is to know all that there is.
            part.update(self._turned(len(self._turning)))
        try:
            if part:
                self._sink.changed(part)
        finally:
            self._begin_turning()

    def synced(self) -> None:
        """Hand on that everything is there, and say what is left alone."""
        self._is_synced = True
        left = [(name, len(some)) for name, some in self._known.items() if name not in self._selected]
        if left:
            log.info(
                "{objects} of {namespaces} are left alone, whose labels --watch-namespace-selector does not select",
                objects=number_of(sum(count for _, count in left), "object"),
                namespaces=number_of(len(left), "namespace"),
            )
        self._sink.synced()

    def selects(self, namespace: str) -> bool:
        """Whether objects of *namespace* are handed on."""
        return namespace in self._selected

    @property
    def is_turning(self) -> bool:
        """Whether a namespace came to be selected, or ceased to be, and the sink does not know of all of its objects yet."""
        return bool(self._turning or self._judging)

    def stop(self) -> None:
        """Hand over nothing from now on."""
        self._is_stopped = True
        if self._call is not None and self._call.active():
            self._call.cancel()

    def _judge(self, name: str, namespace: Projection | None) -> None:
        before, after = name in self._selected, is_selected(namespace, self._selector)
        if before is after:
            return
        (self._selected.add if after else self._selected.discard)(name)
        some = self._known.get(name, {})
        self._turning += some
        if self._is_synced:
            log.info(
                "Namespace {name} {is_selected} by --watch-namespace-selector: {objects} {come}",
                name=name,
                is_selected="is selected" if after else "is not selected any more",
                objects=number_of(len(some), "object"),
                come=("comes" if len(some) == 1 else "come")
                if after
                else ("goes" if len(some) == 1 else "go"),
            )

    def _keep(self, namespace: str, object_id: ObjectId, projection: Projection | None) -> None:
        if projection is not None:
            self._known.setdefault(namespace, {})[object_id] = projection
            return
        some = self._known.get(namespace, {})
        some.pop(object_id, None)
        if not some:
            self._known.pop(namespace, None)

    def _turned(self, most: int) -> dict[ObjectId, Projection | None]:
        """Take up to *most* of what the sink is still to be told of, each as it is now."""
        found: dict[ObjectId, Projection | None] = {}
        while self._turning and len(found) < most:
            object_id = self._turning.pop()
            namespace = object_id[1].namespace
            there = self._known.get(namespace, {}) if namespace in self._selected else {}
            found[object_id] = there.get(object_id)
        return found

    def _begin_turning(self) -> None:
        if self.is_turning and self._call is None and not self._is_stopped:
            self._call = self._clock.callLater(0, self._turn)

    def _turn(self) -> None:
        part: dict[ObjectId, Projection | None] = {}
        while self._judging and len(part) < _PORTION:
            object_id, namespace = self._judging.popitem()
            self._judge(object_id[1].name, namespace)
            part[object_id] = namespace
        part.update(self._turned(_PORTION - len(part)))
        try:
            self._sink.changed(part)
        finally:
            if not self._is_stopped:
                self._call = (
                    self._clock.callLater(0, self._turn)
                    if self.is_turning
                    else self._clock.callLater(REST_SECONDS, self._rested)
                )

    def _rested(self) -> None:
        self._call = None
        self._judging, self._unjudged = self._unjudged, {}
        self._begin_turning()


def is_read(namespace: str, named: Collection[str], selected: SelectedNamespaces | None) -> bool:
    """Whether a source reads *namespace*, which has those that are *named*, all where none is, as far as labels have them *selected*."""
    if named and namespace not in named:
        return False
    return selected is None or selected.selects(namespace)
