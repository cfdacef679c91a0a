"""Tests for ``ingress.status.elector``: candidates, their Lease, and what goes wrong."""

import random
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.errors import KubernetesError
from tests.status.machines import KEY, TERMS, LeaseServer, Machine

FORBIDDEN = KubernetesError(403, "Forbidden", 'leases "leader" is forbidden')
AWAY = KubernetesError(0, "Unreachable", "Connection refused")
# Seconds of one way: some answers come when nobody waits for them any more.
TRIPS = (*(0.01,) * 20, *(0.1,) * 10, 1.0, 4.0, 9.0)
LONG_TRIPS = (0.01, 0.01, *(0.1,) * 4, 1.0, 1.0, 9.0)
LONGEST_TURN = TERMS.retry_seconds * 1.2 + 0.01


class ElectorCase(SynchronousTestCase):
    """A server, and machines that end with the test."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.clock.advance(1_000_000)
        self.server = LeaseServer(self.clock)
        self.machines: list[Machine] = []

    def tearDown(self) -> None:
        for machine in self.machines:
            machine.is_standing_still = False
            machine.elector.stop()
        self.pass_time(10)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def machine(
        self, name: str, *, start: bool = True, began: float = 0.0, skew_seconds: float = 0.0
    ) -> Machine:
        machine = Machine(self.server, name, began=began, skew_seconds=skew_seconds)
        self.machines.append(machine)
        if start:
            machine.elector.start()
            self.clock.advance(0)
            self.clock.advance(0)
        return machine

    def pass_time(self, seconds: float, step: float = 0.1) -> None:
        """Let time pass in small steps; at no moment two lead."""
        for _ in range(round(seconds / step)):
            self.clock.advance(step)
            leaders = [machine.name for machine in self.machines if machine.may_act]
            self.assertLessEqual(len(leaders), 1, leaders)


class ElectionTests(ElectorCase):
    """Who leads."""

    def test_odd_answers(self) -> None:
        """What is no Lease, as of a proxy before the API server, costs a turn and not the election."""
        one = self.machine("one")
        answers: tuple[dict[str, object], ...] = (
            {},
            {"metadata": "x"},
            {"metadata": {}, "spec": [1]},
            {"kind": "Status"},
        )
        for odd in answers:
            self.server.error = odd
            self.pass_time(TERMS.deadline_seconds + 1)
            self.assertFalse(one.may_act)
            self.server.error = None
            self.pass_time(2 * LONGEST_TURN)
            self.assertTrue(one.may_act)

    def test_answers_that_are_not_ours(self) -> None:
        """A write that is answered with another object, or with another's name, makes no leader; the Lease is read before the next."""
        one = self.machine("one")
        metadata = {"namespace": KEY.namespace, "name": KEY.name, "resourceVersion": "1"}
        ours = {"metadata": metadata, "spec": {"holderIdentity": "one"}}
        answers: tuple[dict[str, Any], ...] = (
            {"metadata": metadata},
            {**ours, "spec": {"holderIdentity": "another"}},
            {**ours, "metadata": {**metadata, "name": "other"}},
            {**ours, "metadata": {**metadata, "namespace": "theirs"}},
            {**ours, "metadata": {**metadata, "resourceVersion": ""}},
        )
        for odd in answers:
            self.server.fails = lambda request, odd=odd: odd if request.method == "PUT" else None  # type: ignore[misc]
            self.pass_time(TERMS.deadline_seconds + 1)
            self.assertFalse(one.may_act, odd)
            self.assertEqual([request.method for request in self.server.requests[-2:]], ["GET", "PUT"])
            self.server.fails = lambda request: None
            self.pass_time(2 * LONGEST_TURN)
            self.assertTrue(one.may_act)

    def test_nobody_writes(self) -> None:
        """Where writes are answered and not done, nobody leads, and no two do."""
        machines = self.machine("a"), self.machine("b")
        self.pass_time(TERMS.deadline_seconds)
        status = {"kind": "Status", "metadata": {}, "status": "Success"}
        self.server.fails = lambda request: status if request.method == "PUT" else None
        self.pass_time(60)
        self.assertEqual([machine.may_act for machine in machines], [False, False])

    def test_alone(self) -> None:
        """The first candidate leads at once, and goes on as long as it renews."""
        first = self.machine("a")
        self.assertEqual((first.may_act, first.changes), (True, [True]))
        began = self.server.lease["acquireTime"]
        self.pass_time(600)
        self.assertEqual((first.may_act, first.changes), (True, [True]))
        lease = self.server.lease
        self.assertEqual((lease["acquireTime"], lease["leaseTransitions"]), (began, 0))
        self.assertNotEqual(lease["renewTime"], began)

    def test_second(self) -> None:
        """The second candidate says once who leads, waits, and never disturbs the first."""
        first = self.machine("a")
        with capturedLogs() as events:
            second = self.machine("b")
            self.pass_time(600)
        self.assertEqual([formatEvent(event) for event in events], ["a has the lease ours/leader"])
        self.assertEqual((first.changes, second.changes), ([True], []))

    def test_killed(self) -> None:
        """When the leader is gone without a word, the next one leads after the duration and one turn."""
        first, second = self.machine("a"), self.machine("b")
        self.pass_time(20)
        first.stand_still()
        self.pass_time(TERMS.duration_seconds - LONGEST_TURN)
        self.assertFalse(second.may_act)
        self.pass_time(2 * LONGEST_TURN)
        self.assertTrue(second.may_act)
        self.assertEqual(
            (self.server.lease["holderIdentity"], self.server.lease["leaseTransitions"]), ("b", 1)
        )

    def test_released(self) -> None:
        """When the leader stops it says so, and the next one leads after one turn."""
        first, second = self.machine("a"), self.machine("b")
        self.pass_time(20)
        stopped = first.elector.stop()
        self.assertFalse(first.may_act)
        self.pass_time(0.1)
        self.successResultOf(stopped)
        self.assertEqual(self.server.lease["holderIdentity"], "")
        self.pass_time(LONGEST_TURN)
        self.assertTrue(second.may_act)

    def test_clock_skew(self) -> None:
        """Clocks that are hours apart change nothing of all that."""
        first = self.machine("a", skew_seconds=-7200.0, began=1e6)
        second = self.machine("b", skew_seconds=7200.0, began=-5.0)
        self.pass_time(60)
        self.assertEqual((first.may_act, second.may_act), (True, False))
        first.stand_still()
        self.pass_time(TERMS.duration_seconds + 2 * LONGEST_TURN)
        self.assertTrue(second.may_act)

    def test_two_at_once(self) -> None:
        """Of two that want the first Lease in the same moment, one gets it and the other sees so at once."""
        self.server.trip = lambda: 0.5
        first, second = self.machine("a"), self.machine("b")
        self.pass_time(10)
        self.assertEqual(sorted([first.may_act, second.may_act]), [False, True])
        methods = [request.method for request in self.server.requests[:5]]
        self.assertEqual(methods, ["GET", "GET", "POST", "POST", "GET"])

    def test_stalled(self) -> None:
        """A leader that stood still until its Lease ran out knows so before anything of it has run."""
        first, second = self.machine("a"), self.machine("b")
        self.pass_time(20)
        first.stand_still()
        self.pass_time(TERMS.duration_seconds + 2 * LONGEST_TURN)
        self.assertEqual((first.may_act, second.may_act), (False, True))
        first.go_on()
        self.pass_time(20)
        self.assertEqual((first.changes, second.changes), ([True, False], [True]))

    def test_overthrown(self) -> None:
        """A leader whose Lease was given to another by hand follows in its next turn."""
        first = self.machine("a")
        raw = self.server.writer.read(self.server.kind, *KEY)
        spec = raw["spec"] | {"holderIdentity": "somebody"}
        self.server.writer.replace(self.server.kind, *KEY, raw | {"spec": spec})
        with capturedLogs() as events:
            self.pass_time(LONGEST_TURN)
        self.assertFalse(first.may_act)
        self.assertIn("belongs to somebody", formatEvent(events[-1]))

    def test_deleted(self) -> None:
        """A Lease that is deleted is written anew by its leader, and taken by nobody else before."""
        first, second = self.machine("a"), self.machine("b")
        self.pass_time(20)
        self.server.writer.delete(self.server.kind, *KEY)
        self.pass_time(30)
        self.assertEqual((first.changes, second.changes), ([True], []))
        self.assertEqual(self.server.lease["holderIdentity"], "a")

    def test_touched(self) -> None:
        """A change of the Lease by somebody else, that leaves the holder, costs one refusal and no leader."""
        first = self.machine("a")
        raw = self.server.writer.read(self.server.kind, *KEY)
        labelled = raw | {"metadata": raw["metadata"] | {"labels": {"seen": "yes"}}}
        self.server.writer.replace(self.server.kind, *KEY, labelled)
        self.pass_time(10)
        self.assertEqual(first.changes, [True])
        metadata = self.server.writer.read(self.server.kind, *KEY)["metadata"]
        self.assertEqual(metadata["labels"], {"seen": "yes"})


