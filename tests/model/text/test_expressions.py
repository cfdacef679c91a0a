"""Expressions of tenants: what is run, and what is refused."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.text.expressions import (
    MAX_EXPRESSION_CHARACTERS,
    Expression,
    ExpressionRefused,
    read_expression,
)


class ExpressionTests(SynchronousTestCase):
    """What an expression says."""

    def test_all(self) -> None:
        """The subject is compared as a whole, with its case, character by character and not byte by byte; any one is what a dot stands for."""
        expression = read_expression("a|b.")
        for subject, expected in (
            ("a", True),
            ("bö", True),
            ("b", False),
            ("ab", False),
            ("A", False),
            ("a\n", False),
            ("b\n", True),
        ):
            self.assertEqual(expression.is_all_of(subject), expected, subject)

    def test_what_is_no_unicode(self) -> None:
        """Half a character is a character like others, and no error."""
        self.assertTrue(read_expression("a.").is_all_of("a\ud800"))
        self.assertFalse(read_expression("[a-z]+").is_all_of("a\ud800"))

    def test_worst(self) -> None:
        """What takes a machine that tries everything for ever is answered."""
        expression = read_expression("(a+)+(a*)*(a|aa)*$")
        self.assertTrue(expression.is_all_of("a" * 5000))
        self.assertFalse(expression.is_all_of("a" * 5000 + "b"))

    def test_equal(self) -> None:
        """Equal texts are equal expressions."""
        self.assertEqual(read_expression("a+"), Expression("a+"))


class RefusedTests(SynchronousTestCase):
    """What is refused, and why."""

    def reason(self, text: str) -> str:
        with self.assertRaises(ExpressionRefused) as caught:
            read_expression(text)
        return str(caught.exception)

    def test_size(self) -> None:
        """An expression is bounded in its text and in what it is made into."""
        read_expression("a" * MAX_EXPRESSION_CHARACTERS)
        self.assertIn("longer than 512 characters", self.reason("a" * (MAX_EXPRESSION_CHARACTERS + 1)))
        self.assertIn("too large", self.reason("(a{30}){30}" * 10))
        read_expression("((a{10}){10}b?|[a-z0-9-]+)*")

    def test_size_with_captures(self) -> None:
        """What is too large once it captures is refused where that is asked for, and not when it is run."""
        text = "((a{1,30}){1,30})((a{1,30}){1,30})((a{1,30}){1,30})"
        self.assertTrue(read_expression(text).is_in(b"baaab"))
        with self.assertRaises(ExpressionRefused) as caught:
            read_expression(text, captures=True)
        self.assertIn("too large", str(caught.exception))

    def test_anywhere(self) -> None:
        """Whether it describes any part of a text."""
        expression = read_expression("b+c", captures=True)
        self.assertEqual(
            [expression.is_in(one) for one in (b"abbcd", b"abd", b"bc", b"")], [True, False, True, False]
        )
        self.assertEqual(expression.captures_in(b"abbcd"), {})

    def test_what_re2_cannot(self) -> None:
        """What would have to go back and forth is refused in words of one line."""
        for text in (r"(a)\1", "(?=a)", "(?<=a)b", "(", "[z-a]", "a**", "\\", "\ud800"):
            reason = self.reason(text)
            self.assertNotIn("\n", reason)
            self.assertNotIn("b'", reason)
