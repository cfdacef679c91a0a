"""Tests for ``ingress.cluster.standings``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.standings import Standings
from ingress.model.objects import Kind, ObjectId, ObjectKey
from ingress.model.standing import NO_STANDING, Address, Standing

_IDS = st.tuples(
    st.sampled_from([Kind.INGRESS, Kind.SERVICE]),
    st.builds(ObjectKey, st.just("shop"), st.sampled_from("ab")),
)
_STANDINGS = st.sampled_from(
    [None, Standing("u"), Standing("v"), Standing("u", (Address("192.0.2.1"),)), Standing("u", writer="helm")]
)


class StandingsTests(SynchronousTestCase):
    """A mapping by kind and key."""

    @given(puts=st.lists(st.tuples(_IDS, _STANDINGS)))
    def test_like_a_dictionary(self, puts: list[tuple[ObjectId, Standing | None]]) -> None:
        """Whatever is put, it holds what a dictionary would, and tells what is different."""
        standings, expected = Standings(), dict[ObjectId, Standing]()
        for object_id, standing in puts:
            changed = expected.get(object_id) != standing
            if standing is None:
                expected.pop(object_id, None)
            else:
                expected[object_id] = standing
            self.assertEqual(standings.put(object_id, standing), changed)
            self.assertEqual(standings, expected)
            self.assertEqual(len(standings), len(expected))

    def test_unknown(self) -> None:
        """Of an object that it does not know there is no standing."""
        self.assertEqual(Standings().get((Kind.SECRET, ObjectKey("a", "b")), NO_STANDING), NO_STANDING)
