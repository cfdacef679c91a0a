"""A few texts that are kept as one."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.text.packed_texts import MOST_PACKED, packed, unpacked

SOME = ("10.0.0.1", "10.0.0.2", "2001:db8::1")


class PackedTextsTests(SynchronousTestCase):
    """Texts, packed and unpacked."""

    @given(st.lists(st.text(alphabet="ab,. "), max_size=5).map(tuple))
    def test_any(self, texts: tuple[str, ...]) -> None:
        """Whatever texts they are, the same come out of what is kept of them, packed once or twice."""
        self.assertEqual(unpacked(packed(texts)), texts)
        self.assertEqual(packed(packed(texts)), packed(texts))

    def test_equal(self) -> None:
        """What is kept of different texts is different."""
        different = ((), ("",), ("", ""), ("a",), ("a", "b"), ("a,b",), ("a", ""), ("a,",))
        self.assertEqual(len({packed(texts) for texts in different}), len(different))

    def test_one(self) -> None:
        """Usual ones are one text; very many stay as they are, and are at hand at once."""
        self.assertIsInstance(packed(SOME), str)
        many = tuple(map(str, range(MOST_PACKED + 1)))
        self.assertIsInstance(packed(many[1:]), str)
        self.assertIs(unpacked(packed(many)), many)