class TroubleTests(ElectorCase):
    """An API server that does not do what it is asked."""

    def test_away_and_back(self) -> None:
        """A leader that cannot renew gives up at its deadline, before its Lease has run out, and leads again later."""
        first = self.machine("a")
        self.server.error = AWAY
        self.pass_time(TERMS.deadline_seconds - 0.2)
        self.assertTrue(first.may_act)
        with capturedLogs() as events:
            self.pass_time(0.4)
        self.assertEqual((first.may_act, first.changes), (False, [True, False]))
        self.assertIn("could not be renewed in time", "".join(formatEvent(event) for event in events))
        self.server.error = None
        self.pass_time(LONGEST_TURN + 0.2)
        self.assertEqual(first.changes, [True, False, True])
        self.assertEqual(self.server.lease["leaseTransitions"], 0)

    def test_short_trouble(self) -> None:
        """Trouble that is shorter than the deadline is not noticed by anybody."""
        first, second = self.machine("a"), self.machine("b")
        for error in (
            AWAY,
            KubernetesError(500, "InternalError", "etcd"),
            KubernetesError(429, "x", "y", 30.0),
        ):
            self.server.error = error
            self.pass_time(6)
            self.server.error = None
            self.pass_time(6)
        self.assertEqual((first.changes, second.changes), ([True], []))

    def test_answer_lost(self) -> None:
        """A write that was done, and whose answer never came, makes a leader in the next turns."""
        trips = iter((0.0, 0.0, 0.0, None))
        self.server.trip = lambda: next(trips, 0.0)
        first = self.machine("a")
        self.assertEqual(self.server.lease["holderIdentity"], "a")
        self.assertFalse(first.may_act)
        self.pass_time(sum(TERMS.request_timeouts) + LONGEST_TURN + 0.2)
        self.assertTrue(first.may_act)

    def test_silence(self) -> None:
        """Requests that are never answered are one at a time, and what is said about them is little."""
        self.server.trip = lambda: None
        with capturedLogs() as events:
            self.machine("a")
            self.pass_time(300)
        self.assertLess(len(self.server.requests), 300 / sum(TERMS.request_timeouts))
        self.assertLessEqual(len(events), 6)

    def test_forbidden(self) -> None:
        """Without the right to the Lease nobody leads, that is said once, and asked for at least every 20 seconds."""
        self.server.error = FORBIDDEN
        with capturedLogs() as events:
            first = self.machine("a")
            self.pass_time(3600, 1.0)
        self.assertFalse(first.may_act)
        self.assertEqual(len(events), 1, events)
        self.assertIn("Not permitted to take part in the election", formatEvent(events[0]))
        self.assertLess(len(self.server.requests), 3600 / 10 + 10)
        self.server.error = None
        with capturedLogs() as events:
            self.pass_time(24, 1.0)
        self.assertTrue(first.may_act)
        self.assertIn("Permitted now", formatEvent(events[0]))

    def test_only_reading(self) -> None:
        """Who may read the Lease and not write it is told once, and not that it is permitted now by each look."""
        self.server.fails = lambda request: FORBIDDEN if request.method != "GET" else None
        with capturedLogs() as events:
            self.machine("a")
            self.pass_time(600)
        self.assertEqual(len(events), 1, events)

    def test_forbidden_after_an_outage(self) -> None:
        """An API server that says no has answered."""
        self.server.fails = lambda request: FORBIDDEN if request.method != "GET" else None
        machine = self.machine("a")
        self.pass_time(10)
        self.server.error = AWAY
        self.pass_time(100)
        self.assertEqual(machine.times_regained, 0)
        self.server.error = None
        self.pass_time(60)
        self.assertEqual(machine.times_regained, 1)

    def test_trouble_with_writing(self) -> None:
        """An API server that answers reading and fails at writing does not answer again by each look."""
        self.server.fails = lambda request: AWAY if request.method != "GET" else None
        with capturedLogs() as events:
            self.machine("a")
            self.pass_time(60)
        self.assertFalse([one for one in map(formatEvent, events) if one and "answers again" in one])
        self.server.fails = lambda request: None
        with capturedLogs() as events:
            self.pass_time(60)
        self.assertEqual(len([one for one in map(formatEvent, events) if one and "answers again" in one]), 1)

    def test_page_in_between(self) -> None:
        """A page that is not the API server's is no word of the Lease being gone."""
        first, second = self.machine("a"), self.machine("b")
        self.pass_time(1)
        self.server.error = KubernetesError(404, "NotFound", "it does not serve that")
        self.pass_time(8)
        count = len([one for one in self.server.requests if one.method == "POST"])
        self.assertEqual((first.may_act, second.may_act, count), (True, False, 1))

    def test_conflict_for_ever(self) -> None:
        """Writes that are refused for another's, which nobody sees, are told of; one now and then is not."""
        conflict = KubernetesError(409, "Conflict", "the object has been modified")
        self.server.fails = lambda request: conflict if request.method != "GET" else None
        with capturedLogs() as events:
            machine = self.machine("a")
            self.pass_time(60)
        self.assertIn("409 Conflict", formatEvent(events[0]) or "")
        self.assertFalse(machine.may_act)
        self.server.fails = lambda request: None
        self.pass_time(30)
        self.assertTrue(machine.may_act)

    def test_refused_for_what_it_is_made_of(self) -> None:
        """A write that the API server takes for invalid is followed by a look: what is known may be wrong, and is not written again."""
        machine = self.machine("a")
        self.pass_time(1)
        for status in (400, 404, 415, 422):
            refused = iter(
                [KubernetesError(status, "Invalid", "metadata.resourceVersion: Invalid value: 0x0")]
            )
            self.server.fails = lambda request, refused=refused: (  # type: ignore[misc]
                next(refused, None) if request.method == "PUT" else None
            )
            before = len(self.server.requests)
            self.pass_time(2 * LONGEST_TURN)
            self.assertEqual(
                [request.method for request in self.server.requests[before:]][:3], ["PUT", "GET", "PUT"]
            )
        self.assertEqual((machine.may_act, machine.changes), (True, [True]))

    def test_time_removed(self) -> None:
        """A Lease of ours out of which somebody took a time is renewed all the same."""
        machine = self.machine("a")
        lease = self.server.writer.read(self.server.kind, *KEY)
        self.server.writer.replace(
            self.server.kind, *KEY, {**lease, "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15}}
        )
        self.pass_time(TERMS.deadline_seconds + 1)
        self.assertEqual((machine.may_act, machine.changes), (True, [True]))
        self.assertTrue(self.server.lease["acquireTime"])

    def test_regained(self) -> None:
        """Who asks for it is told, once, when the API server answers again after an outage."""
        machine = self.machine("a")
        self.pass_time(10)
        self.assertEqual(machine.times_regained, 0)
        self.server.error = KubernetesError(0, "Unreachable", "Connection refused")
        self.pass_time(100)
        self.assertEqual(machine.times_regained, 0)
        self.server.error = None
        self.pass_time(10)
        self.assertEqual(machine.times_regained, 1)

    def test_forbidden_for_a_moment(self) -> None:
        """An API server that has just started, and denies all, costs seconds."""
        self.server.error = FORBIDDEN
        first = self.machine("a")
        self.pass_time(3)
        self.server.error = None
        self.pass_time(10)
        self.assertTrue(first.may_act)

    def test_namespace_missing(self) -> None:
        """Where there is no namespace for the Lease, that is said, and tried again."""
        missing = KubernetesError(404, "NotFound", 'namespaces "ours" not found')
        self.server.error = missing
        with capturedLogs() as events:
            first = self.machine("a")
            self.pass_time(10)
        self.assertIn("not found", formatEvent(events[0]))
        self.server.error = None
        self.pass_time(5)
        self.assertTrue(first.may_act)


class StopTests(ElectorCase):
    """The end of a candidate."""

    def test_follower(self) -> None:
        """A candidate that does not lead ends at once and leaves the Lease alone."""
        self.machine("a")
        second = self.machine("b")
        self.pass_time(5)
        count = len(self.server.requests)
        self.successResultOf(second.elector.stop())
        self.assertEqual(len(self.server.requests), count)

    def test_never_started(self) -> None:
        """A candidate that was never started ends at once."""
        machine = self.machine("a", start=False)
        self.successResultOf(machine.elector.stop())
        self.assertEqual(self.server.requests, [])

    def test_server_away(self) -> None:
        """A server that does not answer does not hold up the end for longer than a second."""
        first = self.machine("a")
        self.server.trip = lambda: None
        stopped: Deferred[None] = first.elector.stop()
        self.pass_time(0.9)
        self.assertNoResult(stopped)
        self.pass_time(0.2)
        self.successResultOf(stopped)

    def test_while_renewing(self) -> None:
        """A renewal that is under way is waited for, so that the Lease can be released behind it."""
        self.server.trip = lambda: 0.2
        first = self.machine("a")
        while not (self.server.requests and self.server.requests[-1].method == "PUT"):
            self.pass_time(0.1)
        stopped = first.elector.stop()
        self.pass_time(0.9)
        self.successResultOf(stopped)
        self.assertEqual(self.server.lease["holderIdentity"], "")

    def test_while_claiming(self) -> None:
        """A claim that is under way is undone, so that nobody has to wait for who never led."""
        self.server.trip = lambda: 0.2
        first = self.machine("a")
        while not (self.server.requests and self.server.requests[-1].method == "POST"):
            self.pass_time(0.1)
        stopped = first.elector.stop()
        self.pass_time(0.9)
        self.successResultOf(stopped)
        self.assertEqual((self.server.lease["holderIdentity"], first.changes), ("", []))

    def test_while_looking_again(self) -> None:
        """A leader that was refused, and looks whether the Lease is still its own, releases it behind that."""
        first = self.machine("a")
        raw = self.server.writer.read(self.server.kind, *KEY)
        labelled = raw | {"metadata": raw["metadata"] | {"labels": {"seen": "yes"}}}
        self.server.writer.replace(self.server.kind, *KEY, labelled)
        self.server.trip = lambda: 0.2
        while self.server.requests[-2].method != "PUT":
            self.pass_time(0.1)
        self.assertEqual(self.server.requests[-1].method, "GET")
        stopped = first.elector.stop()
        self.pass_time(0.9)
        self.successResultOf(stopped)
        self.assertEqual(self.server.lease["holderIdentity"], "")

    def test_while_looking(self) -> None:
        """A candidate that waits for an answer to a look ends at once."""
        self.server.trip = lambda: 0.2
        first = self.machine("a")
        self.successResultOf(first.elector.stop())

    def test_nothing_after_it(self) -> None:
        """After its end a candidate asks nothing."""
        first = self.machine("a")
        first.elector.stop()
        self.pass_time(1)
        count = len(self.server.requests)
        self.pass_time(60)
        self.assertEqual(len(self.server.requests), count)


class HourTests(ElectorCase):
    """An hour of faults."""

    def test_hour(self) -> None:
        """Never do two lead, nor do writes of two leaders overlap, in an hour of lost, late and refused requests."""
        for seed in (1, 2, 3):
            self.run_hour(random.Random(seed), LONG_TRIPS, 0.05)

    def test_liveness(self) -> None:
        """With less of that, somebody leads most of the time."""
        leading = self.run_hour(random.Random(4), TRIPS, 0.01)
        self.assertGreater(sum(leading), 0.7)

    def run_hour(self, source: random.Random, trips: tuple[float, ...], lost: float) -> list[float]:
        """Play an hour of faults with two candidates; return which part of it each of them led."""
        self.server = LeaseServer(self.clock)
        self.server.trip = lambda: None if source.random() < lost else source.choice(trips)
        pair = [
            self.machine(name, began=source.uniform(-1e6, 1e6), skew_seconds=source.uniform(-1e5, 1e5))
            for name in ("a", "b")
        ]
        leading = [0, 0]
        # Who wrote last as a leader, and when the last such write may still have taken effect.
        writer, until = -1, 0.0
        for step in range(3600 * 4):
            self.clock.advance(0.25)
            now = self.clock.seconds()
            acting = [number for number, machine in enumerate(pair) if machine.may_act]
            self.assertLessEqual(len(acting), 1, step)
            for number in acting:
                leading[number] += 1
                if not pair[number].is_standing_still:
                    self.assertTrue(number == writer or now >= until, step)
                    writer, until = number, now + sum(TERMS.write_timeouts)
            machine = source.choice(pair)
            if source.random() < (0.02 if machine.is_standing_still else 0.001):
                (machine.go_on if machine.is_standing_still else machine.stand_still)()
            if source.random() < (0.01 if self.server.error else 0.001):
                self.server.error = None if self.server.error else AWAY
        # It is an election all the same: each of them led, and more than once.
        self.assertGreater(min(leading), 100)
        self.assertGreater(self.server.lease["leaseTransitions"], 2)
        for machine in pair:
            machine.go_on()
            machine.elector.stop()
        self.machines.clear()
        self.pass_time(30)
        return [steps / (3600 * 4) for steps in leading]
