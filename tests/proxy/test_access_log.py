"""Tests for ``ingress.proxy.access_log``."""

import os
from threading import Event

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.access_log import FLUSH_SECONDS, MAX_FIELD, AccessLog, escape, write_to

PATIENCE = 10.0
"""Seconds after which a wait for the writing thread is a failure."""


class EscapeTests(SynchronousTestCase):
    """Bytes of a peer in a log line."""

    def test_escaped(self) -> None:
        """Control bytes, quotes, backslashes, spaces and everything from 0x7F on appear in hexadecimal."""
        for octets, expected in (
            (b"/plain?a=b&c[]=%20~", b"/plain?a=b&c[]=%20~"),
            (b'/"', b"/\\x22"),
            (b"/\\", b"/\\x5C"),
            (b"/a b", b"/a\\x20b"),
            (b"/\r\n\x00\x1b[0m", b"/\\x0D\\x0A\\x00\\x1B[0m"),
            (b"/\x7f\x80\xc3\xa9\xff", b"/\\x7F\\x80\\xC3\\xA9\\xFF"),
            (b"", b""),
        ):
            self.assertEqual(escape(octets), expected)

    def test_bounded(self) -> None:
        """A field is cut to its longest length before it is escaped."""
        self.assertEqual(escape(b"a" * (MAX_FIELD + 1)), b"a" * MAX_FIELD)
        self.assertEqual(len(escape(b'"' * (MAX_FIELD + 1))), 4 * MAX_FIELD)

    @settings(max_examples=200, deadline=None)
    @given(st.binary(max_size=60))
    def test_plain(self, octets: bytes) -> None:
        """What comes out is visible ASCII without a quote, and tells the bytes that went in."""
        escaped = escape(octets)
        self.assertTrue(all(0x21 <= octet < 0x7F and octet != 0x22 for octet in escaped))
        self.assertEqual(
            escaped.decode("ascii").encode("latin-1").decode("unicode_escape").encode("latin-1"), octets
        )


class AccessLogCase(SynchronousTestCase):
    """An access log whose file is a list, or something worse."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.written: list[bytes] = []
        self.lost: list[int] = []
        self.stuck = Event()
        self.wrote = Event()

    def open(self, write: object = None) -> AccessLog:
        """Make a log, without its thread."""
        return AccessLog(self.clock, write or self.write, self.lost.append, self.clock.seconds)  # type: ignore[arg-type]

    def write(self, batch: bytes) -> None:
        """Take a batch, once it is allowed."""
        if not self.stuck.wait(PATIENCE):
            raise OSError("the test forgot to let go")
        self.written.append(batch)
        self.wrote.set()

    def record(self, log: AccessLog, target: bytes = b"/", method: bytes = b"GET") -> None:
        """Record an exchange."""
        log.record(
            b"192.0.2.1",
            method,
            b"a.test",
            target,
            200,
            5,
            0.25,
            "10.0.0.1:80",
            "shop/web",
            b"HTTP/1.1",
        )


class LineTests(AccessLogCase):
    """What stands in a line."""

    def lines(self, log: AccessLog) -> list[bytes]:
        """Return what was written, without a thread."""
        self.stuck.set()
        log.stop()
        log._write_batches()
        return b"".join(self.written).splitlines()

    def test_fields(self) -> None:
        """Eleven fields with one space between them, the target in quotes."""
        self.clock.advance(1_000_000_000.0625)
        log = self.open()
        self.record(log, b"/a?b")
        log.record(b"192.0.2.1", b"", b"", b"", 400, 0, 0.0, None, None, b"HTTP/2.0")
        self.assertEqual(
            self.lines(log),
            [
                b'2001-09-09T01:46:40.062Z 192.0.2.1 GET a.test "/a?b" 200 5 0.250 10.0.0.1:80 shop/web HTTP/1.1',
                b'2001-09-09T01:46:40.062Z 192.0.2.1 - - "" 400 0 0.000 - - HTTP/2.0',
            ],
        )

    def test_cannot_be_forged(self) -> None:
        """Whatever a peer sends, a line stays a line of eleven fields."""
        log = self.open()
        hostile = b'/"\r\n1970 evil "\xff' + b"x" * 5000
        self.record(log, hostile, b"M" * 100)
        log.record(b"192.0.2.1", b"GET", hostile, hostile, 200, 0, 0.0, None, None, b"HTTP/2.0")
        lines = self.lines(log)
        self.assertEqual([len(line.split(b" ")) for line in lines], [11, 11])
        self.assertEqual([line.count(b'"') for line in lines], [2, 2])
        self.assertIn(b" " + b"M" * 32 + b" ", lines[0])

    def test_time_moves_on(self) -> None:
        """Each line has the time of its end."""
        log = self.open()
        for _ in range(3):
            self.record(log)
            self.clock.advance(0.75)
        self.assertEqual(
            [line[:24] for line in self.lines(log)],
            [b"1970-01-01T00:00:00.000Z", b"1970-01-01T00:00:00.750Z", b"1970-01-01T00:00:01.500Z"],
        )


class WritingTests(AccessLogCase):
    """How lines get out."""

    def test_in_time(self) -> None:
        """Lines are handed to the thread after a moment, in one batch."""
        self.stuck.set()
        log = self.open()
        log.start()
        self.addCleanup(log.stop)
        self.record(log)
        self.record(log)
        self.clock.advance(FLUSH_SECONDS)
        self.assertTrue(self.wrote.wait(PATIENCE))
        self.assertEqual(len(self.written[0].splitlines()), 2)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_stop_writes_the_rest(self) -> None:
        """What was recorded before the end is written before the end."""
        self.stuck.set()
        log = self.open()
        log.start()
        self.record(log)
        log.stop()
        self.assertEqual(len(self.written), 1)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_stuck_writer(self) -> None:
        """When the writer is stuck, lines are dropped and counted, and nobody waits."""
        log = self.open()
        log.start()
        self.addCleanup(log.stop)
        self.addCleanup(self.stuck.set)
        for _ in range(100_000):
            self.record(log)
        log.flush()
        self.assertGreater(sum(self.lost), 0)
        self.assertLess(sum(self.lost), 100_000)
        self.stuck.set()
        log._batches.put(None, timeout=PATIENCE)
        log._thread.join(PATIENCE)
        kept = len(b"".join(self.written).splitlines())
        self.assertEqual(kept + sum(self.lost), 100_000)

    def test_failing_writer(self) -> None:
        """A file that cannot be written is told once, and tried again with what comes next."""
        attempts: list[bytes] = []

        def write(batch: bytes) -> None:
            attempts.append(batch)
            if len(attempts) in (1, 2, 4):
                raise OSError(28, "No space left on device")

        log = self.open(write)
        with capturedLogs() as events:
            for _ in range(4):
                self.record(log)
                log.stop()
                log._write_batches()
        self.assertEqual(len(attempts), 4)
        self.assertEqual(len(events), 2, "once for each row of failures")
        self.assertIn("No space left on device", formatEvent(events[0]))

    def test_descriptor(self) -> None:
        """All of a batch goes to the descriptor."""
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        write_to(writing)(b"a line\n" * 100)
        os.close(writing)
        self.assertEqual(os.read(reading, 10_000), b"a line\n" * 100)

    def test_short_writes(self) -> None:
        """A descriptor that takes a batch in parts gets all the parts."""
        taken = bytearray()

        def write(descriptor: int, octets: memoryview) -> int:
            taken.extend(octets[:3])
            return min(3, len(octets))

        self.patch(os, "write", write)
        write_to(1)(b"0123456789")
        self.assertEqual(bytes(taken), b"0123456789")
