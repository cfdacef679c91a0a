"""Tests for ``ingress.status.event_objects``: what an Event says, and that the API takes it."""

from datetime import UTC, datetime
from typing import Any

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import Kind
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.reporting.reports import Event
from ingress.status.event_objects import event_key, event_object, shortened
from ingress.translate.reports import event_of
from tests.fakes.apiserver.kinds import KindTable
from tests.fakes.apiserver.validation import check_written

NOW = datetime(2026, 11, 20, 12, 0, 0, 5, UTC)
PROBLEM = Problem("Ingress", "shop", "web", Reason.SERVICE_NOT_FOUND, "there is no Service", "spec.rules[0]")
EVENT = KindTable().named("Event")


def told(problem: Problem, uid: str = "u-1") -> Event:
    """What is told of a problem."""
    event = event_of(problem, uid)
    assert event is not None, "a matter of the operator"
    return event


def made(problem: Problem = PROBLEM, uid: str = "u-1", instance: str = "pod_1") -> dict[str, Any]:
    """The Event, which the API would take."""
    event = event_object(told(problem, uid), instance, NOW)
    check_written(EVENT, event, is_new=True, is_status=False)
    return event


class EventTests(SynchronousTestCase):
    """What an Event says."""

    def test_event(self) -> None:
        """It says what is wrong with which object, where, since when, and who found out."""
        event = made()
        name = event.pop("metadata")["name"]
        self.assertRegex(name, r"\Aweb\.[0-9a-f]{16}\Z")
        self.assertEqual(
            event,
            {
                "apiVersion": "events.k8s.io/v1",
                "kind": "Event",
                "eventTime": "2026-11-20T12:00:00.000005Z",
                "type": "Warning",
                "reason": "ServiceNotFound",
                "action": "Translate",
                "note": "spec.rules[0]: there is no Service",
                "reportingController": "txingress",
                "reportingInstance": "pod_1",
                "regarding": {
                    "apiVersion": "networking.k8s.io/v1",
                    "kind": "Ingress",
                    "namespace": "shop",
                    "name": "web",
                    "uid": "u-1",
                    "fieldPath": "spec.rules[0]",
                },
            },
        )

    def test_kinds(self) -> None:
        """Each kind has its version; an object of no namespace has its Events in the default one."""
        versions = {
            Kind.INGRESS_CLASS: "networking.k8s.io/v1",
            Kind.SECRET: "v1",
            Kind.SERVICE: "v1",
            Kind.ENDPOINT_SLICE: "discovery.k8s.io/v1",
        }
        for kind, version in versions.items():
            self.assertEqual(made(evolve(PROBLEM, kind=kind))["regarding"]["apiVersion"], version)
        event = made(evolve(PROBLEM, kind="IngressClass", namespace=""))
        self.assertEqual(event["metadata"]["namespace"], "default")
        self.assertNotIn("namespace", event["regarding"])

    def test_object_that_is_not_there(self) -> None:
        """A problem of an object that does not exist has no uid."""
        self.assertNotIn("uid", made(uid="")["regarding"])

    def test_name(self) -> None:
        """The name depends on the object, its uid, the reason, the field and the message, and on nothing else."""
        keys = {
            event_key(told(PROBLEM, "u-1")),
            event_key(told(PROBLEM, "u-2")),
            event_key(told(evolve(PROBLEM, kind="Secret"), "u-1")),
            event_key(told(evolve(PROBLEM, namespace="blog"), "u-1")),
            event_key(told(evolve(PROBLEM, name="web2"), "u-1")),
            event_key(told(evolve(PROBLEM, reason=Reason.INVALID_HOST), "u-1")),
            event_key(told(evolve(PROBLEM, field="spec"), "u-1")),
            event_key(told(evolve(PROBLEM, message="no"), "u-1")),
        }
        self.assertEqual(len(keys), 8)
        other = event_object(told(PROBLEM), "another pod", NOW.replace(year=2027))
        self.assertEqual(other["metadata"], made()["metadata"])

    def test_long_names(self) -> None:
        """The longest name of an object, and one that is none, give a name that the API takes."""
        for name in ("a" * 253, "a" * 199 + "." + "b" * 53, "Not_A_Name", "-", ""):
            made(evolve(PROBLEM, name=name))

    def test_long_texts(self) -> None:
        """What is too long is cut between characters, and says so."""
        event = made(evolve(PROBLEM, message="ü" * 2000), instance="ß" * 100)
        self.assertTrue(event["note"].endswith("ü..."))
        self.assertLessEqual(len(event["note"].encode()), 1024)
        self.assertLessEqual(len(event["reportingInstance"].encode()), 128)

    def test_every_reason(self) -> None:
        """Every reason is one that the API takes; for notes, and what only the operator can mend, there is no Event."""
        for reason in Reason:
            problem = evolve(PROBLEM, reason=reason)
            if problem.is_the_operators or problem.is_note:
                self.assertIsNone(event_of(problem, "u-1"))
            else:
                self.assertEqual(made(problem)["reason"], reason.value)

    @given(st.text(), st.text(), st.text(), st.integers(3, 40))
    def test_any_text(self, name: str, message: str, field: str, limit: int) -> None:
        """Whatever somebody wrote, the Event is one that the API takes."""
        made(evolve(PROBLEM, name=name, message=message, field=field))
        self.assertLessEqual(len(shortened(message, limit).encode()), limit)

    def test_half_a_character(self) -> None:
        """Text that is no Unicode is no obstacle."""
        self.assertEqual(made(evolve(PROBLEM, field="", message="a\ud800b"))["note"], "a?b")
