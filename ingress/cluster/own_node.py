"""The Node that this process runs on, followed for its zone.

It stands in front of the sink of a source, and no Node goes any further.
"""

from collections.abc import Callable

from twisted.logger import Logger

from ingress.cluster.projecting.project import ZONE_LABEL
from ingress.cluster.source import Sink
from ingress.model.cluster.objects import Batch, Kind, Node, ObjectKey


class OwnNode:
    """Tells *located* the zone of the Node *name*, as it is found among the objects that go to *sink*; a ``Sink`` itself.

    It tells again when that is another one.  A Node that is gone has the zone that it had.
    """

    log = Logger()

    def __init__(self, name: str, sink: Sink, located: Callable[[str], None]) -> None:
        self._id = (Kind.NODE, ObjectKey("", name))
        self._sink = sink
        self._located = located
        self._zone = ""

    def changed(self, batch: Batch) -> None:
        """Look for the Node in *batch*, and hand on everything else."""
        if self._id in batch:
            batch = {**batch}
            projection = batch.pop(self._id)
            if projection is not None and isinstance(projection.value, Node):
                self._read(projection.value)
        self._sink.changed(batch)

    def synced(self) -> None:
        """Hand it on; without the zone nothing is near by, which is told."""
        if not self._zone:
            _, key = self._id
            self.log.warn(
                "Node {node} is not known, or has no label {label}: hints of EndpointSlices for zones do not count",
                node=key.name,
                label=ZONE_LABEL,
            )
        self._sink.synced()

    def _read(self, node: Node) -> None:
        if node.zone != self._zone:
            self._zone = node.zone
            self._located(node.zone)
