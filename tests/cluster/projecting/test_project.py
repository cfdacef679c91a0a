"""Raw objects become values; what cannot be read costs as little as it safely can."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import KINDS
from ingress.cluster.projecting.project import project
from ingress.model.cluster.objects import (
    Kind,
    ObjectKey,
    Projection,
)
from ingress.model.cluster.problems import Reason
from ingress.translate.readers.ingress.objects import (
    IngressClass,
)
from tests.cluster.projecting.raw_objects import GOOD, PREFIX, faults, good
from tests.properties import examples


class KeyTests(SynchronousTestCase):
    """Objects that do not say who they are."""

    def test_no_object(self) -> None:
        """What is no object at all gives a problem and no key."""
        values: tuple[object, ...] = (None, [], "x", 5, True, 1.5)
        for raw in values:
            key, projection = project(KINDS[Kind.SERVICE], raw, PREFIX)
            self.assertIsNone(key)
            self.assertIsNone(projection.value)
            self.assertEqual([problem.kind for problem in projection.problems], ["Service"])

    def test_bad_names(self) -> None:
        """An object without a usable name or namespace is malformed as a whole."""
        for field in ("name", "namespace"):
            for value in (None, "", 5, ["x"], "a\x00b", "a b", "a/b", "x" * 254, "\ud800"):
                raw = good(Kind.SERVICE)
                raw["metadata"][field] = value
                key, projection = project(KINDS[Kind.SERVICE], raw, PREFIX)
                self.assertIsNone(key)
                self.assertIsNone(projection.value)
                self.assertEqual([problem.field for problem in projection.problems], [f"metadata.{field}"])
                self.assertEqual(projection.problems[0].reason, Reason.MALFORMED_OBJECT)

    def test_no_kind_of_the_cluster(self) -> None:
        """Manifests and watches are no cluster objects, so that none is projected as one."""
        self.assertNotIn(Kind.MANIFEST, KINDS)
        self.assertNotIn(Kind.WATCH, KINDS)
        self.assertIsNone(KINDS.written_as("v1", "Watch"))

    def test_bad_metadata(self) -> None:
        """Metadata of another type is named."""
        key, projection = project(KINDS[Kind.SERVICE], {"metadata": []}, PREFIX)
        self.assertIsNone(key)
        self.assertEqual(faults(projection), {"metadata": "must be an object, but is a list"})

    def test_cluster_scoped(self) -> None:
        """An IngressClass has no namespace, whatever its metadata say."""
        raw = good(Kind.INGRESS_CLASS)
        raw["metadata"]["namespace"] = "web"
        key, projection = project(KINDS[Kind.INGRESS_CLASS], raw, PREFIX)
        self.assertEqual(key, ObjectKey("", "nginx"))
        expected = IngressClass(ObjectKey("", "nginx"), "k8s.io/ingress-nginx", is_default=True)
        self.assertEqual(projection, Projection(expected))

    def test_kinds(self) -> None:
        """The kinds that are read are known by version and name, and no others."""
        self.assertIs(KINDS.written_as("networking.k8s.io/v1", "Ingress"), KINDS[Kind.INGRESS])
        self.assertIs(KINDS.written_as("extensions/v1beta1", "Ingress"), KINDS[Kind.INGRESS])
        self.assertIs(
            KINDS.written_as("networking.k8s.io/v1beta1", "IngressClass"), KINDS[Kind.INGRESS_CLASS]
        )
        self.assertIs(
            KINDS.written_as("discovery.k8s.io/v1beta1", "EndpointSlice"), KINDS[Kind.ENDPOINT_SLICE]
        )
        self.assertIs(KINDS.written_as("v1", "Service"), KINDS[Kind.SERVICE])
        self.assertIs(KINDS.written_as("v1", "Secret"), KINDS[Kind.SECRET])
        self.assertIsNone(KINDS.written_as("serving.knative.dev/v1", "Service"))
        self.assertIsNone(KINDS.written_as("apps/v1", "Deployment"))
        self.assertIsNone(KINDS.written_as("v1", "Manifest"))


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["a", "\x00", "\ud800", "x" * 5000, 10**4000, "80"]),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=4), children, max_size=3)
    ),
    max_leaves=6,
)


def places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all values inside *value*."""
    found: list[tuple[str | int, ...]] = [path] if path else []
    if isinstance(value, dict):
        for name, child in value.items():
            found += places(child, (*path, name))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            found += places(child, (*path, index))
    return found


class TotalityTests(SynchronousTestCase):
    """Whatever a decoder gives, ``project`` gives a value or a problem."""

    def check(self, kind: Kind, raw: object) -> None:
        """Project *raw*; what comes out can be shown, and nothing is lost in silence."""
        key, projection = project(KINDS[kind], raw, PREFIX)
        for problem in projection.problems:
            str(problem).encode()
            self.assertTrue(problem.message)
        if key is None:
            self.assertIsNone(projection.value)
            self.assertTrue(projection.problems)
        if projection.value is not None:
            self.assertEqual(projection.value.key, key)
            repr(projection.value).encode()

    @settings(deadline=None, max_examples=examples(200), derandomize=True)
    @given(st.sampled_from(sorted(KINDS)), json_values)
    def test_any_value(self, kind: Kind, raw: object) -> None:
        """Any JSON value is projected."""
        self.check(kind, raw)

    @settings(deadline=None, max_examples=examples(500), derandomize=True)
    @given(st.data())
    def test_any_change(self, data: st.DataObject) -> None:
        """A good object with any value put in any one place is projected."""
        kind = data.draw(st.sampled_from(sorted(GOOD)))
        raw = good(kind)
        *way, last = data.draw(st.sampled_from(places(raw)))
        target: Any = raw
        for step in way:
            target = target[step]
        target[last] = data.draw(json_values)
        if data.draw(st.booleans()):
            raw["apiVersion"] = "networking.k8s.io/v1beta1"
        self.check(kind, raw)
