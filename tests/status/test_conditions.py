"""Tests for kinds whose status has conditions: what is written of problems, over real HTTP and by itself."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import orjson
from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.api_client import ApiConnection
from ingress.cluster.projecting.object_meta import meta_of
from ingress.cluster.store import Changes
from ingress.metrics.series.status import StatusMetrics
from ingress.model.cluster.object_meta import Condition, ObjectMeta, SeenStatus
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.reporting.reporting import Reporting
from ingress.model.reporting.reports import Report, StatusDocument
from ingress.model.reporting.writes import KindWrite, StatusField
from ingress.status.reporting import ClusterReporting
from ingress.status.status_patches import StatusPatch, patch_for
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.route_kinds import REPORTED_KINDS
from ingress.translate.reports import (
    MOST_MESSAGE_CHARACTERS,
    ConditionRule,
    ReportedKind,
    conditions_of,
)
from tests.cluster.api_server_case import PATIENCE_SECONDS, ApiServerTestCase, in_thread, reactor
from tests.fakes.apiserver.faults import Answer
from tests.fakes.apiserver.kinds import KINDS, KindTable, ResourceType
from tests.status.test_reporting import TTL_SECONDS, refusals_said

ROUTE = Kind("TestRoute")
RULES = (
    ConditionRule("Accepted", "Accepted", {Reason.INVALID_HOST: "NoMatchingListenerHostname"}),
    ConditionRule(
        "ResolvedRefs",
        "ResolvedRefs",
        {
            Reason.EXTERNAL_NAME_FORBIDDEN: "RefNotPermitted",
            Reason.SERVICE_NOT_FOUND: "BackendNotFound",
            Reason.SERVICE_PORT_NOT_FOUND: "BackendNotFound",
        },
    ),
)
ROUTES = ReportedKind(
    ROUTE,
    "TestRoutes",
    "nobody sees what became of them",
    KindWrite("tests.example", "v1", "testroutes", ("patch",), "status"),
    StatusField.DOCUMENT,
    keys=lambda state: [key for kind, key in state.metas if kind == ROUTE],
    is_ours=lambda key, state, options: (
        not key.name.startswith("other") if (ROUTE, key) in state.metas else None
    ),
    conditions=RULES,
)
TEST_ROUTE = ResourceType(
    "tests.example", "v1", "testroutes", "TestRoute", has_status=True, has_generation=True
)
MISSING = Problem("TestRoute", "shop", "web", Reason.SERVICE_NOT_FOUND, "there is no Service", "spec.backend")


FIELDS = ("type", "status", "reason", "message", "observedGeneration", "lastTransitionTime")


def entry_of(condition: Condition) -> dict[str, Any]:
    return dict(zip(FIELDS, condition, strict=True))


def condition_of(entry: dict[str, Any]) -> Condition:
    return Condition(*(entry[name] for name in FIELDS))


def now() -> datetime:
    return datetime.now(UTC)


class RouteCase(ApiServerTestCase):
    """A leader beside an API server that serves a kind of the tests' own."""

    kinds = KindTable((*KINDS, TEST_ROUTE))

    async def start(self) -> None:
        """Start a leader."""
        self.state = ClusterState(metas={})
        access = self.access()
        await in_thread(access.load)
        self.reporting = ClusterReporting(
            reactor,
            lambda: ApiConnection(access),
            Reporting(election_ttl_seconds=TTL_SECONDS),
            TranslateOptions(),
            lambda: self.state,
            lambda: "ours",
            "a",
            StatusMetrics(),
            now=now,
            random=random.random,
            kinds=(*REPORTED_KINDS, ROUTES),
        )
        self.addCleanup(lambda: Deferred.fromCoroutine(self.stop()))
        self.reporting.start()
        await self.until(lambda: self.reporting.picture()["leading"])

    async def stop(self) -> None:
        await self.reporting.stop()

    async def until(self, condition: Any) -> None:
        """Wait until something holds, with a bound."""
        deadline = reactor.seconds() + PATIENCE_SECONDS
        while not condition():
            if reactor.seconds() > deadline:
                self.fail("waited in vain")
            await deferLater(reactor, 0.01)

    def route(self, name: str = "web", **spec: Any) -> dict[str, Any]:
        return {
            "apiVersion": "tests.example/v1",
            "kind": "TestRoute",
            "metadata": {"name": name, "namespace": "shop"},
            "spec": spec,
        }

    def watch(self, name: str = "web") -> ObjectId:
        """Learn of an object what a watch would show."""
        object_id = (ROUTE, ObjectKey("shop", name))
        raw = self.server.get("TestRoute", name, "shop")
        metas = {**self.state.metas, object_id: meta_of(ROUTE, raw, raw["metadata"], ROUTES.field)}
        is_changed = metas != self.state.metas
        self.state = evolve(self.state, metas=metas)
        if is_changed:
            self.reporting.objects_changed(Changes(metas=(object_id,)))
        return object_id

    def change(
        self, name: str = "web", came: tuple[Problem, ...] = (), went: tuple[Problem, ...] = ()
    ) -> None:
        """Learn that an object changed, and what its translation comes to."""
        object_id = self.watch(name)
        self.reporting.objects_changed(Changes((object_id,)))
        self.reporting.problems_changed(came, went)
        self.reporting.translated([object_id], ())

    def conditions(self, name: str = "web") -> dict[str, tuple[str, str]]:
        """What the conditions of an object say, in short."""
        status = self.server.get("TestRoute", name, "shop").get("status") or {}
        return {one["type"]: (one["status"], one["reason"]) for one in status.get("conditions") or ()}

    async def until_conditions(self, **expected: tuple[str, str]) -> None:
        """Wait for conditions, while the watch goes on."""

        def look() -> bool:
            self.watch()
            return self.conditions() == expected

        await self.until(look)


