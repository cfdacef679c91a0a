"""What the webhook judges: Ingresses of the namespaces that are read, where Ingresses are served at all."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.admission.review import MOST_BYTES, AdmissionRequest, read_review, told, warnings_of
from ingress.admission.webhook import Judged
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.stepwise import finished
from ingress.settings import Settings, translate_options
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.kinds import GATEWAY_API
from ingress.translate.readers.route_kinds import ROUTE_KINDS
from tests.admission.asking import ingress, review
from tests.admission.test_judging import knows_all, state_of
from tests.translate.following import NOW, SERVICE

NAMES = ("auth-secret", "server-alias", "proxy-ssl-secret", "limit-rps", "use-regex", "canary", "nothing")

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
    | st.sampled_from(["*.example.com", "a.example.com", "/(a|b)", "Exact", "nginx", "true"]),
    lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text(max_size=3), some, max_size=3),
    max_leaves=5,
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each place in *value*, as a container and the name or number in it."""
    if isinstance(value, dict | list):
        for name in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, name
            yield from places(value[name])


class PortTests(SynchronousTestCase):
    """The port is one of the controller's own."""

    def test_own(self) -> None:
        """No endpoint of a tenant leads there, and no Gateway or TCP service gets it."""
        asked = Settings(admission="tcp:8443")
        self.assertIn("tcp:8443", asked.listeners)
        self.assertEqual(translate_options(asked).gateway.own_ports, (10254, 8443))
        self.assertNotIn("8443", " ".join(Settings().listeners))


class JudgedTests(SynchronousTestCase):
    """``Judged``."""

    def setUp(self) -> None:
        self.judged = Judged(
            lambda: state_of(SERVICE),
            TranslateOptions,
            lambda: NOW,
            knows_all,
            ROUTE_KINDS,
            lambda name: True,
        )

    def problems(self, raw: dict[str, Any], judged: Judged | None = None) -> Sequence[Problem] | None:
        """Return the problems of *raw*."""
        return finished((judged or self.judged).problems(AdmissionRequest("u", "demo", "web", raw)))

    def test_problems(self) -> None:
        """What is wrong with the shape, and what is wrong in the cluster, is told together."""
        found = self.problems(ingress(service="gone", tls=[7])) or ()
        self.assertEqual({one.reason for one in found}, {Reason.MALFORMED_OBJECT, Reason.SERVICE_NOT_FOUND})
        self.assertEqual(list(self.problems(ingress()) or ()), [])

    def test_unusable(self) -> None:
        """One that cannot be read at all is told why."""
        (problem,) = self.problems(ingress(ingressClassName=7)) or ()
        self.assertEqual(problem.field, "spec.ingressClassName")

    @settings(deadline=None)
    @given(st.data())
    def test_wrong_types(self, data: st.DataObject) -> None:
        """Whatever stands where anything else should, there is an answer."""
        raw: Any = ingress(
            tls=[{"hosts": ["a.example.com"], "secretName": "a"}],
            defaultBackend={"service": {"name": "web", "port": {"name": "http"}}},
            metadata={"annotations": {f"nginx.ingress.kubernetes.io/{name}": "a" for name in NAMES}},
        )
        for _ in range(data.draw(st.integers(1, 3))):
            place = data.draw(st.sampled_from(list(places(raw))))
            container, name = place
            container[name] = data.draw(anything)
        document: Any = json.loads(json.dumps(review(raw)))
        asked = read_review(document)
        if asked.ingress is not None:
            problems = finished(self.judged.problems(asked)) or ()
            self.assertLessEqual(len("".join(warnings_of(finished(told(problems)))).encode()), MOST_BYTES)

    def test_other_namespaces(self) -> None:
        """One of a namespace that is not read is none of ours."""
        wrong = ingress(service="gone")
        self.assertIsNone(self.problems(wrong, evolve(self.judged, reads=("shop",).__contains__)))
        self.assertTrue(self.problems(wrong, evolve(self.judged, reads=("shop", "demo").__contains__)))

    def test_other_kinds(self) -> None:
        """Without Ingresses among the kinds that are served, nothing is judged."""
        self.assertIsNone(self.problems(ingress(), evolve(self.judged, kinds=GATEWAY_API)))
