"""Reviews: what they ask, whatever they hold, and what whoever applies an Ingress is told."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.admission.review import (
    MILD,
    MOST_BYTES,
    MOST_CHARACTERS,
    AdmissionRequest,
    ReviewRefusedError,
    answer,
    read_review,
    told,
    warnings_of,
)
from ingress.ctl.lint.finding import Level
from ingress.ctl.lint.rules import RULES
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.stepwise import finished
from tests.admission.asking import RESOURCE, UID, ingress, review
from tests.fakes.counting import longest_step


def problem(message: str, field: str = "spec", reason: Reason = Reason.SERVICE_NOT_FOUND) -> Problem:
    """Return a problem of the Ingress ``demo/web``."""
    return Problem("Ingress", "demo", "web", reason, message, field)


class ReadingTests(SynchronousTestCase):
    """What is asked."""

    def test_ingress(self) -> None:
        """The Ingress is the object as it is to be, under the namespace of the request and its own name."""
        found = ingress()
        self.assertEqual(read_review(review(found)), AdmissionRequest(UID, "demo", "web", found))
        self.assertEqual(read_review(review(found, "UPDATE")), AdmissionRequest(UID, "demo", "web", found))

    def test_generated_name(self) -> None:
        """One that the API server is to name goes by the beginning of its name."""
        found = ingress(metadata={"name": None, "generateName": "web-"})
        self.assertEqual(read_review(review(found, name="")).name, "web-")

    def test_nothing_to_judge(self) -> None:
        """What is deleted, connected to, of another kind or version, or a part of an object, is let through."""
        for given_review in (
            review(None, "DELETE", oldObject=ingress()),
            review(ingress(), "CONNECT"),
            review(ingress(), resource={**RESOURCE, "resource": "services"}),
            review(ingress(), resource={**RESOURCE, "version": "v1beta1"}),
            review(ingress(), resource={**RESOURCE, "group": "extensions"}),
            review(ingress(), "UPDATE", subResource="status"),
            review(None),
            review([1]),
            review({"metadata": 1}, name="", namespace=""),
        ):
            self.assertEqual(read_review(given_review), AdmissionRequest(UID))

    def test_no_review(self) -> None:
        """What has no uid, or is something else, cannot be answered, and one line says so."""
        good = review(ingress())
        refused: tuple[Any, ...] = (
            None,
            1,
            [],
            {},
            {**good, "kind": "Review"},
            {**good, "apiVersion": "admission.k8s.io/v1beta1"},
            {**good, "request": None},
            {**good, "request": [good["request"]]},
            review(ingress(), uid=""),
            review(ingress(), uid=7),
            review(ingress(), uid="a\nb"),
            review(ingress(), uid="a" * 129),
        )
        for wrong in refused:
            with self.assertRaises(ReviewRefusedError) as caught:
                read_review(wrong)
            self.assertNotIn("\n", str(caught.exception))

    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda some: st.lists(some, max_size=2) | st.dictionaries(st.text(max_size=3), some, max_size=2),
        max_leaves=4,
    )

    @given(
        st.dictionaries(
            st.sampled_from(
                ["uid", "operation", "resource", "subResource", "namespace", "name", "object", "kind"]
            ),
            anything,
        ),
        st.dictionaries(st.sampled_from(["metadata", "spec", "kind"]), anything),
    )
    def test_wrong_types(self, request: dict[str, Any], object_: dict[str, Any]) -> None:
        """Whatever stands where, there is an answer or a refusal."""
        for one in (
            review(ingress(), **request),
            review(object_, **request),
            review({**ingress(), **object_}),
        ):
            try:
                asked = read_review(one)
            except ReviewRefusedError:
                continue
            self.assertIsInstance(asked, AdmissionRequest)

    def test_answer(self) -> None:
        """The answer is a review with the uid of the request, which allows it."""
        expected: dict[str, Any] = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {"uid": UID, "allowed": True},
        }
        self.assertEqual(json.loads(answer(UID)), expected)
        expected["response"]["warnings"] = ["a", "b"]
        self.assertEqual(json.loads(answer(UID, ("a", "b"))), expected)


class WarningTests(SynchronousTestCase):
    """What is told."""

    def test_line(self) -> None:
        """A warning says who warns, where it is, what is wrong, and under which name the documents have it."""
        self.assertEqual(
            warnings_of([problem("there is no Service demo/web", "spec.rules[0]")]),
            ("txingress: spec.rules[0]: there is no Service demo/web (ServiceNotFound)",),
        )
        self.assertEqual(warnings_of([problem("a", "")]), ("txingress: a (ServiceNotFound)",))

    def test_annotation(self) -> None:
        """An annotation is named once: by the message where that begins with it, else by the field."""
        field = "metadata.annotations[nginx.ingress.kubernetes.io/limit-rps]"
        self.assertEqual(
            warnings_of([problem("limit-rps: no number", field), problem("no number", field)]),
            (
                "txingress: limit-rps: no number (ServiceNotFound)",
                f"txingress: {field}: no number (ServiceNotFound)",
            ),
        )

    def test_long_line(self) -> None:
        """One that is too long is cut, and keeps its reason."""
        for text in ("a" * 1000, "é" * 1000, "a" * 225):
            (warning,) = warnings_of([problem(text)])
            self.assertEqual(len(warning), MOST_CHARACTERS)
            self.assertTrue(warning.endswith("… (ServiceNotFound)"), warning)
        (warning,) = warnings_of([problem("a" * (MOST_CHARACTERS - 35))])
        self.assertEqual(len(warning), MOST_CHARACTERS)
        self.assertNotIn("…", warning)

    def test_control_characters(self) -> None:
        """An API server drops a warning with control characters, so there are none; nor are there halves of pairs."""
        (warning,) = warnings_of([problem("a\nb\x1b[31m\u202e\ud800c")])
        self.assertEqual(warning, "txingress: spec: a b [31m  c (ServiceNotFound)")

    @given(st.lists(st.text(max_size=300), max_size=60))
    def test_room(self, messages: list[str]) -> None:
        """There are no more than an API server takes, and what is left out is counted."""
        problems = [problem(message) for message in messages]
        warnings = warnings_of(problems)
        self.assertLessEqual(sum(len(one.encode()) for one in warnings), MOST_BYTES)
        self.assertTrue(all(len(one) <= MOST_CHARACTERS for one in warnings))
        if len(warnings) < len(problems) or (warnings and " more, which" in warnings[-1]):
            left_out = int(warnings[-1].split()[2])
            self.assertEqual(len(warnings) - 1 + left_out, len(problems))
        else:
            self.assertEqual(len(warnings), len(problems))

    def test_worst_first(self) -> None:
        """What lint calls errors comes before what it calls warnings; notes, and what is the operator's, are not told."""
        mild = problem("a", reason=Reason.UNKNOWN_ANNOTATION)
        bad = [problem("z"), problem("b", reason=Reason.PATH_CONFLICT)]
        others = [
            problem("a", reason=Reason.ANNOTATION_NOTE),
            Problem("Secret", "demo", "a", Reason.SECRET_FORBIDDEN, "no right"),
        ]
        self.assertEqual(finished(told([mild, *others, *bad])), [bad[1], bad[0], mild])

    def test_many(self) -> None:
        """However many there are, requests wait for a part of the sorting alone."""
        problems = [problem(f"number {number % 7}", f"spec.tls[{number}]") for number in range(5000)]
        self.assertLess(longest_step(told(problems)), 5000)
        found = finished(told(problems))
        self.assertEqual([one.message for one in found], sorted(one.message for one in problems))

    def test_mild(self) -> None:
        """What is told last is what lint calls a warning."""
        of_ingresses = [one for one in MILD if RULES[one].level is not Level.WARNING]
        self.assertEqual(of_ingresses, [])
        for reason in Reason:
            if RULES[reason].level is Level.ERROR:
                self.assertNotIn(reason, MILD)
