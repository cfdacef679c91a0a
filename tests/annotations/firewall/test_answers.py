"""The firewall behind a route, with an inspector that says what a test has it say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from gzip import decompress
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.answers.compression import TYPES, Coding, Compression
from ingress.annotations.firewall.answers import (
    COPYING_SECONDS,
    FIRST_BYTES,
    MOST_OF_ONE,
    InspectAnswers,
    Room,
)
from ingress.annotations.firewall.filters import TICKET
from ingress.filters import Filter, MoreBody, Reply, Scope
from ingress.model.exchanges.firewall import (
    INSPECTOR,
    PASSES,
    InspectedAnswer,
    InspectedBodies,
    InspectedRequest,
    Loaded,
    RuleSet,
    Verdict,
)
from tests.fakes.filter_parts import FakeEdit, FakeFacts, FakeServices
from tests.fakes.records import record_of
from tests.fakes.specs import SpecOf
from tests.proxy.filter_case import FilterCase
from tests.proxy.playing import ONE

BODIES = InspectedBodies(8, ("text/html",))
BLOCKING = RuleSet(("x",), blocks=True, watches_answers=True, may_refuse=True, answer_bodies=BODIES)
TELLING = RuleSet(("x",), watches_answers=True, answer_bodies=BODIES)
HTML = (b"Content-Type", b"text/html; charset=utf-8")
GONE = Verdict(failure="lost the request to this answer, with one of its processes")


class FakeInspector:
    """Judges answers as it is told."""

    def __init__(self) -> None:
        self.verdict = PASSES
        self.waits: Deferred[Verdict] | None = None
        """What is awaited in its place."""
        self.answers: list[InspectedAnswer] = []
        self.told: list[Callable[[Verdict], object]] = []
        self.left: list[int] = []

    def load(self, rules: RuleSet) -> Any:
        """Have nothing to load."""
        return rules

    def inspect(self, loaded: Loaded, request: InspectedRequest) -> Awaitable[Verdict]:
        """Let requests pass."""
        return succeed(Verdict(ticket=7))

    def inspect_answer(self, answer: InspectedAnswer) -> Awaitable[Verdict]:
        """Judge an answer."""
        self.answers.append(answer)
        return succeed(self.verdict) if self.waits is None else self.waits

    def report_answer(self, answer: InspectedAnswer, then: Callable[[Verdict], object]) -> None:
        """Judge one later."""
        self.answers.append(answer)
        self.told.append(then)

    def leave(self, ticket: int) -> None:
        """Be left."""
        self.left.append(ticket)


class AnswerCase(SynchronousTestCase):
    """A filter with an inspector."""

    def made(self, rules: RuleSet) -> Filter:
        """Return a filter, and keep its inspector and its services."""
        self.inspector = FakeInspector()
        self.services = FakeServices()
        self.services.state(Scope.WORKER, INSPECTOR, lambda: self.inspector)
        return InspectAnswers(rules).make(self.services)

    @staticmethod
    def facts(method: bytes = b"GET") -> FakeFacts:
        """Return a request that passed."""
        facts = FakeFacts(method=method)
        facts.notes[TICKET] = 7
        return facts


class JudgedTests(AnswerCase):
    """Where a rule may refuse."""

    def reply(self, judged: object) -> Reply | None:
        """Return what is answered."""
        reply: object = self.successResultOf(Deferred.fromCoroutine(judged))  # type: ignore[arg-type]
        assert reply is None or isinstance(reply, Reply)
        return reply

    def test_heads(self) -> None:
        """The answer to a request that passed is judged once, with its fields; others are not."""
        live = self.made(BLOCKING)
        facts = self.facts()
        self.inspector.verdict = Verdict(502)
        edit = FakeEdit(fields=[(b"a", b"b"), (b"set-cookie", b"c"), (b"set-cookie", b"d")])
        reply = self.reply(live.on_answer(facts, edit))
        assert reply is not None
        self.assertEqual((reply.status, self.services.counted), (502, ["blocked"]))
        lines = b"a: b\r\nset-cookie: c\r\nset-cookie: d\r\n"
        self.assertEqual(self.inspector.answers, [InspectedAnswer(7, 200, lines)])
        self.assertIsNone(live.on_answer(facts, edit))
        live.on_end(facts, record_of())
        self.assertEqual(self.inspector.left, [])

    def test_bodies(self) -> None:
        """One of a type that is inspected is judged with its head, once it is there, up to one byte more than there may be."""
        for length, wanted in (([], 9), ([(b"Content-Length", b"4")], 4), ([(b"Content-Length", b"99")], 9)):
            live, facts = self.made(BLOCKING), self.facts()
            edit = FakeEdit(fields=[HTML, *length])
            self.assertEqual(live.on_answer(facts, edit), MoreBody(wanted))
            edit.body, edit.is_body_whole = b"0123456789"[:wanted], wanted == 4
            self.assertIsNone(self.reply(live.on_answer(facts, edit)))
            self.assertEqual(self.inspector.answers[0].body, edit.body)

    def test_which_bodies(self) -> None:
        """None of other types, and none of answers that have none."""
        for method, status, fields in (
            (b"GET", 200, [(b"Content-Type", b"image/png")]),
            (b"GET", 200, []),
            (b"GET", 200, [HTML, (b"Content-Type", b"image/png")]),
            (b"HEAD", 200, [HTML]),
            (b"GET", 204, [HTML]),
            (b"GET", 304, [HTML]),
            (b"GET", 101, [HTML]),
        ):
            live = self.made(BLOCKING)
            self.reply(live.on_answer(self.facts(method), FakeEdit(status=status, fields=list(fields))))
            self.assertIsNone(self.inspector.answers[0].body)

    def test_failures(self) -> None:
        """What nobody could judge is kept back where rules refuse requests, and passes where one alone might have refused."""
        for blocks, status in ((True, 503), (False, None)):
            live = self.made(RuleSet(("x",), blocks=blocks, may_refuse=True, answer_bodies=BODIES))
            self.inspector.verdict = GONE
            edit = FakeEdit(fields=[HTML], body=b"a", is_body_whole=True)
            reply = self.reply(live.on_answer(self.facts(), edit))
            self.assertEqual(None if reply is None else reply.status, status)
            self.assertEqual(self.services.counted, ["failed"])

    def test_room(self) -> None:
        """What is held together is bounded, for the same rules and for all; it is given back by a verdict, and at the end of a request."""
        size = MOST_OF_ONE // 4
        rules = RuleSet(("x",), blocks=True, may_refuse=True, answer_bodies=InspectedBodies(size, ()))
        live = self.made(rules)
        others = [InspectAnswers(rules).make(self.services) for _ in range(2)]
        edit = FakeEdit(fields=[HTML, (b"Content-Length", b"%d" % size)])
        waiting = [self.facts() for _ in range(4)]
        for facts in waiting:
            self.assertEqual(live.on_answer(facts, edit), MoreBody(size))
        refused = live.on_answer(self.facts(), edit)
        assert isinstance(refused, Reply)
        self.assertEqual((refused.status, self.inspector.left), (503, [7]))
        self.assertEqual(self.services.counted, ["full", "failed"])
        # The other half is for others, all of whom have the same.
        held = [others[number // 3].on_answer(self.facts(), edit) for number in range(5)]
        self.assertEqual([isinstance(one, MoreBody) for one in held], 4 * [True] + [False])
        live.on_end(waiting[0], record_of())
        self.assertEqual(live.on_answer(self.facts(), edit), MoreBody(size))
        edit.body, edit.is_body_whole = bytes(size), True
        self.reply(live.on_answer(waiting[1], edit))
        edit.body = None
        self.assertEqual(others[1].on_answer(self.facts(), edit), MoreBody(size))

    def test_of_unknown_length(self) -> None:
        """A body that does not say how long it is takes room as it comes."""
        rules = RuleSet(("x",), blocks=True, answer_bodies=InspectedBodies(100_000, ()), may_refuse=True)
        live, facts, edit = self.made(rules), self.facts(), FakeEdit()
        wanted = []
        while isinstance(more := live.on_answer(facts, edit), MoreBody):
            wanted.append(more.size)
            edit.body = bytes(more.size)
        self.assertEqual(wanted, [FIRST_BYTES, 2 * FIRST_BYTES, 100_001])
        self.reply(more)

    def test_one_that_finds_no_more_room(self) -> None:
        """What passes without a verdict takes none of the room any more."""
        live = self.made(RuleSet(("x",), may_refuse=True, answer_bodies=InspectedBodies(MOST_OF_ONE, ())))
        passes, edit = self.facts(), FakeEdit()
        self.assertEqual(live.on_answer(passes, edit), MoreBody(FIRST_BYTES))
        rest = FakeEdit(fields=[(b"Content-Length", b"%d" % (MOST_OF_ONE - FIRST_BYTES))])
        self.assertIsInstance(live.on_answer(self.facts(), rest), MoreBody)
        edit.body = bytes(FIRST_BYTES)
        self.assertIsNone(live.on_answer(passes, edit))
        self.assertEqual(live.on_answer(self.facts(), FakeEdit()), MoreBody(FIRST_BYTES))

    def test_without_an_answer(self) -> None:
        """Who leaves before there is one is told of, so that nothing is kept."""
        live, facts = self.made(BLOCKING), self.facts()
        for _ in range(2):
            live.on_end(facts, record_of())
        self.assertEqual(self.inspector.left, [7])


class ToldTests(AnswerCase):
    """Where rules only tell: nothing waits."""

    def test_heads(self) -> None:
        """A head is reported, and goes on; what comes of it is counted."""
        live, facts = self.made(TELLING), self.facts()
        self.assertIsNone(live.on_answer(facts, FakeEdit(status=404)))
        self.assertEqual(self.inspector.answers, [InspectedAnswer(7, 404, b"")])
        self.inspector.told[0](Verdict(matched=1))
        self.assertEqual(self.services.counted, ["detected"])

    def feed(self, *pieces: bytes) -> tuple[FakeFacts, Filter, Any]:
        """Have a body begin that passes."""
        live, facts = self.made(TELLING), self.facts()
        self.assertTrue(live.watches_bodies)
        self.assertIsNone(live.on_answer(facts, FakeEdit(fields=[HTML])))
        stage: Any = live.on_answer_body(facts, None, None)  # type: ignore[arg-type]
        for piece in pieces:
            self.assertEqual(stage.feed(piece), piece)
        return facts, live, stage

    def test_bodies(self) -> None:
        """A body is reported with its head once enough of it has passed, or all of it, or what there was of it."""
        _, _, stage = self.feed(b"0123", b"456789")
        self.assertEqual(self.inspector.answers[0].body, b"012345678")
        stage.feed(b"more")
        stage.finish()
        self.assertEqual(len(self.inspector.answers), 1)
        self.inspector.told[0](GONE)
        self.assertEqual(self.services.counted, ["failed"])
        _, _, stage = self.feed(b"0123")
        self.assertEqual(stage.finish(), b"")
        self.assertEqual(self.inspector.answers[0].body, b"0123")
        facts, live, _ = self.feed(b"01")
        live.on_end(facts, record_of())
        self.assertEqual((self.inspector.answers[0].body, self.inspector.left), (b"01", []))
        self.assertEqual(self.services.clock.clock.getDelayedCalls(), [])

    def test_slow_ones(self) -> None:
        """One that takes long is reported with what has passed, so that no client keeps a firewall process waiting; the rest passes."""
        facts, live, stage = self.feed(b"01")
        self.services.clock.clock.advance(COPYING_SECONDS)
        self.assertEqual(self.inspector.answers[0].body, b"01")
        self.assertEqual((stage.feed(b"23"), stage.finish()), (b"23", b""))
        live.on_end(facts, record_of())
        self.assertEqual((len(self.inspector.answers), self.inspector.left), (1, []))

    def test_replaced(self) -> None:
        """Of an answer that another one replaces nothing is reported."""
        facts, live, _ = self.feed()
        live.on_answer(facts, FakeEdit(status=503))
        self.assertEqual([answer.status for answer in self.inspector.answers], [503])
        self.assertEqual(self.services.clock.clock.getDelayedCalls(), [])
        self.assertIsNone(live.on_answer_body(facts, None, None))  # type: ignore[arg-type]

    def test_room(self) -> None:
        """A body for which there is no room passes, and nobody is asked about it."""
        rules = RuleSet(("x",), answer_bodies=InspectedBodies(MOST_OF_ONE, ("text/html",)))
        live, facts = self.made(rules), [self.facts(), self.facts()]
        stages: list[Any] = []
        for one in facts:
            live.on_answer(one, FakeEdit(fields=[HTML]))
            stages.append(live.on_answer_body(one, None, None))  # type: ignore[arg-type]
        stages[0].feed(bytes(MOST_OF_ONE))
        self.assertEqual(stages[1].feed(b"a"), b"a")
        self.assertEqual((self.services.counted, self.inspector.left), (["full", "failed"], [7]))
        stages[1].finish()
        live.on_end(facts[1], record_of())
        self.assertEqual(self.inspector.answers, [])
        stages[0].finish()
        self.inspector.told[0](PASSES)
        third = self.facts()
        live.on_answer(third, FakeEdit(fields=[HTML]))
        live.on_answer_body(third, None, None).feed(b"a")  # type: ignore[arg-type, union-attr]
        self.assertEqual(self.services.counted, ["full", "failed"])

    def test_a_room_holds_no_more_than_it_may(self) -> None:
        """What was given back is there again, and never more."""
        room = Room(10)
        self.assertEqual([room.take(6), room.take(5), room.take(4)], [True, False, True])
        room.give_back(10)
        self.assertTrue(room.take(10))


class ProxiedTests(FilterCase):
    """With an endpoint and a client, and with a filter that compresses."""

    PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 300\r\n\r\n" + b"a" * 300

    def filters(self, rules: RuleSet) -> None:
        """Have a request inspected, and its answer compressed."""
        self.inspector, services = FakeInspector(), FakeServices()
        services.state(Scope.WORKER, INSPECTOR, lambda: self.inspector)

        class Passed(Filter):
            def on_request(self, facts: Any) -> None:
                facts.notes[TICKET] = 7

        self.stage.publish(
            (ONE,),
            filters=(
                SpecOf(Passed(), "passed"),
                SpecOf(InspectAnswers(rules).make(services), "firewall", InspectAnswers.phase),
                Compression((Coding("gzip", 1, TYPES, 20),)),
            ),
        )

    def test_before_it_is_compressed(self) -> None:
        """What is inspected is the page, whose head says nothing of a coding yet; what goes to the client is compressed."""
        bodies = InspectedBodies(1000, ("text/html",))
        for rules in (
            RuleSet(("x",), blocks=True, may_refuse=True, answer_bodies=bodies),
            RuleSet(("x",), answer_bodies=bodies),
        ):
            self.filters(rules)
            client = self.get(fields=((b"accept-encoding", b"gzip"),))
            self.upstream().say(self.PAGE)
            heard = client.heard()
            self.assertEqual(heard.all(b"content-encoding"), [b"gzip"])
            self.assertEqual((decompress(heard.body), heard.is_whole), (b"a" * 300, True))
            (answer,) = self.inspector.answers
            self.assertEqual(answer.body, b"a" * 300)
            self.assertNotIn(b"content-encoding", answer.lines)

    def test_refused(self) -> None:
        """A verdict on the body takes the answer's place, whole, and nothing of the page was sent."""
        self.filters(BLOCKING)
        self.inspector.verdict = Verdict(451)
        client = self.get()
        self.upstream().say(self.PAGE)
        heard = client.heard()
        self.assertEqual((heard.status, heard.is_whole), (451, True))
        self.assertNotIn(b"aaa", heard.body)

    def test_a_process_that_ends_meanwhile(self) -> None:
        """Nobody gets a page that nobody could judge; where rules only tell, it was there before."""
        self.filters(BLOCKING)
        self.inspector.waits = Deferred()
        client = self.get()
        self.upstream().say(self.PAGE)
        self.assertEqual(client.heard().status, 0)
        self.inspector.waits.callback(GONE)
        self.assertEqual(client.heard().status, 503)
        self.filters(TELLING)
        client = self.get()
        self.upstream().say(self.PAGE)
        self.assertEqual((client.heard().status, client.heard().all(b"content-length")), (200, [b"300"]))
        self.inspector.told[0](GONE)

    def test_in_part(self) -> None:
        """Behind what is inspected the rest of a body streams, with the length that it said."""
        self.filters(BLOCKING)
        client = self.get()
        self.upstream().say(self.PAGE[:-290])
        heard = client.heard()
        self.assertEqual((heard.body, heard.is_whole), (b"a" * 10, False))
        self.assertEqual(self.inspector.answers[0].body, b"a" * 9)
        self.upstream().say(b"b" * 290)
        heard = client.heard()
        self.assertEqual((heard.body, heard.all(b"content-length")), (b"a" * 10 + b"b" * 290, [b"300"]))
        self.assertTrue(heard.is_whole)


class ProxiedTestsHttp2(ProxiedTests):
    """The same over HTTP/2."""

    is_http2 = True
