"""The firewall before a route, with an inspector that says what a test has it say."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.firewall.filters import TICKET, InspectRequests, inspector_of
from ingress.filters import Filter, Reply, Scope
from ingress.model.exchanges.firewall import (
    INSPECTOR,
    PASSES,
    InspectedAnswer,
    InspectedRequest,
    Loaded,
    RuleSet,
    Verdict,
)
from ingress.model.requests.templates import read_template
from tests.fakes.filter_parts import FakeFacts, FakeServices

BLOCKING = RuleSet(("x",), blocks=True, body_bytes=8, watches_answers=True)
DETECTING = RuleSet(("x",), body_bytes=8, watches_answers=True)


class FakeInspector:
    """Judges as it is told."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self.requests: list[InspectedRequest] = []

    def load(self, rules: RuleSet) -> Any:
        """Have nothing to load."""
        return rules

    def inspect(self, loaded: Loaded, request: InspectedRequest) -> Awaitable[Verdict]:
        """Judge a request."""
        self.requests.append(request)
        return succeed(self.verdict)


class FilterTests(SynchronousTestCase):
    def made(self, rules: RuleSet, verdict: Verdict = PASSES, named: str = "") -> Filter:
        """Return a filter, and keep its inspector and its services."""
        self.inspector = FakeInspector(verdict)
        self.services = FakeServices()
        self.services.state(Scope.WORKER, INSPECTOR, lambda: self.inspector)
        return InspectRequests(rules, read_template(named) if named else None).make(self.services)

    def reply(self, live: Filter, facts: FakeFacts) -> Reply | None:
        """Return what is answered."""
        return self.successResultOf(Deferred.fromCoroutine(live.on_request(facts)))  # type: ignore[arg-type]

    def test_what_is_seen(self) -> None:
        """The request as it came: its target, its host, its fields, what it says of others, and its body up to one byte more than there may be."""
        live = self.made(BLOCKING, named="tx-$request_method")
        self.assertEqual(live.holds_body, 9)
        facts = FakeFacts(
            method=b"POST",
            target=b"/a?b=%27",
            fields={b"user-agent": b"x", b"x-forwarded-for": b"1.2.3.4"},
            body=b"0123456789",
            is_body_whole=False,
        )
        self.assertIsNone(self.reply(live, facts))
        (seen,) = self.inspector.requests
        self.assertEqual(
            (seen.id, seen.method, seen.target, seen.body), (b"tx-POST", b"POST", b"/a?b=%27", b"012345678")
        )
        self.assertIn(b"Host: ", seen.lines)
        self.assertIn(b"x-forwarded-for: 1.2.3.4\r\n", seen.lines)
        self.assertIn(b"Transfer-Encoding: chunked\r\n", seen.lines)
        self.assertTrue(seen.stays)

    def test_verdicts(self) -> None:
        """A status refuses, with where to go if that is said; nothing lets pass, and what was detected is counted."""
        for verdict, status, counted in (
            (Verdict(), None, []),
            (Verdict(matched=2), None, ["detected"]),
            (Verdict(403, matched=1), 403, ["blocked"]),
            (Verdict(302, b"https://a.test/"), 302, ["blocked"]),
        ):
            reply = self.reply(self.made(BLOCKING, verdict), FakeFacts())
            self.assertEqual(None if reply is None else reply.status, status)
            self.assertEqual(self.services.counted, counted)
        assert reply is not None
        self.assertIn((b"Location", b"https://a.test/"), reply.fields)
        self.assertIn("firewall", reply.reason)

    def test_where_a_redirect_leads(self) -> None:
        """What is no field of an answer is left out, and nobody gets through by that."""
        for location in (b"https://a.test/\r\nSet-Cookie: a=b", b"/\xe9", b"/a b"):
            reply = self.reply(self.made(BLOCKING, Verdict(302, location)), FakeFacts())
            assert reply is not None
            self.assertEqual((reply.status, [name for name, _ in reply.fields]), (302, [b"Content-Type"]))

    def test_failures(self) -> None:
        """Where nobody judged, rules that refuse keep everybody out, and rules that detect let pass."""
        failed = Verdict(failure="had a process that ended")
        reply = self.reply(self.made(BLOCKING, failed), FakeFacts())
        assert reply is not None
        self.assertEqual((reply.status, reply.reason), (503, "the firewall had a process that ended"))
        self.assertIsNone(self.reply(self.made(DETECTING, failed), FakeFacts()))
        self.assertEqual(self.services.counted, ["failed"])

    def test_what_its_answer_is_inspected_by(self) -> None:
        """A request that passes, and whose answer is waited for, has the ticket for that."""
        live, facts = self.made(BLOCKING, Verdict(ticket=7)), FakeFacts()
        self.assertIsNone(self.reply(live, facts))
        self.assertEqual(facts.notes, {TICKET: 7})

    def test_where_nothing_runs(self) -> None:
        """Whoever only asks what would be done hears that something is computed, and nothing is opened by it."""
        reply = self.reply(InspectRequests(BLOCKING).make(FakeServices()), FakeFacts())
        assert reply is not None
        self.assertEqual(reply.reason, "the firewall is not there")
        failures: list[str] = []
        answer = InspectedAnswer(7, 200, b"")
        inspector_of(FakeServices()).report_answer(answer, lambda verdict: failures.append(verdict.failure))
        self.assertEqual(failures, ["is not there"])
