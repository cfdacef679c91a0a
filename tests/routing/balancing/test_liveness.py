"""Tests for ``ingress.routing.balancing.health``: endpoints that take connections and never answer."""

from math import inf

from twisted.trial.unittest import SynchronousTestCase

from ingress.routing.balancing.health import FIRST_SECONDS, LONGEST_SECONDS, MISSES, Health, Liveness
from tests.routing.balancing.test_balancer import endpoints

ONE, TWO, THREE = ALL = endpoints(1, 2, 3)
WAIT = 60.0


class LivenessTests(SynchronousTestCase):
    """What counts as waiting in vain."""

    def test_in_a_row(self) -> None:
        """Requests that waited in vain count while nothing comes."""
        liveness = Liveness()
        for count in range(1, 4):
            liveness.miss(since=count * 10.0)
            self.assertEqual(liveness.missed, count)

    def test_heard_meanwhile(self) -> None:
        """One that waited while the endpoint said something else does not count, however often."""
        liveness = Liveness()
        for now in (60.0, 70.0, 80.0, 90.0):
            liveness.heard_at = now - 5
            liveness.miss(now - WAIT)
            self.assertEqual(liveness.missed, 0)

    def test_heard_between(self) -> None:
        """Whatever came since the last one that counted begins a new row."""
        liveness = Liveness()
        liveness.miss(0.0)
        liveness.miss(10.0)
        liveness.heard_at = 80.0
        liveness.miss(90.0)
        self.assertEqual(liveness.missed, 1)


class SilentTests(SynchronousTestCase):
    """How endpoints leave and come back that are silent."""

    def setUp(self) -> None:
        self.health = Health()
        self.liveness = Liveness()

    def miss(self, now: float, times: int = 1) -> float:
        """Have ONE miss deadlines; return for how long the last one ejects it."""
        seconds = 0.0
        for _ in range(times):
            self.liveness.miss(now - WAIT)
            seconds = self.health.silent(ONE, ALL, now, self.liveness)
        return seconds

    def test_ejected(self) -> None:
        """The third in a row ejects, however far apart they are."""
        self.assertEqual([self.miss(100.0), self.miss(500.0), self.miss(900.0)], [0.0, 0.0, FIRST_SECONDS])
        self.assertEqual(self.health.in_rotation(ALL), (TWO, THREE))
        self.assertEqual(self.miss(901.0), 0.0)

    def test_heard(self) -> None:
        """It is back as soon as anything came."""
        self.miss(100.0, MISSES)
        self.assertEqual(self.health.returning(101.0), ())
        self.assertEqual(self.health.next_return, -inf)
        self.liveness.heard_at = 101.5
        self.assertEqual(self.health.returning(102.0), (ONE,))
        self.assertEqual(self.health.in_rotation(ALL), ALL)
        self.assertEqual(self.health.next_return, inf)

    def test_connected(self) -> None:
        """That it can be connected to means nothing."""
        self.miss(100.0, MISSES)
        self.assertFalse(self.health.reached(ONE, 101.0))
        self.assertEqual(self.health.ejected, (ONE,))

    def test_trial(self) -> None:
        """When its time is over it gets one request; that missed, it stays away twice as long, up to a limit."""
        now, lengths = 100.0, [self.miss(100.0, MISSES)]
        for _ in range(4):
            now += lengths[-1]
            self.assertEqual(self.health.returning(now), ())
            self.assertTrue(self.health.has_trials)
            self.assertEqual(self.health.in_rotation(ALL), ALL)
            self.assertTrue(self.health.trial_began(ONE, now))
            self.assertFalse(self.health.trial_began(ONE, now))
            self.assertEqual(self.health.in_rotation(ALL), (TWO, THREE))
            now += WAIT
            lengths.append(self.miss(now))
        self.assertEqual(lengths, [10.0, 20.0, 40.0, LONGEST_SECONDS, LONGEST_SECONDS])

    def test_trial_without_end(self) -> None:
        """A trial of which nothing is heard, for its client left, is followed by another."""
        self.miss(100.0, MISSES)
        self.health.returning(110.0)
        self.health.trial_began(ONE, 110.0)
        self.assertEqual(self.health.back_at(ONE), 110.0 + LONGEST_SECONDS)
        self.assertEqual(self.health.returning(109.9 + LONGEST_SECONDS), ())
        self.assertEqual(self.health.in_rotation(ALL), (TWO, THREE))
        self.assertEqual(self.health.returning(110.0 + LONGEST_SECONDS), ())
        self.assertEqual(self.health.in_rotation(ALL), ALL)
        self.assertTrue(self.health.trial_began(ONE, 200.0))

    def test_no_trial(self) -> None:
        """A request to one that is not on trial, though another is, leaves it in rotation."""
        self.miss(100.0, MISSES)
        self.health.returning(110.0)
        self.assertFalse(self.health.trial_began(TWO, 110.0))
        self.assertEqual(self.health.in_rotation(ALL), ALL)
        self.assertEqual([self.health.is_on_trial(one) for one in ALL], [True, False, False])

    def test_trial_of_the_last(self) -> None:
        """Whose trial has begun is trusted, too, when all others went, and is not on trial any more."""
        self.miss(100.0, MISSES)
        self.health.returning(110.0)
        self.health.trial_began(ONE, 110.0)
        self.assertEqual(self.health.in_rotation((ONE,)), (ONE,))
        self.assertFalse(self.health.has_trials)
        self.assertFalse(self.health.trial_began(ONE, 111.0))

    def test_of_another_backend(self) -> None:
        """One that the backend has no more is not ejected, and nothing is kept of it."""
        self.liveness.missed = MISSES
        self.assertEqual(self.health.silent(ONE, (TWO, THREE), 100.0, self.liveness), 0.0)
        self.assertEqual(self.health.ejected, ())
        self.assertFalse(self.health.remembers(ONE))

    def test_last(self) -> None:
        """The last endpoint stays, and those that are left when all others went are trusted."""
        self.assertEqual(self.health.silent(ONE, (ONE,), 100.0, self.liveness), 0.0)
        self.liveness.missed = 9
        self.assertEqual(self.health.silent(ONE, (ONE,), 100.0, self.liveness), 0.0)
        self.assertGreater(self.miss(101.0), 0.0)
        self.assertEqual(self.health.in_rotation((ONE,)), (ONE,))
        self.assertEqual((self.health.ejected, self.health.has_trials), ((), False))
        self.assertEqual(self.health.next_return, inf)

    def test_gone(self) -> None:
        """Nothing is kept of an endpoint that went."""
        self.miss(100.0, MISSES)
        self.health.returning(110.0)
        self.assertEqual(self.health.in_rotation((TWO, THREE)), (TWO, THREE))
        self.assertEqual((self.health.ejected, self.health.has_trials), ((), False))
        self.assertEqual(self.health.returning(999.0), ())
