"""Tests for ``ingress.http.grammar``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.http.grammar import (
    DROP,
    FORWARD,
    MEMO_CONNECTIONS,
    MEMO_ENTRIES,
    MEMO_LINE,
    MEMO_NAME,
    MEMO_NAMES,
    MEMO_OPTIONS,
    FieldError,
    FieldLines,
    connection_options,
    has_bare_line_feed,
    is_length,
    known_options,
    split_field,
    split_list,
)


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


class FieldLinesTests(SynchronousTestCase):
    """What is remembered of field lines."""

    def setUp(self) -> None:
        self.lines = FieldLines(lambda name: DROP if name == b"te" else FORWARD)

    def test_read(self) -> None:
        """A line that goes on is None; of any other there is sort, name and value."""
        self.assertIsNone(self.lines[b"Accept: */*"])
        self.assertEqual(self.lines[b"TE:  trailers "], (DROP, b"te", b"trailers"))

    def test_refused(self) -> None:
        """What is no field line is refused, each time that it comes."""
        for line in (b"Accept", b"Acc ept: x", b"Accept : x", b": x", b"", b"Accept: \x00", b"Accept: a\nb"):
            for _ in range(3):
                with self.assertRaises(FieldError):
                    self.lines[line]
        self.assertEqual(len(self.lines), 0)

    def test_second_time(self) -> None:
        """A line is remembered when it comes again."""
        for expected in (0, 1, 1):
            self.lines[b"Accept: */*"]
            self.assertEqual(len(self.lines), expected)

    def test_longest_line(self) -> None:
        """A line that is as long as may be is remembered, a longer one never, however often it comes."""
        longest = b"Accept: ".ljust(MEMO_LINE, b"x")
        for _ in range(4):
            self.lines[longest]
            self.lines[longest + b"x"]
        self.assertEqual(list(self.lines), [longest])

    def test_most_lines(self) -> None:
        """So many lines are remembered, and then the memo begins anew."""
        # Of one name, not so many are new.
        for number in range(MEMO_ENTRIES + 1):
            for _ in range(2):
                self.lines[b"X-%d: %d" % (number % 100, number)]
            self.assertLessEqual(len(self.lines), MEMO_ENTRIES)
            self.assertLessEqual(len(self.lines.seen), MEMO_ENTRIES)

    def test_most_names(self) -> None:
        """So many names are remembered, none of them long, and all others are read all the same."""
        self.lines[b"y" * MEMO_NAME + b": 1"]
        self.lines[b"z" * (MEMO_NAME + 1) + b": 1"]
        self.assertEqual(list(self.lines.names), [b"y" * MEMO_NAME])
        for number in range(2 * MEMO_NAMES):
            self.assertIsNone(self.lines[b"X-%d: 1" % number])
            self.assertLessEqual(len(self.lines.names), MEMO_NAMES)
        self.assertEqual(self.lines[b"tE: 1"], (DROP, b"te", b"1"))
        with self.assertRaises(FieldError):
            self.lines[b"X 1: 1"]

    def test_names_that_nobody_else_uses(self) -> None:
        """Whoever sends as many names as are remembered keeps nobody's out that comes later."""
        for number in range(MEMO_NAMES):
            self.lines[b"X-%d: 1" % number]
        self.lines[b"Accept: 1"]
        self.assertIn(b"Accept", self.lines.names)

    def test_lines_that_differ(self) -> None:
        """A name whose lines differ every time fills no memory, and one that comes again is found out all the same."""
        for number in range(5000):
            self.lines[b"Cookie: %d" % number]
        self.assertEqual(len(self.lines), 0)
        self.assertLess(len(self.lines.seen), 1000)
        for number in range(100):
            self.lines[b"Cookie: often"]
            self.lines[b"Cookie: x%d" % number]
        self.assertIn(b"Cookie: often", self.lines)


class OptionsTests(SynchronousTestCase):
    """The options in ``Connection``."""

    def setUp(self) -> None:
        known_options.clear()
        self.addCleanup(known_options.clear)

    def test_read(self) -> None:
        """They are read alike whether they were said before or not; what is no list of tokens is an error each time."""
        for _ in range(2):
            self.assertEqual(connection_options(b"Keep-Alive, ,X-A"), {b"keep-alive", b"x-a"})
            with self.assertRaises(FieldError):
                connection_options(b"close, @")
        self.assertEqual(list(known_options), [b"Keep-Alive, ,X-A"])

    def test_memory(self) -> None:
        """Nothing is kept of a long one, which may name thousands, and of short ones no more than a bounded number."""
        long = b",".join([b"x%d" % number for number in range(5000)])
        self.assertEqual(len(connection_options(long)), 5000)
        connection_options(b"x" * (MEMO_OPTIONS + 1))
        self.assertEqual(list(known_options), [])
        for number in range(2 * MEMO_CONNECTIONS):
            connection_options(b"%d" % number)
            self.assertLessEqual(len(known_options), MEMO_CONNECTIONS)
        self.assertIn(b"%d" % number, known_options)
