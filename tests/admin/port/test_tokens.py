"""Tests for ``ingress.admin.port.tokens``."""

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.admin.port.tokens import (
    LOOK_SECONDS,
    MOST_BYTES,
    TokenFile,
    TokensRefusedError,
    is_among,
    read_tokens,
)
from ingress.errors import StartError

ONE, TWO = b"0123456789abcdef", b"fedcba9876543210"


class ReadTokensTests(SynchronousTestCase):
    """``read_tokens``."""

    def test_lines(self) -> None:
        """Each line is a token; space around it, empty lines and remarks are not."""
        digests = read_tokens(b"# of the team\n\n " + ONE + b" \r\n" + TWO)
        self.assertEqual(len(digests), 2)
        for token in (ONE, TWO):
            self.assertTrue(is_among(token, digests))
        for token in (b"", ONE[:-1], ONE + TWO, b"# of the team"):
            self.assertFalse(is_among(token, digests))

    def test_refused(self) -> None:
        """Without any token, and with one that can be guessed or not be said, a file is refused; what is in it is not told."""
        for octets, said in (
            (b"", "no token"),
            (b"\n# nothing\n", "no token"),
            (ONE + b"\nshort", "line 2"),
            (b"a token with spaces in it", "line 1"),
            (b"\xff" * 20, "line 1"),
        ):
            with self.assertRaisesRegex(TokensRefusedError, said) as caught:
                read_tokens(octets)
            self.assertNotIn("short", str(caught.exception))

    @given(st.binary())
    def test_total(self, octets: bytes) -> None:
        """Any bytes are tokens, or refused."""
        try:
            self.assertTrue(read_tokens(octets))
        except TokensRefusedError as refused:
            self.assertTrue(str(refused))


class TokenFileTests(SynchronousTestCase):
    """``TokenFile``."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.path = Path(self.mktemp())
        self.path.write_bytes(ONE)
        self.file = TokenFile(str(self.path), self.clock)

    def replace(self, content: bytes) -> None:
        """Put another file in its place, as a Secret that is mounted has it."""
        other = self.path.with_name("other")
        other.write_bytes(content)
        os.replace(other, self.path)
        self.clock.advance(LOOK_SECONDS)

    def test_begin(self) -> None:
        """A file that cannot be read, or has none, ends the start in a line that names option and file."""
        self.file.begin()
        self.assertTrue(self.file.allows(ONE))
        folder, empty, large = self.path.parent, Path(self.mktemp()), Path(self.mktemp())
        empty.touch()
        large.write_bytes(b"\n" * MOST_BYTES + ONE)
        for path, said in (
            ("/nowhere/tokens", "cannot be read: No such file"),
            (folder, "is no file"),
            (empty, "has no token in it"),
            (large, "has more than"),
        ):
            with self.assertRaises(StartError) as caught:
                TokenFile(str(path), self.clock).begin()
            self.assertIn(f"--admin-token-file {path} {said}", str(caught.exception))

    def test_changed(self) -> None:
        """Another file is read within a second: new tokens count, and those that went do not."""
        self.file.begin()
        self.replace(TWO)
        self.assertEqual((self.file.allows(ONE), self.file.allows(TWO)), (False, True))

    def test_looks_the_same(self) -> None:
        """Nor does a token that went count where the file has the same length and time as before."""
        self.file.begin()
        before = self.path.stat()
        self.path.write_bytes(TWO)
        os.utime(self.path, ns=(before.st_atime_ns, before.st_mtime_ns))
        changed = self.path.stat()
        self.assertEqual((changed.st_ino, changed.st_size), (before.st_ino, before.st_size))
        self.clock.advance(LOOK_SECONDS)
        self.assertEqual((self.file.allows(ONE), self.file.allows(TWO)), (False, True))

    def test_looked_at_seldom(self) -> None:
        """However many ask, the file is looked at once a second."""
        self.file.begin()
        self.path.unlink()
        self.assertTrue(self.file.allows(ONE))
        self.clock.advance(LOOK_SECONDS)
        with capturedLogs():
            self.assertFalse(self.file.allows(ONE))

    def test_gone(self) -> None:
        """Without a file, or with an empty one, nobody gets in; the log says so once, and once when it is there again."""
        self.file.begin()
        with capturedLogs() as events:
            for content in (b"", b"\n", b""):
                self.replace(content)
                self.assertFalse(self.file.allows(ONE))
                self.assertFalse(self.file.allows(b""))
            self.replace(ONE)
            self.assertTrue(self.file.allows(ONE))
        said = [str(formatEvent(event)) for event in events]
        self.assertEqual(len(said), 2, said)
        self.assertIn("has no token in it: nobody gets in", said[0])
        self.assertIn("has tokens again", said[1])
        self.assertNotIn(ONE.decode(), " ".join(said) + repr(self.file))