class RouteTests(RouteCase):
    """A problem becomes a condition, and goes."""

    async def test_problem(self) -> None:
        """A problem is a condition that is false, beside its Event; when it is solved the condition is true."""
        await self.start()
        self.server.create(self.route())
        self.change(came=(MISSING,))
        await self.until_conditions(Accepted=("True", "Accepted"), ResolvedRefs=("False", "BackendNotFound"))
        (accepted, resolved) = self.server.get("TestRoute", "web", "shop")["status"]["conditions"]
        self.assertEqual(resolved["message"], "spec.backend: there is no Service")
        self.assertEqual((accepted["observedGeneration"], accepted["message"]), (1, ""))
        await self.until(lambda: self.server.list("Event"))
        self.assertEqual(self.server.list("Event")[0]["regarding"]["kind"], "TestRoute")
        self.reporting.problems_changed((), (MISSING,))
        await self.until_conditions(Accepted=("True", "Accepted"), ResolvedRefs=("True", "ResolvedRefs"))

    async def test_no_write_without_need(self) -> None:
        """What was written comes back by the watch, and is written once; another leader writes nothing."""
        await self.start()
        self.server.create(self.route())
        self.change()
        await self.until_conditions(Accepted=("True", "Accepted"), ResolvedRefs=("True", "ResolvedRefs"))
        self.change()
        await self.stop()
        state = self.state
        await self.start()
        self.state = state
        self.server.create(self.route("more"))
        self.change()
        self.change("more")
        await self.until(lambda: self.conditions("more"))
        self.assertEqual(
            [call.name for call in self.server.requests_of("patch", "testroutes")], ["web", "more"]
        )

    async def test_somebody_was_faster(self) -> None:
        """What another controller wrote meanwhile is not lost: the write is refused, and goes on from what there is."""
        await self.start()
        self.server.create(self.route())
        object_id = self.watch()
        stored = self.server.get("TestRoute", "web", "shop")
        theirs = {
            "type": "Theirs",
            "status": "True",
            "reason": "Fine",
            "message": "",
            "lastTransitionTime": "x",
        }
        self.server.replace({**stored, "status": {"conditions": [theirs]}})
        self.reporting.translated([object_id], ())
        self.reporting.problems_changed((MISSING,), ())
        await self.until(lambda: self.server.requests_of("patch", "testroutes"))
        self.reporting.problems_changed((), (MISSING,))
        await self.until_conditions(
            Theirs=("True", "Fine"), Accepted=("True", "Accepted"), ResolvedRefs=("True", "ResolvedRefs")
        )
        self.assertEqual(self.server.requests_of("patch", "testroutes")[0].status, 409)

    async def test_not_ours(self) -> None:
        """An object that is not ours gets no conditions."""
        await self.start()
        self.server.create(self.route("other"))
        self.server.create(self.route())
        self.change("other")
        self.change()
        await self.until(self.conditions)
        self.assertEqual(self.conditions("other"), {})

    async def test_waits_for_translation(self) -> None:
        """Nothing is said about an object as it is now before it was translated as it is now."""
        await self.start()
        self.server.create(self.route())
        object_id = self.watch()
        self.reporting.objects_changed(Changes((object_id,)))
        self.server.create(self.route("more"))
        self.change("more")
        await self.until(lambda: self.conditions("more"))
        self.reporting.translated([object_id], {object_id})
        await deferLater(reactor, 0.05)
        self.assertEqual(self.conditions(), {})
        self.reporting.translated([object_id], ())
        await self.until(self.conditions)

    async def test_missing_right(self) -> None:
        """Without the right to write this status that is said by its name, and Events are told all the same."""
        await self.start()
        self.server.faults.add(Answer(403), times=None, resource="testroutes", verb="patch")
        self.server.create(self.route())
        with capturedLogs() as events:
            self.change(came=(MISSING,))
            await self.until(lambda: self.server.requests_of("patch", "testroutes"))
            await self.until(lambda: self.server.list("Event"))
            await self.until(lambda: refusals_said(events))
        said = refusals_said(events)
        self.assertEqual(len(said), 1)
        self.assertIn("write the status of TestRoutes (testroutes/status: patch); nobody sees", said[0])


