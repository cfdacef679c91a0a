"""Tests for ``ingress.cluster.ledger``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.ledger import Ledger
from ingress.model.objects import ObjectKey

A, B = ObjectKey("x", "a"), ObjectKey("x", "b")
_KEYS = [ObjectKey("x", name) for name in "abcd"]


class LedgerTests(SynchronousTestCase):
    """What was handed over."""

    def test_known_versions_are_no_news(self) -> None:
        """An object is news once for each of its versions."""
        ledger = Ledger()
        self.assertTrue(ledger.present(A, "1"))
        self.assertFalse(ledger.present(A, "1"))
        self.assertTrue(ledger.present(A, "2"))

    def test_deletion(self) -> None:
        """A deletion is news when the object was there; it then is news again."""
        ledger = Ledger()
        self.assertFalse(ledger.gone(A))
        ledger.present(A, "1")
        self.assertTrue(ledger.gone(A))
        self.assertTrue(ledger.present(A, "1"))

    def test_list_ends(self) -> None:
        """What a complete list does not name is gone, and only that."""
        ledger = Ledger()
        ledger.present(A, "1")
        ledger.present(B, "1")
        ledger.begin_list()
        self.assertFalse(ledger.present(B, "1"))
        self.assertEqual(ledger.end_list(), (A,))
        self.assertEqual(len(ledger), 1)

    def test_list_begins_again(self) -> None:
        """A list that broke off deletes nothing, and what it named does not count in the next."""
        ledger = Ledger()
        ledger.present(A, "1")
        ledger.present(B, "1")
        ledger.begin_list()
        ledger.present(A, "1")
        ledger.begin_list()
        ledger.present(B, "1")
        self.assertEqual(ledger.end_list(), (A,))

    @settings(derandomize=True, max_examples=150)
    @given(
        st.lists(
            st.tuples(
                st.dictionaries(st.sampled_from(_KEYS), st.sampled_from("123"), max_size=4), st.booleans()
            ),
            max_size=8,
        )
    )
    def test_mirrors_the_lists(self, lists: list[tuple[dict[ObjectKey, str], bool]]) -> None:
        """After any lists, complete or broken off, a consumer holds what the complete ones imply."""
        ledger = Ledger()
        consumer: dict[ObjectKey, str] = {}
        for content, is_complete in lists:
            before = dict(consumer)
            ledger.begin_list()
            for key, version in content.items():
                if ledger.present(key, version):
                    self.assertNotEqual(consumer.get(key), version)
                    consumer[key] = version
            if is_complete:
                for key in ledger.end_list():
                    del consumer[key]
                self.assertEqual(consumer, content)
            else:
                self.assertEqual(consumer, {**before, **content})
