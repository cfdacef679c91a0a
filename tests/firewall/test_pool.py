"""Who gets which request, until when, and what becomes of it, with processes that are none."""

from __future__ import annotations

from itertools import pairwise

from twisted.internet.defer import Deferred

from ingress.firewall import members, pool
from ingress.firewall.messages import (
    Kind,
    Said,
    answer_of,
    loaded_to_bytes,
    said_to_bytes,
)
from ingress.firewall.pool import Firewall
from ingress.firewall.rule_log import RuleLog
from ingress.model.exchanges.firewall import (
    FirewallPlan,
    InspectedAnswer,
    Loaded,
    RuleSet,
    Verdict,
)
from ingress.process.framing import Frame, NonsenseError
from tests.firewall.pool_case import PLAN, RULES, PoolCase

TENANTS = RuleSet(("SecRuleEngine On", "SecMarker a"), blocks=True, is_operators=False)


class FirewallTests(PoolCase):
    def test_each_process_has_one_request(self) -> None:
        """Two are judged at a time, and others wait for their turn, in order."""
        self.ready()
        loaded = self.firewall.load(RULES)
        asked = [self.inspect(loaded, b"/%d" % number) for number in range(4)]
        one, two = self.links
        self.assertEqual((one.targets(), two.targets()), ([b"/0"], [b"/1"]))
        two.say(Said(403, matched=1))
        self.assertEqual(two.targets(), [b"/1", b"/2"])
        self.assertEqual(self.successResultOf(asked[1]), Verdict(403, matched=1))
        one.say()
        two.say()
        self.assertEqual(self.successResultOf(asked[0]), Verdict())
        one.say()
        self.assertEqual(one.targets(), [b"/0", b"/3"])
        for waited in asked[2:]:
            self.assertEqual(self.successResultOf(waited), Verdict())
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_a_process_that_ends_costs_its_own_request(self) -> None:
        """Exactly that one fails; another process is started, has the rules again, and goes on."""
        self.ready()
        loaded = self.firewall.load(RULES)
        first, second = self.inspect(loaded, b"/a"), self.inspect(loaded, b"/b")
        self.links[0].ended("signal 9")
        self.assertEqual(self.successResultOf(first).failure, "had a process that ended (signal 9)")
        self.assertNoResult(second)
        self.clock.advance(0)
        self.assertEqual(len(self.links), 3)
        third = self.inspect(loaded, b"/c")
        self.ready(self.links[2])
        self.assertEqual(self.links[2].kinds(), [Kind.LOAD, Kind.REQUEST])
        self.links[2].say()
        self.links[1].say()
        self.assertEqual([self.successResultOf(one) for one in (second, third)], [Verdict(), Verdict()])

    def test_rules_that_nobody_has_once_they_are_refused(self) -> None:
        """The last request by them may go with their refusal, and the process goes on."""
        self.ready()
        loaded = self.firewall.load(RuleSet(("slow",), blocks=True))
        verdicts: list[Verdict] = []
        self.inspect(loaded, b"/a").addCallback(verdicts.append)
        del loaded
        (rules,) = (frame for frame in self.links[0].sent if frame.kind == Kind.LOAD)
        self.links[0].came(Frame(Kind.LOADED, rules.number, loaded_to_bytes(0, "no rule")))
        self.assertEqual([one.failure for one in verdicts], ["cannot use these rules: no rule"])
        waited = self.inspect(self.firewall.load(RULES), b"/b")
        self.links[0].say()
        self.assertEqual(self.successResultOf(waited), Verdict())

    def test_rules_that_nobody_has_once_they_are_loaded(self) -> None:
        """What went while a process was given it is unloaded there at once, and takes none of its memory."""
        self.ready()
        loaded = self.firewall.load(RuleSet(("slow", "1000"), blocks=True))
        (rules,) = (frame for frame in self.links[0].sent if frame.kind == Kind.LOAD)
        del loaded
        self.links[0].came(Frame(Kind.LOADED, rules.number, loaded_to_bytes(1000, "")))
        self.assertEqual(
            [(frame.kind, frame.number) for frame in self.links[0].sent],
            [(Kind.LOAD, rules.number), (Kind.UNLOAD, rules.number)],
        )

    def test_a_process_that_is_going_gets_nothing(self) -> None:
        """Between the end of its channel and its own, requests go to another one."""
        self.ready()
        loaded = self.firewall.load(RULES)
        self.links[0].is_open = False
        asked = [self.inspect(loaded, b"/%d" % number) for number in range(2)]
        self.links[1].say()
        self.links[1].say()
        self.assertEqual(self.links[1].targets(), [b"/0", b"/1"])
        for waited in asked:
            self.assertEqual(self.successResultOf(waited), Verdict())

    def test_a_process_that_takes_too_long_is_killed(self) -> None:
        """Its request fails when it has ended; the other process goes on meanwhile."""
        self.ready()
        loaded = self.firewall.load(RULES)
        slow = self.inspect(loaded, b"/slow")
        self.clock.advance(1.9)
        other = self.inspect(loaded, b"/other")
        self.links[1].say()
        self.successResultOf(other)
        self.assertFalse(self.links[0].is_killed)
        self.clock.advance(0.2)
        self.assertTrue(self.links[0].is_killed)
        self.links[0].say()
        self.assertNoResult(slow)
        self.links[0].ended("signal 9")
        self.assertEqual(self.successResultOf(slow).failure, "had a process that took too long")
        self.assertEqual(self.counted, ["process-late", "process-ended"])

    def test_waiting_is_bounded_in_time(self) -> None:
        """What has no turn within the time fails, and is not asked about afterwards."""
        loaded = self.firewall.load(RULES)
        waited = self.inspect(loaded)
        self.clock.advance(2.0)
        self.assertEqual(self.successResultOf(waited).failure, "did not come to it within 2 s")
        self.ready()
        self.assertEqual(self.links[0].targets(), [])

    def test_waiting_is_bounded_in_number(self) -> None:
        """Requests by the same rules take half of the room, so others find some."""
        loaded, others = self.firewall.load(RULES), self.firewall.load(TENANTS)
        waiting = [self.inspect(loaded) for _ in range(pool.MOST_OF_ONE)]
        self.assertIn("too many", self.successResultOf(self.inspect(loaded)).failure)
        self.assertNoResult(self.inspect(others))
        self.assertEqual(self.counted, ["full"])
        self.firewall.stop()
        self.assertEqual({self.successResultOf(one).failure for one in waiting}, {"is stopped"})

    def test_waiting_is_bounded_in_bytes(self) -> None:
        """Bodies that wait are no more than there is room for."""
        loaded = self.firewall.load(RULES)
        size = pool.MOST_WAITING_BYTES // 4
        waiting = [self.inspect(loaded, body=bytes(size)) for _ in range(3)]
        self.assertIn("too many", self.successResultOf(self.inspect(loaded, body=bytes(size))).failure)
        self.assertNoResult(self.inspect(loaded))
        for one in waiting:
            self.assertNoResult(one)

    def test_who_leaves_is_not_judged(self) -> None:
        """A request that waits is forgotten; one that is being judged is nobody's, and what it began is closed."""
        self.ready()
        loaded = self.firewall.load(RULES)
        judged, other = (self.inspect(loaded, b"/%d" % number, stays=True) for number in range(2))
        waiting = self.inspect(loaded, b"/2")
        for one in (judged, waiting):
            one.addErrback(lambda failure: None).cancel()
        self.links[0].say()
        self.assertEqual(self.links[0].kinds(), [Kind.LOAD, Kind.REQUEST, Kind.LEAVE])
        self.assertEqual(self.links[0].targets(), [b"/0"])
        self.assertNoResult(other)

    def test_answers_go_to_the_same_process(self) -> None:
        """Who judged the request judges its answer, before any other request."""
        self.ready()
        loaded = self.firewall.load(RULES)
        asked = [self.inspect(loaded, b"/%d" % number, stays=True) for number in range(3)]
        self.links[0].say()
        ticket = self.successResultOf(asked[0]).ticket
        self.assertTrue(ticket)
        answered = self.firewall.inspect_answer(InspectedAnswer(ticket, 200, b"A: b\r\n"))
        self.inspect(loaded, b"/3")
        self.links[0].say()
        self.assertEqual(self.links[0].kinds()[-1], Kind.ANSWER)
        self.links[0].say(Said(502))
        assert isinstance(answered, Deferred)
        self.assertEqual(self.successResultOf(answered).status, 502)
        again = self.firewall.inspect_answer(InspectedAnswer(ticket, 200, b""))
        assert isinstance(again, Deferred)
        self.assertIn("lost the request", self.successResultOf(again).failure)

    def test_bodies_of_answers(self) -> None:
        """They go behind their heads; what nobody waits for is told of all the same, and so is what came of it where its process is gone."""
        self.ready()
        loaded = self.firewall.load(RULES)
        verdicts: list[Verdict] = []
        for ends in (False, True):
            asked = self.inspect(loaded, stays=True)
            self.links[0].say()
            ticket = self.successResultOf(asked).ticket
            answer = InspectedAnswer(ticket, 200, b"A: b\r\n", b"a body")
            self.firewall.report_answer(answer, verdicts.append)
            frame = self.links[0].sent[-1]
            self.assertEqual(answer_of(frame.number, frame.payload), answer)
            if ends:
                self.links[0].ended("signal 9")
            else:
                self.links[0].say(Said(0, matched=1))
        self.assertEqual(
            verdicts, [Verdict(matched=1), Verdict(failure="had a process that ended (signal 9)")]
        )

    def test_answers_wait_no_longer_than_requests(self) -> None:
        """One that its process does not come to in time fails, and its request is left."""
        self.ready()
        loaded = self.firewall.load(RULES)
        first = self.inspect(loaded, stays=True)
        self.links[0].say()
        ticket = self.successResultOf(first).ticket
        self.inspect(loaded)
        answered = self.firewall.inspect_answer(InspectedAnswer(ticket, 200, b""))
        assert isinstance(answered, Deferred)
        self.clock.advance(1.9)
        self.assertNoResult(answered)
        self.clock.advance(0.1)
        self.assertIn("did not come to it", self.successResultOf(answered).failure)
        self.assertIn(Frame(Kind.LEAVE, ticket), self.links[0].sent)

    def test_open_requests_are_bounded(self) -> None:
        """A process that waits for as many answers as it may gets no more such requests, while another one has room."""
        self.patch(members, "MOST_OPEN", 1)
        self.ready()
        loaded = self.firewall.load(RULES)
        for number in range(2):
            self.assertTrue(self.judged_open(loaded, number).ticket)
        self.assertIn("answers did not come", self.successResultOf(self.inspect(loaded, stays=True)).failure)
        self.assertNoResult(self.inspect(loaded))

    def test_bytes_of_open_requests_are_bounded(self) -> None:
        """What the library keeps of bodies until answers come is a part of the memory of a process, and there is room again afterwards."""
        self.ready()
        self.firewall.most_open_bytes = 1000
        loaded = self.firewall.load(RULES)
        asked = [self.inspect(loaded, b"/%d" % number, body=bytes(2000), stays=True) for number in range(2)]
        for link in self.links:
            link.say()
        refused = self.inspect(loaded, stays=True)
        self.assertIn("answers did not come", self.successResultOf(refused).failure)
        self.firewall.leave(self.successResultOf(asked[0]).ticket)
        self.assertNoResult(self.inspect(loaded, stays=True))

    def judged_open(self, loaded: Loaded, number: int) -> Verdict:
        """Have a request judged whose answer is waited for, by whichever process has room."""
        waited = self.inspect(loaded, b"/%d" % number, stays=True)
        next(link for link in self.links if link.targets()[-1:] == [b"/%d" % number]).say()
        return self.successResultOf(waited)

    def test_answers_fail_with_the_process_of_their_requests(self) -> None:
        """Nobody else can judge them; and to leave them is no mistake."""
        self.ready()
        loaded = self.firewall.load(RULES)
        asked = [self.inspect(loaded, stays=True) for _ in range(2)]
        for link in self.links:
            link.say()
        tickets = [self.successResultOf(one).ticket for one in asked]
        self.links[0].ended("status 1")
        lost = self.firewall.inspect_answer(InspectedAnswer(tickets[0], 200, b""))
        assert isinstance(lost, Deferred)
        self.assertIn("lost the request", self.successResultOf(lost).failure)
        self.firewall.leave(tickets[0])
        self.firewall.leave(tickets[1])
        self.assertEqual(self.links[1].kinds()[-1], Kind.LEAVE)

    def test_rules_that_are_refused(self) -> None:
        """Their requests fail with the reason, and others do not."""
        self.ready()
        refused = self.firewall.load(RuleSet(("refused",)))
        self.assertEqual(
            self.successResultOf(self.inspect(refused)).failure, "cannot use these rules: no rule"
        )
        self.assertNoResult(self.inspect(self.firewall.load(RULES)))

    def test_rules_are_loaded_once_and_unloaded(self) -> None:
        """Equal rule sets are one; when nobody has them any more, processes forget them."""
        self.ready()
        loaded, again = self.firewall.load(RULES), self.firewall.load(RuleSet(RULES.parts, blocks=True))
        self.assertIs(loaded, again)
        self.assertEqual([link.kinds() for link in self.links], [[Kind.LOAD]] * 2)
        del loaded, again
        self.assertEqual([link.kinds() for link in self.links], [[Kind.LOAD, Kind.UNLOAD]] * 2)

    def test_rules_of_a_tenant_that_end_processes_are_left_out(self) -> None:
        """After three processes they are answered for without one, for a while; the operator's go on."""
        self.ready()
        loaded, operators = self.firewall.load(TENANTS), self.firewall.load(RULES)
        for rules in (loaded, operators):
            for _ in range(members.BLAMED):
                waited = self.inspect(rules)
                link = next(one for one in self.links if one.kinds()[-1:] == [Kind.REQUEST])
                link.sent.clear()
                link.ended("signal 11")
                self.successResultOf(waited)
                self.clock.advance(1.0)
                self.ready(self.links[-1])
        self.assertIn("leaves these rules out", self.successResultOf(self.inspect(loaded)).failure)
        self.assertNoResult(self.inspect(operators))
        self.clock.advance(0.1)
        self.links[-2].say() if self.links[-2].targets() else self.links[-1].say()
        self.clock.advance(members.BLAME_SECONDS)
        self.assertNoResult(self.inspect(loaded))

    def test_rules_that_end_processes_when_they_are_loaded(self) -> None:
        """After two it is not tried again, requests fail with the reason, and other rules are judged by."""
        self.ready()
        other = self.firewall.load(RULES)
        loaded = self.firewall.load(RuleSet(("slow",), is_operators=False))
        for _ in range(pool.MOST_ENDED_LOADING):
            busy = next(link for link in self.links if link.sent and b"slow" in link.sent[-1].payload)
            busy.sent.clear()
            busy.ended("signal 11")
            self.clock.advance(1.0)
            self.ready(self.links[-1])
        self.assertIn("ended over them", self.successResultOf(self.inspect(loaded)).failure)
        self.assertNoResult(self.inspect(other))
        self.links[0].say()
        self.clock.advance(pool.ENDED_LOADING_SECONDS)
        self.inspect(loaded)
        self.assertTrue(any(link.sent and b"slow" in link.sent[-1].payload for link in self.links))

    def test_rules_are_loaded_ahead_by_one_process_after_the_other(self) -> None:
        """What takes long to load keeps one process busy, and not all of them."""
        self.ready()
        loaded = self.firewall.load(RuleSet(("slow",)))
        self.assertEqual([len(link.sent) for link in self.links], [1, 0])
        self.links[0].came(Frame(Kind.LOADED, self.links[0].sent[0].number, loaded_to_bytes(0, "")))
        self.assertEqual([len(link.sent) for link in self.links], [1, 1])
        waited = self.inspect(loaded)
        self.assertEqual(self.links[0].targets(), [b"/"])
        self.assertNoResult(waited)

    def test_one_process_tries_no_rules_of_tenants(self) -> None:
        """It has them once another one has taken them, and judges by all others meanwhile, also those that wait behind."""
        self.ready()
        safe, tries = self.links
        loaded = self.firewall.load(RuleSet(("slow",), blocks=True, is_operators=False))
        first = self.inspect(loaded, b"/tenant")
        operators = self.firewall.load(RULES)
        second = self.inspect(operators, b"/operators")
        self.assertEqual([link.targets() for link in self.links], [[b"/operators"], []])
        safe.say()
        self.successResultOf(second)
        self.assertFalse(any(b"slow" in one.payload for one in safe.sent))
        tries.came(Frame(Kind.LOADED, tries.sent[0].number, loaded_to_bytes(0, "")))
        self.assertIn(b"slow", safe.sent[-1].payload)
        self.assertEqual(tries.targets(), [b"/tenant"])
        self.assertNoResult(first)

    def test_memory_of_rules_is_bounded(self) -> None:
        """What was not used for longest is given up, and loaded again when it is needed; nobody's request fails over it."""
        self.ready()
        size = self.firewall.most_rules_bytes // 8
        held = [
            self.firewall.load(RuleSet((str(size), f"SecMarker a{number}"), is_operators=False))
            for number in range(9)
        ]
        link = self.links[1]
        self.assertEqual(link.kinds(), [Kind.LOAD] * 9 + [Kind.UNLOAD])
        self.assertEqual(self.links[0].kinds(), [Kind.LOAD] * 8)
        given_up = link.sent[-1].number
        waited = [self.inspect(held[0]), self.inspect(held[0])]
        for one in self.links:
            one.say()
        self.assertEqual([self.successResultOf(one).failure for one in waited], ["", ""])
        self.assertEqual([one.number for one in link.sent if one.kind == Kind.LOAD][-1], given_up)

    def test_processes_that_end_at_once_are_started_less_and_less_often(self) -> None:
        """One that never gets anywhere is tried again after pauses that grow to half a minute."""
        moments = []
        for _ in range(12):
            self.links[-1].ended("status 1")
            before = len(self.links)
            while len(self.links) == before:
                self.clock.advance(0.25)
            moments.append(self.clock.seconds())
        pauses = [later - sooner for sooner, later in pairwise(moments)]
        self.assertEqual(pauses, sorted(pauses))
        self.assertEqual(pauses[-1], members.LONGEST_PAUSE_SECONDS)

    def test_a_process_that_cannot_be_started(self) -> None:
        """It is tried again, and told of."""
        self.cannot_start = True
        self.links[0].ended("status 1")
        self.clock.advance(0)
        self.cannot_start = False
        self.clock.advance(members.LONGEST_PAUSE_SECONDS)
        self.assertEqual(len(self.links), 3)

    def test_a_process_that_never_says_it_is_there(self) -> None:
        """It is killed, and another one started."""
        self.clock.advance(members.START_SECONDS)
        self.assertTrue(all(link.is_killed for link in self.links))

    def test_listeners_wait_for_the_first_process(self) -> None:
        """They open when it is there, or after a while without it."""
        waiting = self.firewall.until_there()
        self.assertNoResult(waiting)
        self.ready(self.links[0])
        self.successResultOf(waiting)
        self.successResultOf(self.firewall.until_there())
        other = Firewall(self.clock, PLAN, self.start, self.counted.append, RuleLog(self.clock.seconds))
        other.start()
        self.addCleanup(other.stop)
        waiting = other.until_there()
        self.clock.advance(pool.PATIENCE_SECONDS)
        self.successResultOf(waiting)

    def test_without_processes_nobody_is_kept_waiting(self) -> None:
        """A controller without a firewall opens its listeners at once."""
        none = Firewall(
            self.clock, FirewallPlan(), self.start, self.counted.append, RuleLog(self.clock.seconds)
        )
        none.start()
        self.successResultOf(none.until_there())
        none.stop()

    def test_nonsense(self) -> None:
        """A verdict that nobody asked for, or on another request, is nonsense, whatever it says."""
        self.ready()
        loaded = self.firewall.load(RULES)
        self.assertRaises(NonsenseError, self.links[0].came, Frame(Kind.VERDICT, 1, said_to_bytes(Said())))
        waited = self.inspect(loaded)
        number = self.links[0].sent[-1].number
        for frame in (
            Frame(Kind.VERDICT, number + 1, said_to_bytes(Said())),
            Frame(Kind.LOADED, number, loaded_to_bytes(0, "")),
            Frame(Kind.READY),
            Frame(Kind.VERDICT, number, b"x"),
        ):
            self.assertRaises(NonsenseError, self.links[0].came, frame)
        self.assertNoResult(waited)

    def test_stopping(self) -> None:
        """Processes are left, none is started any more, and whoever asks hears so."""
        self.ready()
        loaded = self.firewall.load(RULES)
        self.firewall.stop()
        self.assertTrue(all(link.is_closed for link in self.links))
        self.assertEqual(self.successResultOf(self.inspect(loaded)).failure, "is stopped")
        for link in tuple(self.links):
            link.ended("status 0")
        self.assertEqual(self.clock.getDelayedCalls(), [])
