"""Which traces are sampled."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.tracing.sampling import SecondlyBound, bound_of

ratios = st.floats(0, 1)
ids = st.binary(min_size=16, max_size=16).map(bytes.hex)


def is_drawn(trace_id: str, ratio: float) -> bool:
    """Whether this trace is sampled by a ratio."""
    return trace_id[16:] < bound_of(ratio)


class RatioTests(SynchronousTestCase):
    """The share of traces."""

    @given(ids)
    def test_all_and_none(self, trace_id: str) -> None:
        """By 1 each is drawn, and by 0 none."""
        self.assertEqual((is_drawn(trace_id, 1.0), is_drawn(trace_id, 0.0)), (True, False))

    @given(ids, ratios)
    def test_as_others(self, trace_id: str, ratio: float) -> None:
        """Each is drawn as OpenTelemetry's own sampler draws it."""
        from opentelemetry.sdk.trace.sampling import TraceIdRatioBased

        decision = TraceIdRatioBased(ratio).should_sample(None, int(trace_id, 16), "any")
        self.assertEqual(is_drawn(trace_id, ratio), decision.decision.is_sampled())

    @given(ids, ratios, ratios)
    def test_more(self, trace_id: str, one: float, other: float) -> None:
        """What is drawn by a ratio is drawn by any larger one."""
        least, most = sorted((one, other))
        self.assertLessEqual(is_drawn(trace_id, least), is_drawn(trace_id, most))


class BoundTests(SynchronousTestCase):
    """How many there are in a second."""

    @given(st.integers(1, 5), st.lists(st.floats(0, 10), max_size=60))
    def test_most(self, most: int, times: list[float]) -> None:
        """In no second more pass than may, and in none fewer than want to, up to that."""
        bound = SecondlyBound(most)
        passed = [int(time) for time in sorted(times) if bound.passes(time)]
        for second in range(11):
            wanted = sum(int(time) == second for time in times)
            self.assertEqual(passed.count(second), min(wanted, most))

    def test_no_bound(self) -> None:
        """0 is no bound."""
        bound = SecondlyBound(0)
        self.assertTrue(all(bound.passes(1.0) for _ in range(1000)))
