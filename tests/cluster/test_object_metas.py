"""Tests for ``ingress.cluster.object_metas``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.object_metas import ObjectMetas
from ingress.model.cluster.object_meta import NO_META, Address, ObjectMeta, SeenStatus
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey

_IDS = st.tuples(
    st.sampled_from([Kind.INGRESS, Kind.SERVICE]),
    st.builds(ObjectKey, st.just("shop"), st.sampled_from("ab")),
)
_METAS = st.sampled_from(
    [
        None,
        ObjectMeta("u"),
        ObjectMeta("v"),
        ObjectMeta("00000000-0000-4000-8000-00000000000a"),
        # One that is spelled otherwise is another one.
        ObjectMeta("00000000-0000-4000-8000-00000000000A"),
        ObjectMeta("0000000000004000800000000000000a"),
        ObjectMeta("10"),
        ObjectMeta("u", (Address("192.0.2.1"),)),
        ObjectMeta("u", writer="helm"),
        ObjectMeta("u", seen=SeenStatus(b"{}", 2, "7")),
        ObjectMeta("u", writer="helm", seen=SeenStatus(b"{}", 2, "7")),
        ObjectMeta("u", writer="helm", seen=SeenStatus(None, 2, "8")),
        ObjectMeta("u", (Address("192.0.2.1"),), seen=SeenStatus(b"{}", 2, "7")),
    ]
)


class ObjectMetasTests(SynchronousTestCase):
    """A mapping by kind and key."""

    @given(puts=st.lists(st.tuples(_IDS, _METAS)))
    def test_like_a_dictionary(self, puts: list[tuple[ObjectId, ObjectMeta | None]]) -> None:
        """Whatever is put, it holds what a dictionary would, and tells what is different."""
        metas, expected = ObjectMetas(), dict[ObjectId, ObjectMeta]()
        for object_id, meta in puts:
            changed = expected.get(object_id) != meta
            if meta is None:
                expected.pop(object_id, None)
            else:
                expected[object_id] = meta
            self.assertEqual(metas.put(object_id, meta), changed)
            self.assertEqual(metas, expected)
            self.assertEqual(len(metas), len(expected))

    def test_little_memory(self) -> None:
        """Of an object with nothing but a UUID, no more than a number is kept."""
        metas = ObjectMetas()
        uid = "0f0e0d0c-0b0a-4000-8000-010203040506"
        metas.put((Kind.SERVICE, ObjectKey("a", "b")), ObjectMeta(uid))
        self.assertEqual(metas[Kind.SERVICE, ObjectKey("a", "b")], ObjectMeta(uid))
        self.assertNotIn(uid, [kept for known in metas._known.values() for kept in known.values()])

    def test_unknown(self) -> None:
        """Of an object that it does not know there is no standing."""
        self.assertEqual(ObjectMetas().get((Kind.SECRET, ObjectKey("a", "b")), NO_META), NO_META)
