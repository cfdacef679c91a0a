"""The projection of an Ingress in steps: the same as at once, and no step takes long."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.stepwise import Stepwise, finished
from ingress.object_fields import FieldReader, RawObject
from ingress.translate.readers.ingress.objects import Ingress
from ingress.translate.readers.ingress.projection import project_ingress, projecting_ingress
from tests.fakes.counting import longest_step

PREFIX = "nginx.ingress.kubernetes.io"
BACKEND = {"service": {"name": "web", "port": {"number": 80}}}
PATHS = [{"path": f"/{number}", "pathType": "Exact", "backend": BACKEND} for number in range(3000)]
WRONG: list[Any] = [7, {"path": 7}]


class IngressStepTests(SynchronousTestCase):
    """Large Ingresses."""

    def check(self, spec: dict[str, Any], annotations: dict[str, Any]) -> None:
        """See that an Ingress is read alike both ways, in steps of which none makes many calls."""
        raw: RawObject = {"spec": spec}
        metadata: RawObject = {"annotations": annotations}
        at_once, stepwise = (FieldReader(Kind.INGRESS, ObjectKey("demo", "web")) for _ in range(2))
        expected = project_ingress(raw, metadata, at_once, PREFIX, False)
        self.assertIsNotNone(expected)
        self.assertEqual(finished(projecting_ingress(raw, metadata, stepwise, PREFIX, False)), expected)
        self.assertEqual(stepwise.problems, at_once.problems)

        def steps() -> Stepwise[Ingress | None]:
            reader = FieldReader(Kind.INGRESS, ObjectKey("demo", "web"))
            return (yield from projecting_ingress(raw, metadata, reader, PREFIX, False))

        taken: Any = steps()
        self.assertLess(longest_step(taken), 4000)

    def test_paths(self) -> None:
        """One with thousands of paths, of which some cannot be read."""
        self.check({"rules": [{"host": "a.test", "http": {"paths": [*PATHS, *WRONG]}}]}, {})

    def test_rules(self) -> None:
        """One with thousands of rules, and of entries of ``tls``."""
        rules = [{"host": f"a{number}.test", "http": {"paths": PATHS[:1]}} for number in range(2000)]
        tls = [{"hosts": [f"a{number}.test"], "secretName": "a"} for number in range(2000)]
        self.check({"rules": [*rules, 7], "tls": [*tls, {"hosts": 7}]}, {})

    def test_annotations(self) -> None:
        """One with thousands of annotations."""
        annotations = {f"{PREFIX}/a{number}": "b" for number in range(2000)}
        self.check({"rules": [{"host": "a.test"}]}, {**annotations, f"{PREFIX}/wrong": 7})
