"""Tests of the projection of any object at all: nothing raises, and what is kept is bounded."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import KINDS
from ingress.cluster.projecting.project import project
from ingress.translate.readers.gateway.projection.parts import MOST_PROBLEMS
from tests.properties import examples
from tests.translate.readers.gateway.projection.raw_gateway_objects import PREFIX, raw_object

GATEWAY_KINDS = sorted(kind for kind, read in KINDS.items() if read.definition)

# The words of the API, so that what is found is more than an empty object.
WORDS = [
    "parentRefs",
    "hostnames",
    "rules",
    "matches",
    "path",
    "type",
    "value",
    "headers",
    "queryParams",
    "method",
    "name",
    "filters",
    "backendRefs",
    "weight",
    "port",
    "group",
    "kind",
    "namespace",
    "sectionName",
    "timeouts",
    "request",
    "retry",
    "codes",
    "urlRewrite",
    "hostname",
    "cors",
    "requestMirror",
    "backendRef",
    "percent",
    "fraction",
    "numerator",
    "listeners",
    "protocol",
    "tls",
    "certificateRefs",
    "allowedRoutes",
    "namespaces",
    "from",
    "selector",
    "matchLabels",
    "matchExpressions",
    "key",
    "operator",
    "values",
    "addresses",
    "infrastructure",
    "frontend",
    "default",
    "perPort",
    "validation",
    "caCertificateRefs",
    "targetRefs",
    "subjectAltNames",
    "to",
    "parentRef",
    "gatewayClassName",
    "controllerName",
    "requestRedirect",
    "set",
    "add",
]
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(
        ["Exact", "Selector", "HTTPS", "URLRewrite", "CORS", "RequestMirror", "RequestRedirect", "x" * 9999]
    ),
)
anything = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(WORDS), inner, max_size=6)
    ),
    max_leaves=40,
)
specs = st.dictionaries(st.sampled_from(WORDS), anything, max_size=8)


class HostileTests(SynchronousTestCase):
    """Objects that no API server would take."""

    @settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(GATEWAY_KINDS), st.one_of(specs, anything))
    def test_anything(self, kind: Any, spec: object) -> None:
        """Whatever stands in an object, a value that can be hashed comes of it, or problems that can be printed."""
        found = project(KINDS[kind], raw_object(kind, spec), PREFIX)[1]
        self.assertTrue(found.value is not None or found.problems)
        hash(found.value)
        self.assertLessEqual(len(found.problems), MOST_PROBLEMS + 1)
        for problem in found.problems:
            self.assertTrue(f"{problem.field}: {problem.message}".isprintable())

    def test_deep(self) -> None:
        """What stands too deep to be walked is not walked."""
        deep: Any = {}
        for _ in range(100_000):
            deep = {"rules": [deep], "listeners": [deep], "matches": deep}
        for kind in GATEWAY_KINDS:
            found = project(KINDS[kind], raw_object(kind, deep), PREFIX)[1]
            self.assertLessEqual(len(found.problems), MOST_PROBLEMS + 1)

    def test_five_thousand_rules(self) -> None:
        """A route of five thousand rules is kept, for its reader to say what becomes of it."""
        kind = next(kind for kind in GATEWAY_KINDS if kind == "HTTPRoute")
        spec = {"rules": [{"matches": [{"path": {"value": f"/{number}"}}]} for number in range(5000)]}
        value: Any = project(KINDS[kind], raw_object(kind, spec), PREFIX)[1].value
        self.assertEqual(len(value.rules), 5000)
