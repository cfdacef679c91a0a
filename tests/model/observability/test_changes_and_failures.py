"""Tests for ``ingress.model.observability.changes_and_failures``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.observability.changes_and_failures import shown, shown_octets


class ShownTests(SynchronousTestCase):
    """Texts of others on their way into the history."""

    def test_plain(self) -> None:
        """What is short and harmless stays as it is, other scripts included."""
        self.assertEqual(shown("Straße → 道"), "Straße → 道")
        self.assertEqual(shown_octets(b"/cart?id=<7>"), "/cart?id=<7>")

    def test_escapes(self) -> None:
        """What a terminal or a line of a log would obey is escaped, and so are octets that are no ASCII."""
        self.assertEqual(shown("a\nb\x1b[2J\u202ec"), "a\\x0Ab\\x1B[2J\\u202Ec")
        self.assertEqual(shown_octets(b"/\xff\r\n\x00"), "/\\xFF\\x0D\\x0A\\x00")

    def test_bounds(self) -> None:
        """Nothing is longer than it may be, however it is escaped."""
        for text in ("x" * 1000, "\x1b" * 1000, "é" * 1000):
            self.assertEqual(len(shown(text, 20)), 20)
            self.assertEqual(len(shown_octets(text.encode(), 20)), 20)
        self.assertEqual(shown("x" * 20, 20), "x" * 20)
