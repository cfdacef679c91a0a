"""Tests for ``ingress.http.field_values``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.http.field_values import (
    all_combined,
    all_values,
    combined_values,
    first_value,
    first_values,
    joined_value,
)

LINES = b"X-User: ann\r\nAccept:*/*\r\nX-Empty:\r\nx-user: bob\r\nX-Note: X-Other: no\r\nX-Long:\t a b \r\n"


class FirstValueTests(SynchronousTestCase):
    """The value of a field."""

    def test_found(self) -> None:
        """The first field of a name counts, however the name is spelled; blanks around the value do not."""
        found = {
            name: first_value(LINES, name)
            for name in (b"x-user", b"accept", b"x-empty", b"x-note", b"x-long")
        }
        self.assertEqual(
            found,
            {
                b"x-user": b"ann",
                b"accept": b"*/*",
                b"x-empty": b"",
                b"x-note": b"X-Other: no",
                b"x-long": b"a b",
            },
        )

    def test_missing(self) -> None:
        """What only looks like a field is none."""
        for name in (b"x-other", b"user", b"x-use", b"x-none", b"ann"):
            self.assertEqual(first_value(LINES, name), b"")
        self.assertEqual(first_value(b"", b"x"), b"")

    def test_same_at_once(self) -> None:
        """Who asks for all fields at once hears of each what is heard of it alone."""
        found = first_values(LINES)
        self.assertEqual(set(found), {b"x-user", b"accept", b"x-empty", b"x-note", b"x-long"})
        self.assertEqual(found, {name: first_value(LINES, name) for name in found})
        self.assertEqual(first_values(b""), {})


class CombinedTests(SynchronousTestCase):
    """All values of a field as one."""

    def test_joined(self) -> None:
        """One field is found as the first one is; several are joined, cookies as cookies are; none is nothing."""
        for name in (b"accept", b"x-empty", b"x-note", b"x-long", b"x-other", b"user", b"x-none"):
            self.assertEqual(joined_value(LINES, name), first_value(LINES, name), name)
        self.assertEqual(joined_value(b"", b"x"), b"")
        self.assertEqual(joined_value(LINES, b"x-user"), b"ann, bob")
        for lines in (b"Cookie: a=1\r\nX: y\r\ncookie: b=2\r\n", b"X: y\r\nCOOKIE:a=1\r\ncookie:\tb=2 \r\n"):
            self.assertEqual(joined_value(lines, b"cookie"), b"a=1; b=2")

    def test_all(self) -> None:
        """Each value is found by itself, and empty ones are."""
        lines = LINES + b"X-Empty: 1\r\n"
        found = [all_values(lines, name) for name in (b"x-user", b"x-empty", b"accept", b"x-other")]
        self.assertEqual(found, [[b"ann", b"bob"], [b"", b"1"], [b"*/*"], []])

    def test_same_at_once(self) -> None:
        """Who asks for all fields at once hears of each what is heard of it alone."""
        lines = LINES + b"Cookie: a=1\r\ncookie: b=2\r\n"
        found = all_combined(lines)
        self.assertEqual(set(found), {b"x-user", b"accept", b"x-empty", b"x-note", b"x-long", b"cookie"})
        self.assertEqual(found, {name: combined_values(lines, name) for name in found})
        self.assertEqual((found[b"x-user"], found[b"cookie"]), (b"ann, bob", b"a=1; b=2"))
        self.assertEqual(all_combined(b""), {})
