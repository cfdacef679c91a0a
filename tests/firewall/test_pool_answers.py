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
