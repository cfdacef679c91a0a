"""Tests for ``ingress.routing.balancing.health``."""

from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.upstream.backends import Endpoint
from ingress.routing.balancing.health import FAILURES, FIRST_SECONDS, LONGEST_SECONDS, Health
from tests.properties import examples
from tests.routing.balancing.test_balancer import endpoints

ONE, TWO, THREE = ALL = endpoints(1, 2, 3)


class HealthTests(SynchronousTestCase):
    """Which endpoints are ejected, and for how long."""

    def setUp(self) -> None:
        self.health = Health()

    def failing(self, *times: float, endpoint: object = ONE) -> list[float]:
        """Let *endpoint* fail at *times*; for how long it is ejected each time."""
        return [self.health.failed(endpoint, ALL, time) for time in times]  # type: ignore[arg-type]

    def test_three_failures_in_ten_seconds(self) -> None:
        """The third failure within ten seconds ejects for ten seconds."""
        self.assertEqual(self.failing(0.0, 5.0, 9.9), [0.0, 0.0, FIRST_SECONDS])
        self.assertEqual(self.health.ejected, (ONE,))
        self.assertEqual(self.health.next_return, 19.9)
        self.assertEqual(self.health.in_rotation(ALL), (TWO, THREE))

    def test_failures_far_apart(self) -> None:
        """Failures that are ten seconds apart never eject."""
        self.assertEqual(self.failing(*(4.0 * n for n in range(2)), 10.0, 20.0, 30.0), [0.0] * 5)
        self.assertEqual(self.health.ejected, ())
        self.assertEqual(self.health.next_return, inf)

    def test_return(self) -> None:
        """An endpoint comes back when its time is over, and not before."""
        self.failing(0.0, 0.0, 0.0)
        self.assertEqual(self.health.returning(9.9), ())
        self.assertEqual(self.health.returning(10.0), (ONE,))
        self.assertEqual(self.health.in_rotation(ALL), ALL)
        self.assertEqual(self.health.returning(10.0), ())

    def test_growing(self) -> None:
        """Each ejection in a row is twice as long, up to a limit."""
        now, lengths = 0.0, []
        for _ in range(5):
            length = self.failing(now, now, now)[-1]
            lengths.append(length)
            now += length
            self.assertEqual(self.health.returning(now), (ONE,))
        self.assertEqual(lengths, [10.0, 20.0, 40.0, LONGEST_SECONDS, LONGEST_SECONDS])

    def test_forgiven(self) -> None:
        """After a while without ejection, the next one is short again."""
        self.failing(0.0, 0.0, 0.0)
        self.health.returning(10.0)
        now = 10.0 + LONGEST_SECONDS
        self.assertEqual(self.failing(now, now, now)[-1], FIRST_SECONDS)

    def test_not_forgiven_yet(self) -> None:
        """That while begins when the ejection is over, not when it began."""
        self.failing(0.0, 0.0, 0.0)
        self.health.returning(10.0)
        now = 9.9 + LONGEST_SECONDS
        self.assertEqual(self.failing(now, now, now)[-1], 2 * FIRST_SECONDS)

    def test_late_failures(self) -> None:
        """Attempts that were under way when their endpoint was ejected change nothing."""
        self.failing(0.0, 0.0, 0.0)
        self.assertEqual(self.failing(1.0, 2.0, 3.0), [0.0, 0.0, 0.0])
        self.assertEqual(self.health.next_return, 10.0)
        self.assertEqual(self.health.failed(endpoints(9)[0], ALL, 0.0), 0.0)

    def test_never_the_last_one(self) -> None:
        """The last endpoint that is left is not ejected, however often it fails."""
        for endpoint in (ONE, TWO):
            self.failing(0.0, 0.0, 0.0, endpoint=endpoint)
        self.assertEqual(self.failing(*range(9), endpoint=THREE), [0.0] * 9)
        self.assertEqual(self.health.in_rotation(ALL), (THREE,))
        self.assertEqual([Health().failed(ONE, (ONE,), 0.0) for _ in range(5)], [0.0] * 5)

    def test_last_one_when_another_is_back(self) -> None:
        """As soon as another endpoint is back, one more failure ejects what was the last one."""
        for endpoint in (ONE, TWO):
            self.failing(0.0, 0.0, 0.0, endpoint=endpoint)
        self.failing(0.0, 1.0, 2.0, endpoint=THREE)
        self.assertTrue(self.health.reached(ONE, 2.0))
        self.assertEqual(self.failing(3.0, endpoint=THREE), [10.0])
        self.assertEqual(self.health.in_rotation(ALL), (ONE,))

    def test_reached(self) -> None:
        """An ejected endpoint that was connected to comes back at once, and its past is not forgotten."""
        self.assertFalse(self.health.reached(ONE, 0.0))
        self.failing(0.0, 0.0, 0.0)
        self.assertTrue(self.health.reached(ONE, 1.0))
        self.assertEqual(self.health.in_rotation(ALL), ALL)
        self.assertEqual(self.failing(2.0, 2.0, 2.0)[-1], 20.0)

    def test_only_ejected_ones_left(self) -> None:
        """When all others leave the backend, an ejected endpoint is used again."""
        self.failing(0.0, 0.0, 0.0)
        self.assertEqual(self.health.in_rotation((ONE,)), (ONE,))
        self.assertEqual(self.health.ejected, ())
        self.assertEqual(self.health.in_rotation(ALL), ALL)

    def test_those_that_left_are_forgotten(self) -> None:
        """Nothing is kept of endpoints that the backend does not have any more."""
        self.failing(0.0, 0.0, 0.0)
        self.failing(0.0, endpoint=TWO)
        self.assertEqual(self.health.in_rotation((THREE,)), (THREE,))
        self.assertEqual([one for one in ALL if self.health.remembers(one)], [])

    def test_nothing_ejected_costs_nothing(self) -> None:
        """While nothing failed, the endpoints stay the same object."""
        self.assertIs(self.health.in_rotation(ALL), ALL)

    @settings(derandomize=True, deadline=None, max_examples=examples(200))
    @given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("frt"), st.floats(0, 8)), max_size=80))
    def test_somebody_is_always_left(self, events: list[tuple[int, str, float]]) -> None:
        """Whatever happens, some endpoint is left, and none stays away longer than the limit."""
        some = endpoints(0, 1, 2, 3)
        now = 0.0
        for number, event, wait in events:
            now += wait
            if event == "f":
                self.assertLessEqual(self.health.failed(some[number], some, now), LONGEST_SECONDS)
            elif event == "r":
                self.health.reached(some[number], now)
            else:
                self.health.returning(now)
            left = self.health.in_rotation(some)
            self.assertTrue(left)
            self.assertEqual(set(left) | set(self.health.ejected), set(some))
        self.health.returning(now + LONGEST_SECONDS)
        self.assertEqual(self.health.ejected, ())

    def test_many(self) -> None:
        """However many of very many endpoints failed, those that are left are looked for once."""
        compared = 0

        class Counted(str):
            __slots__ = ()
            __hash__ = str.__hash__

            def __eq__(self, other: object) -> bool:
                nonlocal compared
                compared += 1
                return super().__eq__(other)

        many = tuple(Endpoint(Counted(f"10.0.{number >> 8}.{number & 255}"), 80) for number in range(1000))
        for endpoint in many[:200]:
            for _ in range(FAILURES):
                self.health.failed(endpoint, many, 0.0)
        compared = 0
        self.assertEqual(len(self.health.in_rotation(many)), 800)
        self.assertLess(compared, 10_000)
