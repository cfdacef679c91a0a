"""Tests for ``ingress.cluster.watching.known_versions``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.watching.known_versions import KnownVersions
from ingress.model.cluster.objects import ObjectKey
from tests.properties import examples

A, B = ObjectKey("x", "a"), ObjectKey("x", "b")
_KEYS = [ObjectKey("x", name) for name in "abcd"]


class KnownVersionsTests(SynchronousTestCase):
    """What was handed over."""

    def test_known_versions_are_no_news(self) -> None:
        """An object is news once for each of its versions."""
        known_versions = KnownVersions()
        self.assertTrue(known_versions.present(A, "1"))
        self.assertFalse(known_versions.present(A, "1"))
        self.assertTrue(known_versions.present(A, "2"))

    def test_any_text(self) -> None:
        """Versions are any text: only what is spelled alike is the same."""
        spellings = ("7", "07", "+7", "\u0667", "7.0", "", "v7", "7" * 5000, "7" * 5001)
        for before in spellings:
            for after in spellings:
                known_versions = KnownVersions()
                known_versions.present(A, before)
                self.assertIs(known_versions.present(A, after), before != after, (before[:9], after[:9]))

    def test_distrust(self) -> None:
        """Once they are distrusted each object is news when it is named next, or is not: only from then on its version counts again."""
        for version in ("1", "-1", ""):
            known_versions = KnownVersions()
            for key in (A, B):
                known_versions.present(key, version)
            known_versions.distrust()
            known_versions.begin_list()
            self.assertTrue(known_versions.present(A, version))
            self.assertFalse(known_versions.present(A, version))
            self.assertEqual(known_versions.end_list(), (B,))

    def test_deletion(self) -> None:
        """A deletion is news when the object was there; it then is news again."""
        known_versions = KnownVersions()
        self.assertFalse(known_versions.gone(A))
        known_versions.present(A, "1")
        self.assertTrue(known_versions.gone(A))
        self.assertTrue(known_versions.present(A, "1"))

    def test_list_ends(self) -> None:
        """What a complete list does not name is gone, and only that."""
        known_versions = KnownVersions()
        known_versions.present(A, "1")
        known_versions.present(B, "1")
        known_versions.begin_list()
        self.assertFalse(known_versions.present(B, "1"))
        self.assertEqual(known_versions.end_list(), (A,))
        self.assertEqual(len(known_versions), 1)

    def test_list_begins_again(self) -> None:
        """A list that broke off deletes nothing, and what it named does not count in the next."""
        known_versions = KnownVersions()
        known_versions.present(A, "1")
        known_versions.present(B, "1")
        known_versions.begin_list()
        known_versions.present(A, "1")
        known_versions.begin_list()
        known_versions.present(B, "1")
        self.assertEqual(known_versions.end_list(), (A,))

    @settings(derandomize=True, max_examples=examples(150))
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
        known_versions = KnownVersions()
        consumer: dict[ObjectKey, str] = {}
        for content, is_complete in lists:
            before = dict(consumer)
            known_versions.begin_list()
            for key, version in content.items():
                if known_versions.present(key, version):
                    self.assertNotEqual(consumer.get(key), version)
                    consumer[key] = version
            if is_complete:
                for key in known_versions.end_list():
                    del consumer[key]
                self.assertEqual(consumer, content)
            else:
                self.assertEqual(consumer, {**before, **content})
