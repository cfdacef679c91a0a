"""Whose turn it is where answers wait beside requests, and what is left of answers that nobody waits for."""

from __future__ import annotations

from collections import deque

from twisted.internet.defer import Deferred

from ingress.firewall import members
from ingress.firewall.messages import Kind
from ingress.model.exchanges.firewall import InspectedAnswer, Verdict
from ingress.process.framing import Frame
from tests.firewall.pool_case import RULES, PoolCase


class AnswerTests(PoolCase):
    def opened(self, count: int) -> list[int]:
        """Have so many requests judged by the one process that is there; return their tickets."""
        self.ready(self.links[0])
        self.rules = self.firewall.load(RULES)
        asked = [self.inspect(self.rules, stays=True) for _ in range(count)]
        for _ in range(count):
            self.links[0].say()
        return [self.successResultOf(one).ticket for one in asked]

    def answered(self, ticket: int, body: bytes = b"") -> Deferred[Verdict]:
        """Have an answer judged."""
        return self.firewall.inspect_answer(InspectedAnswer(ticket, 200, b"", body))

    def test_requests_have_as_much_time_as_answers(self) -> None:
        """Long bodies keep no request waiting longer than one of them takes; nor are they kept waiting by requests."""
        for ticket in self.opened(3):
            self.answered(ticket)
        link, before = self.links[0], len(self.links[0].sent)
        for number in range(5):
            self.inspect(self.rules, b"/%d" % number)
        for seconds in (0.25, 0.125, 0.125, 0.25, 0.125, 0.125):
            self.clock.advance(seconds)
            link.say()
        expected = [Kind.REQUEST, Kind.REQUEST, Kind.ANSWER, Kind.REQUEST, Kind.REQUEST, Kind.ANSWER]
        self.assertEqual(link.kinds()[before : before + 6], expected)

    def test_what_took_long_while_nobody_else_waited(self) -> None:
        """It does not count afterwards, be it answers or requests."""
        first, second, third = self.opened(3)
        link = self.links[0]
        self.answered(first)
        self.clock.advance(1.0)
        link.say()
        self.inspect(self.rules)
        self.answered(second)
        self.inspect(self.rules)
        self.clock.advance(1.0)
        link.say()
        self.assertEqual(link.kinds()[-1], Kind.ANSWER)
        self.answered(third)
        self.clock.advance(0.1)
        link.say()
        self.assertEqual(link.kinds()[-1], Kind.REQUEST)

    def test_short_answers_do_not_wait_for_long_ones(self) -> None:
        """They come first, in the order in which they came."""
        tickets = self.opened(4)
        for ticket, size in zip(tickets, (0, 500_000, 20, 10), strict=True):
            self.answered(ticket, bytes(size))
        for _ in tickets:
            self.links[0].say()
        judged = [one.number for one in self.links[0].sent if one.kind == Kind.ANSWER]
        self.assertEqual(judged, [tickets[number] for number in (0, 2, 3, 1)])

    def test_answers_that_nobody_waits_for(self) -> None:
        """One that waits is not kept until its turn would come, and its request is left at once; each counts as open until it is judged."""
        self.patch(members, "MOST_OPEN", 2)
        first, second = self.opened(2)
        self.answered(first)
        waiting = self.answered(second, b"a body")
        self.assertFalse(self.firewall._members[0].has_room)
        waiting.addErrback(lambda failure: None).cancel()
        self.assertEqual(self.links[0].sent[-1], Frame(Kind.LEAVE, second))
        self.assertTrue(self.firewall._members[0].has_room)
        self.assertEqual(self.firewall._members[0].own, deque())
        self.links[0].say()
        self.assertEqual(self.clock.getDelayedCalls()[1:], [])

    def test_stopping_with_answers(self) -> None:
        """Those that wait, or are being judged, hear so, too, and no timer is left."""
        waiting = [self.answered(ticket) for ticket in self.opened(2)]
        self.firewall.stop()
        self.assertEqual([self.successResultOf(one).failure for one in waiting], ["is stopped"] * 2)
        self.links[0].ended("status 0")
        self.assertEqual(self.clock.getDelayedCalls(), [])
