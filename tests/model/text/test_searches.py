"""Tests for ``ingress.model.text.searches``."""

import pickle

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.text.expressions import MAX_EXPRESSION_CHARACTERS, ExpressionRefused
from ingress.model.text.searches import MAX_CAPTURED, MAX_COST, Search, TooLong, read_search


class SearchTests(SynchronousTestCase):
    """What is found of an expression."""

    def test_groups(self) -> None:
        """An expression is looked for anywhere; groups have numbers and names, and are empty where they took no part."""
        search = read_search("/(?P<name>[a-z]+)(/x)?$")
        self.assertEqual(search.groups(b"/a/b"), {"1": b"b", "2": b"", "name": b"b"})
        self.assertIsNone(search.groups(b"/1"))
        self.assertEqual(search.names, {"1", "2", "name"})
        self.assertEqual(read_search("x").groups(b"axb"), {})

    def test_case(self) -> None:
        """Case counts unless it is ignored."""
        self.assertIsNone(read_search("bot").groups(b"BOT"))
        self.assertEqual(read_search("bot", ignores_case=True).groups(b"BOT"), {})

    def test_bytes(self) -> None:
        """Any bytes can be searched."""
        self.assertEqual(read_search("a(.)b").groups(b"a\xffb"), {"1": b"\xff"})
        self.assertEqual(read_search("ä").groups("ä".encode()), {})

    def test_line_feed_at_the_end(self) -> None:
        """The end is also before a line feed that ends the text, as in nginx, so that nobody gets past a guard by one."""
        search = read_search("^/(admin)$")
        self.assertEqual(search.groups(b"/admin\n"), {"1": b"admin"})
        for text in (b"/admin\n\n", b"/admin\nx", b"\n"):
            self.assertIsNone(search.groups(text))

    def test_refused(self) -> None:
        """What RE2 does not do, and what is too long, is refused."""
        for text in (
            "(?=a)",
            "(a)\\1",
            "(",
            "\ud800",
            "a" * (MAX_EXPRESSION_CHARACTERS + 1),
            "(a{1000}){1000}",
        ):
            self.assertRaises(ExpressionRefused, read_search, text)

    def test_long_texts(self) -> None:
        """A text is not searched where that could take long."""
        wide = read_search("(a?){100}a{100}")
        self.assertRaises(TooLong, wide.groups, b"a" * MAX_COST)
        self.assertEqual(read_search("(b)").groups(b"a" * 8192 + b"b"), {"1": b"b"})

    def test_long_texts_with_groups(self) -> None:
        """Groups are not captured from where RE2 takes its slow way on: what has none may be longer."""
        for text, takes in (("a*" * 16, True), ("(a*)" * 16, False)):
            search = read_search(text)
            octets = b"a" * (MAX_COST // search.cost(b"a"))
            if takes:
                self.assertIsNotNone(search.groups(octets))
            else:
                self.assertRaises(TooLong, search.groups, octets)
                self.assertRaises(TooLong, search.groups, octets[: MAX_CAPTURED // search.cost(b"a") + 1])
                self.assertIsNotNone(search.groups(octets[: MAX_CAPTURED // search.cost(b"a")]))

    def test_little_in_long_texts(self) -> None:
        """A name of a list is found with its groups in a text that is too long to capture all of it, and where it is not at all."""
        search = read_search(
            "(^|; )(wordpress_logged_in|comment_author|[a-z]+_in_cart)=(\\d$)?", ignores_case=True
        )
        most = MAX_COST // search.cost(b"a")
        self.assertGreater(most, MAX_CAPTURED // search.cost(b"a"))
        self.assertIsNone(search.groups(b"a" * most))
        for text, last in ((b"; Comment_Author=1; ", b""), (b"; Comment_Author=1", b"1")):
            subject = text.rjust(most, b"-")
            self.assertEqual(search.groups(subject), {"1": b"; ", "2": b"Comment_Author", "3": last})
        self.assertRaises(TooLong, search.groups, b"a" * (most + 1))

    def test_cost(self) -> None:
        """What a search counts grows with the text and with the expression, whatever is found."""
        short, wide = read_search("a"), read_search("(a?){100}")
        self.assertEqual(short.cost(b"b" * 100), 100 * short.cost(b"b"))
        self.assertGreater(wide.cost(b"b"), 100 * short.cost(b""))
        self.assertGreater(wide.cost(b"b"), short.cost(b"b"))

    def test_plain_data(self) -> None:
        """Searches are equal by value."""
        self.assertEqual(pickle.loads(pickle.dumps(read_search("a"))), Search("a"))
