"""The parts of the benchmark of watches that need no processes."""

import json

from twisted.trial.unittest import SynchronousTestCase

from bench.cluster.watch import objects
from bench.cluster.watch.__main__ import GOALS, table, verdict
from bench.cluster.watch.traffic import quantile
from ingress.cluster.kinds import KINDS
from ingress.cluster.projecting.project import project
from ingress.cluster.watching.watch_events import Bookmark, ObjectEvent, event_from_json
from ingress.model.cluster.objects import Kind


class ObjectTests(SynchronousTestCase):
    """The objects of the large cluster."""

    def test_they_are_good(self) -> None:
        """Every kind is what the API sends, is projected without a problem, and is as big as in real clusters."""
        made = (
            (Kind.INGRESS, objects.ingress(7, 1)),
            (Kind("HTTPRoute"), objects.http_route(7, 1)),
            (Kind.SERVICE, objects.service(7, 1)),
            (Kind.ENDPOINT_SLICE, objects.endpoint_slice(700, 1, 8080)),
        )
        for kind, line in made:
            event = event_from_json(json.loads(line))
            assert isinstance(event, ObjectEvent)
            key, projection = project(KINDS[kind], event.raw, "nginx.ingress.kubernetes.io")
            self.assertEqual((key, projection.problems), (event.key, ()))
            self.assertIsNotNone(projection.value)
            self.assertTrue(1000 < len(line) < 3000, (kind, len(line)))

    def test_bookmark(self) -> None:
        """The bookmark ends the initial events."""
        self.assertEqual(event_from_json(json.loads(objects.bookmark(5))), Bookmark("5", True))


class TableTests(SynchronousTestCase):
    """What the figures come to."""

    def test_verdicts(self) -> None:
        """A figure meets the aim, or only what it must be, or neither; for rates more is better."""
        goals = {goal.name: goal for goal in GOALS}
        for name, value, expected in (
            ("sync_cpu_s", 1.9, "aim"),
            ("sync_cpu_s", 2.5, "must"),
            ("sync_cpu_s", 3.1, "missed"),
            ("burst_per_s", 12000, "aim"),
            ("burst_per_s", 6000, "must"),
            ("burst_per_s", 4000, "missed"),
            ("traffic_failed", 0, "must"),
            ("traffic_failed", 1, "missed"),
        ):
            self.assertEqual(verdict(goals[name], value), expected, (name, value))

    def test_table(self) -> None:
        """Each goal has a line with what was measured."""
        lines = table({goal.name: 1.0 for goal in GOALS}).splitlines()
        self.assertEqual(len(lines), len(GOALS) + 1)

    def test_quantile(self) -> None:
        """A quantile is a value that was measured."""
        self.assertEqual([quantile([3.0, 1.0, 2.0], share) for share in (0.0, 0.5, 0.99)], [1.0, 2.0, 3.0])
