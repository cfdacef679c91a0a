"""Nodes and pods become values."""

from typing import Any

from hypothesis import given
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import NODES, PODS, WHOLE_NODES
from ingress.cluster.projecting.project import project
from ingress.model.cluster.objects import Node, ObjectKey, Pod, Projection
from ingress.translate.readers.reader import KindRead
from tests.cluster.projecting.test_project import json_values
from tests.status.cluster_nodes import LABELS, node_object, pod_object


def projected(read: KindRead, raw: object) -> Projection:
    return project(read, raw, "x")[1]


class NodeTests(SynchronousTestCase):
    """Nodes."""

    def node(self, *addresses: Any) -> Node:
        raw = {**node_object("n1"), "status": {"addresses": list(addresses)}}
        projection = projected(WHOLE_NODES, raw)
        self.assertEqual(projection.problems, ())
        assert isinstance(projection.value, Node)
        return projection.value

    def test_first_of_each_type(self) -> None:
        """The first address of each type that says one; names are none."""
        raw = node_object(
            "n1",
            ("Hostname", "n1"),
            ("InternalIP", ""),
            ("InternalIP", "10.0.0.1"),
            ("InternalIP", "2001:db8::1"),
            ("ExternalIP", "203.0.113.1"),
            ("ExternalIP", "2001:db8::2"),
            ("ExternalDNS", "n1.test"),
        )
        expected = Node(ObjectKey("", "n1"), "", "203.0.113.1", "10.0.0.1")
        self.assertEqual(projected(WHOLE_NODES, raw), Projection(expected))
        self.assertEqual(self.node({"type": "Hostname", "address": "n1"}), Node(ObjectKey("", "n1")))

    def test_heartbeats(self) -> None:
        """What a kubelet says again and again makes no other Node."""
        raw = node_object("n1", ("InternalIP", "10.0.0.1"))
        later = {
            **raw,
            "status": {
                **raw["status"],
                "conditions": [{"type": "Ready", "lastHeartbeatTime": "x"}],
                "images": [],
            },
        }
        self.assertEqual(projected(WHOLE_NODES, raw), projected(WHOLE_NODES, later))

    def test_metadata_alone(self) -> None:
        """Where nothing but metadata is read, there is no address, and the zone as ever."""
        raw = {"metadata": {"name": "n1", "labels": {"topology.kubernetes.io/zone": "a"}}}
        self.assertEqual(projected(NODES, raw).value, Node(ObjectKey("", "n1"), "a"))

    def test_malformed(self) -> None:
        """What cannot be read counts as absent."""
        good = {"type": "InternalIP", "address": "10.0.0.1"}
        self.assertEqual(
            self.node(5, None, {}, {"type": "InternalIP", "address": 7}, good).internal_ip, "10.0.0.1"
        )
        statuses: list[Any] = [None, 5, [], {"addresses": {}}, {"addresses": None}]
        for status in statuses:
            raw = {**node_object("n1"), "status": status}
            self.assertEqual(projected(WHOLE_NODES, raw), Projection(Node(ObjectKey("", "n1"))))


class PodTests(SynchronousTestCase):
    """Pods."""

    def pod(self, **changes: Any) -> Pod:
        projection = projected(PODS, {**pod_object("a", "n1"), **changes})
        self.assertEqual(projection.problems, ())
        assert isinstance(projection.value, Pod)
        return projection.value

    def test_whole(self) -> None:
        """The Node, all labels, and that it is ready."""
        labels = frozenset({*LABELS.items(), ("controller-revision-hash", "a")})
        self.assertEqual(self.pod(), Pod(ObjectKey("txingress", "a"), "n1", labels, is_ready=True))

    def test_not_ready(self) -> None:
        """It is not ready in any phase but one, without the condition, or with another status of it, and when it is about to end."""
        ready = {"type": "Ready", "status": "True"}
        for status in (
            {"phase": "Pending", "conditions": [ready]},
            {"phase": "Succeeded", "conditions": [ready]},
            {"phase": "Running"},
            {"phase": "Running", "conditions": [{"type": "ContainersReady", "status": "True"}]},
            {"phase": "Running", "conditions": [{"type": "Ready", "status": "Unknown"}]},
            {"conditions": [ready]},
        ):
            self.assertFalse(self.pod(status=status).is_ready, status)
        metadata = pod_object("a", "n1")["metadata"]
        self.assertFalse(
            self.pod(metadata={**metadata, "deletionTimestamp": "2026-11-29T10:00:00Z"}).is_ready
        )
        self.assertTrue(self.pod(metadata={**metadata, "deletionTimestamp": None}).is_ready)

    def test_malformed(self) -> None:
        """What cannot be read counts as absent."""
        statuses: list[Any] = [
            None,
            5,
            [],
            {"phase": "Running", "conditions": {}},
            {"phase": 5, "conditions": [5, None]},
        ]
        for status in statuses:
            self.assertFalse(self.pod(status=status).is_ready)
        self.assertEqual(
            [self.pod(spec=spec).node for spec in (None, 5, {}, {"nodeName": 5})], ["", "", "", ""]
        )
        metadata = {"name": "a", "namespace": "txingress", "labels": {"a": 5, "b": "c"}}
        self.assertEqual(self.pod(metadata=metadata).labels, {("b", "c")})

    @given(json_values, json_values, json_values)
    def test_anything(self, metadata: Any, spec: Any, status: Any) -> None:
        """Whatever stands there, nothing is raised."""
        raw = {"metadata": metadata, "spec": spec, "status": status}
        for read in (PODS, WHOLE_NODES):
            projected(read, raw)
            projected(read, {**raw, "metadata": {"name": "a", "namespace": "b", "labels": metadata}})
