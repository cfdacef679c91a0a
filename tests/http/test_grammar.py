"""Tests for ``ingress.http.grammar``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.http.grammar import FieldError, has_bare_line_feed, is_length, split_field, split_list


class SplitFieldTests(SynchronousTestCase):
    """Field lines."""

    def test_whitespace(self) -> None:
        """Whitespace around a value is not part of it; inside it is."""
        for line, expected in (
            (b"A:b", (b"a", b"b")),
            (b"A: \t b \t c \t", (b"a", b"b \t c")),
            (b"A:", (b"a", b"")),
            (b"A: \t ", (b"a", b"")),
            (b"A!#$%&'*+-.^_`|~9: b", (b"a!#$%&'*+-.^_`|~9", b"b")),
            (b"A: b:c", (b"a", b"b:c")),
            (b"A: \xc3\xa9", (b"a", b"\xc3\xa9")),
        ):
            self.assertEqual(split_field(line), expected, line)

    def test_every_byte(self) -> None:
        """A name is made of token characters, a value of visible ones and whitespace; nothing else passes."""
        token = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        for octet in range(256):
            letter = bytes([octet])
            if octet in token:
                self.assertEqual(split_field(b"a" + letter + b": b")[0], b"a" + letter.lower())
            elif letter != b":":
                self.assertRaises(FieldError, split_field, b"a" + letter + b": b")
            if letter == b"\t" or 0x20 <= octet < 0x7F or octet >= 0x80:
                self.assertEqual(split_field(b"a: b" + letter + b"c"), (b"a", b"b" + letter + b"c"))
            else:
                self.assertRaises(FieldError, split_field, b"a: b" + letter + b"c")


class ListTests(SynchronousTestCase):
    """Lists of tokens."""

    def test_members(self) -> None:
        """Members come in lower case; empty ones do not count."""
        self.assertEqual(split_list(b"Close, X-A ,\tb,, "), [b"close", b"x-a", b"b"])
        self.assertEqual(split_list(b""), [])

    def test_refused(self) -> None:
        """What is no list of tokens is refused."""
        for value in (b"a b", b"a;b", b'"a"', b"a=b", b"\x80"):
            self.assertRaises(FieldError, split_list, value)


class SmallTests(SynchronousTestCase):
    """Digits and line ends."""

    def test_length(self) -> None:
        """A length is digits, few enough for 63 bits."""
        for value, expected in (
            (b"0", True),
            (b"9" * 18, True),
            (b"9" * 19, False),
            (b"", False),
            (b"1 ", False),
        ):
            self.assertEqual(bool(is_length(value)), expected, value)

    def test_bare_line_feed(self) -> None:
        """An LF counts as bare wherever no CR is before it, also where a search begins at it."""
        for octets, start, expected in (
            (b"a\r\nb", 0, False),
            (b"a\r\nb", 2, False),
            (b"a\nb", 1, True),
            (b"\n", 0, True),
            (b"a\r\n\n", 2, True),
        ):
            self.assertEqual(bool(has_bare_line_feed(octets, start)), expected, (octets, start))
