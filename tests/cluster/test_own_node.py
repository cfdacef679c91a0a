"""Tests for ``ingress.cluster.own_node``."""

from attrs import Factory, define
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.own_node import OwnNode
from ingress.model.cluster.objects import Batch, Kind, Node, ObjectId, ObjectKey, Projection, Service

NODE = Kind.NODE, ObjectKey("", "n1")
OTHER = Kind.SERVICE, ObjectKey("shop", "web")


def node(zone: str) -> dict[ObjectId, Projection | None]:
    """Return the change that our Node comes with."""
    return {NODE: Projection(Node(NODE[1], zone))}


@define
class Sink:
    """Keeps what it is given."""

    given: list[dict[ObjectId, Projection | None]] = Factory(list)
    is_synced: bool = False

    def changed(self, batch: Batch) -> None:
        self.given.append(dict(batch))

    def synced(self) -> None:
        self.is_synced = True


class OwnNodeTests(SynchronousTestCase):
    """Before a sink."""

    def setUp(self) -> None:
        self.sink = Sink()
        self.zones: list[str] = []
        self.own = OwnNode("n1", self.sink, self.zones.append)

    def synced(self) -> list[str]:
        """Say that all is there, and return what was logged."""
        with capturedLogs() as events:
            self.own.synced()
        self.assertTrue(self.sink.is_synced)
        return [str(formatEvent(event)) for event in events]

    def test_zones(self) -> None:
        """Each zone is told once, that the label is gone, too; a Node that is gone, or cannot be read, has the one that it had."""
        gone: dict[ObjectId, Projection | None] = {NODE: None}
        unreadable: dict[ObjectId, Projection | None] = {NODE: Projection(None)}
        for change in (node("a"), node("a"), gone, unreadable, node("a"), node("b"), node("")):
            self.own.changed(change)
        self.assertEqual(self.zones, ["a", "b", ""])

    def test_what_goes_on(self) -> None:
        """All but the Node goes on, and who gave it keeps what it gave."""
        other = Projection(Service(OTHER[1]))
        batch = {**node("a"), OTHER: other}
        self.own.changed(batch)
        self.assertEqual((self.sink.given, len(batch)), ([{OTHER: other}], 2))
        self.assertEqual(self.synced(), [])

    def test_no_node(self) -> None:
        """A Node that does not come, or comes without a zone, keeps nobody waiting, and is told; it counts when it has one."""
        for change in ({}, node("")):
            self.setUp()
            self.own.changed(change)
            (told,) = self.synced()
            self.assertIn("Node n1 is not known, or has no label topology.kubernetes.io/zone", told)
            self.assertEqual(self.zones, [])
            self.own.changed(node("a"))
            self.assertEqual(self.zones, ["a"])