class PatchTests(SynchronousTestCase):
    """From conditions and what is shown to a patch."""

    NOW = datetime(2026, 11, 22, 7, 0, 0, tzinfo=UTC)
    SINCE = "2026-11-22T07:00:00Z"
    OWNER = (ROUTE, ObjectKey("shop", "web"))

    def patch_of(
        self,
        *shown: Condition,
        problems: tuple[Problem, ...] = (),
        is_ours: bool = True,
        was_ours: bool = False,
        writer: str = "",
        generation: int = 1,
    ) -> StatusPatch | None:
        report = Report(self.OWNER, is_ours, (), StatusDocument(conditions_of(RULES, problems)))
        text = orjson.dumps({"conditions": [entry_of(one) for one in shown]})
        meta = ObjectMeta("u", (), (), writer, SeenStatus(text, generation, "7"))
        return patch_for(
            report, StatusField.DOCUMENT, ROUTES.written, meta, "us", self.NOW, was_ours=was_ours
        )

    def conditions(self, *shown: Condition, **more: Any) -> Any:
        patch = self.patch_of(*shown, **more)
        assert patch is not None, "nothing to write"
        self.assertEqual(patch.body["metadata"], {"resourceVersion": "7"})
        return patch.body["status"]["conditions"]

    def shown(self, **more: Any) -> tuple[Condition, ...]:
        """What the API server shows after a write."""
        patch = self.patch_of(**more)
        assert patch is not None and patch.after.seen is not None and patch.after.seen.text, (
            "nothing to write"
        )
        return tuple(map(condition_of, orjson.loads(patch.after.seen.text)["conditions"]))

    def test_entry(self) -> None:
        """A condition has all that the API asks for."""
        self.assertEqual(
            self.conditions()[0],
            {
                "type": "Accepted",
                "status": "True",
                "reason": "Accepted",
                "message": "",
                "observedGeneration": 1,
                "lastTransitionTime": self.SINCE,
            },
        )

    def test_nothing_to_write(self) -> None:
        """What is shown already is not written, whatever the order."""
        self.assertIsNone(self.patch_of(*self.shown()))
        self.assertIsNone(self.patch_of(*reversed(self.shown())))

    def test_time_of_transition(self) -> None:
        """The time is that of the last change of the status, not of the words or of the generation."""
        before = [one._replace(since="2026-01-01T00:00:00Z") for one in self.shown()]
        times = {one["type"]: one["lastTransitionTime"] for one in self.conditions(*before, generation=2)}
        self.assertEqual(times, dict.fromkeys(("Accepted", "ResolvedRefs"), "2026-01-01T00:00:00Z"))
        changed = self.conditions(*before, problems=(MISSING,))
        self.assertEqual([one["lastTransitionTime"] for one in changed], ["2026-01-01T00:00:00Z", self.SINCE])

    def test_others(self) -> None:
        """Conditions of others stay, word for word."""
        theirs = Condition("Theirs", "Unknown", "Odd", "x", 3, "2026-01-01T00:00:00Z")
        self.assertEqual(
            self.conditions(theirs)[0],
            {
                "type": "Theirs",
                "status": "Unknown",
                "reason": "Odd",
                "message": "x",
                "observedGeneration": 3,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            },
        )

    def test_leaving(self) -> None:
        """What we wrote is removed when the object is ours no more, and what others wrote is not."""
        shown = self.shown()
        self.assertIsNone(self.conditions(*shown, is_ours=False, writer="us"))
        self.assertIsNone(self.conditions(*shown, is_ours=False, was_ours=True))
        self.assertIsNone(self.patch_of(*shown, is_ours=False))
        self.assertIsNone(self.patch_of(*shown, is_ours=False, was_ours=True, writer="them"))
        self.assertIsNone(self.patch_of(is_ours=False, writer="us"))

    def test_several_problems(self) -> None:
        """Of several problems the first in the order of the rule is the reason, and all are in the message."""
        forbidden = evolve(MISSING, reason=Reason.EXTERNAL_NAME_FORBIDDEN, message="no", field="")
        others = evolve(MISSING, reason=Reason.INVALID_PATH, message="another matter")
        _, resolved = conditions_of(RULES, (MISSING, others, forbidden))
        self.assertEqual(
            resolved,
            Condition("ResolvedRefs", "False", "RefNotPermitted", "no; spec.backend: there is no Service"),
        )

    def test_long_message(self) -> None:
        """A message is as long as the API allows at most."""
        _, resolved = conditions_of(RULES, (evolve(MISSING, message="x" * 100_000),))
        self.assertEqual(len(resolved.message), MOST_MESSAGE_CHARACTERS)
