"""Tests for ``ingress.proxy.exchange.access_log.access_log``."""

from collections.abc import Callable
from queue import Empty, Queue
from threading import Event

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import ObjectKey
from ingress.model.serving.log_formats import AccessLogSettings, LogFormat
from ingress.model.upstream.backends import BackendReference
from ingress.process.logs.file_output import LinesLostError
from ingress.proxy.exchange.access_log.access_log import (
    BATCH_BYTES,
    FLUSH_SECONDS,
    MAX_FIELD,
    QUIET_SECONDS,
    WAITING_BATCHES,
    AccessLog,
    escape,
)
from ingress.proxy.exchange.access_log.log_lines import line_maker
from ingress.routing.route import Match, Route
from tests.fakes.counting import calls
from tests.fakes.records import ENDPOINT, record_of
from tests.properties import examples

PATIENCE = 60.0
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

    def test_all_odd(self) -> None:
        """A field of nothing but odd bytes takes a few calls, in either of the lines that have it, and one with fewer no more than one for every eighth of its bytes."""
        nginx = line_maker(LogFormat(("", "request_uri", "")), escapes_json=False)
        for odd in (b'"', b"\xff", b'/"'):
            field = (odd * MAX_FIELD)[:MAX_FIELD]
            self.assertLess(calls(lambda: escape(field)), 20)  # noqa: B023 - called at once
            record = record_of(target=field)
            self.assertLess(calls(lambda: nginx(record, 0.0)), 20)  # noqa: B023 - called at once
            self.assertEqual(nginx(record, 0.0), escape(field))
        self.assertLess(calls(lambda: escape((b'"' + b"a" * 7) * (MAX_FIELD // 8))), MAX_FIELD // 4 + 20)

    @settings(max_examples=examples(200), deadline=None)
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
        self.calls: list[Callable[[], None]] = []
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
        log.exchange_ended(
            record_of(ObjectKey("shop", "web"), 200, 0.25, 5, endpoint=ENDPOINT, method=method, target=target)
        )


class LineTests(AccessLogCase):
    """What stands in a line."""

    def lines(self, log: AccessLog) -> list[bytes]:
        """Return what was written, without a thread."""
        self.stuck.set()
        log.stop()
        log.write_batches()
        return b"".join(self.written).splitlines()

    def test_fields(self) -> None:
        """Twelve fields with one space between them, the target in quotes."""
        self.clock.advance(1_000_000_000.0625)
        log = self.open()
        self.record(log, b"/a?b")
        log.exchange_ended(
            record_of(None, 400, 0.0, 0, method=b"", host=b"", target=b"", protocol=b"HTTP/2.0")
        )
        self.assertEqual(
            self.lines(log),
            [
                b'2001-09-09T01:46:40.062Z 192.0.2.1 GET a.test "/a?b" 200 5 0.250 10.0.0.1:80 shop/web HTTP/1.1 -',
                b'2001-09-09T01:46:40.062Z 192.0.2.1 - - "" 400 0 0.000 - - HTTP/2.0 -',
            ],
        )

    def test_cannot_be_forged(self) -> None:
        """Whatever a peer sends, a line stays a line of twelve fields."""
        log = self.open()
        hostile = b'/"\r\n1970 evil "\xff' + b"x" * 5000
        self.record(log, hostile, b"M" * 100)
        log.exchange_ended(record_of(host=hostile, target=hostile, protocol=b"HTTP/2.0"))
        log.exchange_ended(record_of()._replace(id=b'"\\"{}'))
        lines = self.lines(log)
        self.assertEqual([len(line.split(b" ")) for line in lines], [12, 12, 12])
        self.assertEqual([line.count(b'"') for line in lines], [2, 2, 2])
        self.assertIn(b" " + b"M" * 32 + b" ", lines[0])

    def test_id(self) -> None:
        """The last field is the id of the request."""
        log = self.open()
        log.exchange_ended(record_of()._replace(id=b"0123456789abcdef0123456789abcdef"))
        self.assertTrue(self.lines(log)[0].endswith(b" HTTP/1.1 0123456789abcdef0123456789abcdef"))

    def test_unlogged(self) -> None:
        """Of a route that is not logged there is no line; requests that no route matched have theirs."""
        log = self.open()
        for target, route in (
            (
                b"/silent",
                Route("a.test", "/", Match.PREFIX, None, BackendReference("shop", "web"), is_logged=False),
            ),
            (b"/told", Route("a.test", "/", Match.PREFIX, None, BackendReference("shop", "web"))),
            (b"/none", None),
        ):
            log.exchange_ended(record_of(target=target)._replace(route=route))
        self.assertEqual([line.split(b'"')[1] for line in self.lines(log)], [b"/told", b"/none"])

    def test_kinds(self) -> None:
        """Lines of requests, or those of streams and sessions of UDP, can be left out; a method is nothing to tell them by."""
        for decided, told in (
            (AccessLogSettings(has_requests=False), [b":22"]),
            (AccessLogSettings(has_streams=False), [b"/", b"/strange"]),
            (AccessLogSettings(has_requests=False, has_streams=False), []),
            (AccessLogSettings(is_on=False), []),
        ):
            self.written.clear()
            log = self.open()
            log.follow(decided)
            self.record(log)
            self.record(log, b"/strange", b"TCP")
            log.exchange_ended(record_of(method=b"TCP", target=b":22", protocol=b"-"))
            self.assertEqual([line.split(b'"')[1] for line in self.lines(log)], told)

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

    def test_stop_while_all_batches_wait(self) -> None:
        """The thread has a moment also where there is no room to tell it of the end: what waits is written."""
        log = self.open()
        stuck = self.stuck

        class Full(Queue[bytes | None]):
            """Has the writer go on once somebody waits for room."""

            def put(self, item: bytes | None, block: bool = True, timeout: float | None = None) -> None:
                if block:
                    stuck.set()
                super().put(item, block, timeout)

        log._batches = Full(WAITING_BATCHES)
        log.start()
        lines = 0
        while not self.lost:
            self.record(log)
            log.flush()
            lines += 1
        log.stop()
        log.thread.join(PATIENCE)
        self.assertFalse(log.thread.is_alive())
        self.assertEqual(len(b"".join(self.written).splitlines()) + sum(self.lost), lines)

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
        log.thread.join(PATIENCE)
        kept = len(b"".join(self.written).splitlines())
        self.assertEqual(kept + sum(self.lost), 100_000)

    def test_bounded_in_bytes(self) -> None:
        """What waits for a writer that is stuck is bounded in bytes, however long the lines are that clients bring about, and so is a batch."""
        log = self.open()
        for _ in range(5000):
            self.record(log, b'/"' * MAX_FIELD)
        longest = 4 * MAX_FIELD
        sizes = [len(batch) for batch in log._batches.queue if batch is not None]
        self.assertLess(max(sizes), BATCH_BYTES + 2 * longest)
        self.assertEqual(len(sizes), WAITING_BATCHES)
        self.assertGreater(sum(self.lost), 0)

    def test_failing_writer(self) -> None:
        """Lines that a file does not take are counted, told at once, and then not again for a while."""
        full = OSError(28, "No space left on device")
        outcomes: list[OSError | None] = [full, full, LinesLostError(2, full), None, None, full]
        seconds = Clock()

        def write(batch: bytes) -> None:
            outcome = outcomes.pop(0)
            if outcome is not None:
                raise outcome

        log = AccessLog(
            self.clock, write, self.lost.append, from_thread=self.calls.append, steady=seconds.seconds
        )
        told = []
        for pause in (0.0, 1.0, 1.0, 1.0, QUIET_SECONDS, 1.0):
            seconds.advance(pause)
            for _ in range(3):
                self.record(log)
            log.flush()
            with capturedLogs() as events:
                self.write_all(log)
            told.append([formatEvent(event) for event in events])
        why = "lines of the access log are lost, as it could not be written:"
        self.assertEqual(
            told,
            [
                [f"3 {why} No space left on device"],
                [],
                [],
                [],
                [f"5 {why} now it is written again"],
                [],
            ],
        )
        self.assertEqual(self.lost, [], "nothing is counted in the thread that writes")
        for call in self.calls:
            call()
        self.assertEqual(self.lost, [3, 3, 2, 3])
        with capturedLogs() as events:
            log.stop()
            log.write_batches()
        self.assertEqual([formatEvent(event) for event in events], [f"3 {why} and the process ends"])

    def write_all(self, log: AccessLog) -> None:
        """Do what the thread does until there is no batch left, and go on."""
        with self.assertRaises(_NoMoreError):
            self.patch(log, "_batches", _Batches(log._batches))
            log.write_batches()

    def test_reopen(self) -> None:
        """The file is opened anew by the thread, once for all who asked, also while nothing is written."""
        done: list[str] = []
        log = AccessLog(
            self.clock,
            lambda batch: done.append("write"),
            self.lost.append,
            reopen=lambda: done.append("reopen"),
        )
        log.reopen()
        log.reopen()
        self.write_all(log)
        self.record(log)
        log.reopen()
        self.write_all(log)
        self.assertEqual(done, ["reopen", "reopen", "write"])

    def test_reopen_while_stuck(self) -> None:
        """Nobody waits for a thread that has more to write than it can hold."""
        log = AccessLog(self.clock, self.write, self.lost.append, reopen=lambda: self.wrote.set())
        while not self.lost:
            self.record(log)
            log.flush()
        log.reopen()
        self.stuck.set()
        self.write_all(log)
        self.assertTrue(self.wrote.is_set())

    def test_reopen_loses_a_line(self) -> None:
        """A line whose end cannot be written to the old file is counted."""

        def reopen() -> None:
            raise LinesLostError(1, OSError(28, "No space left on device"))

        log = AccessLog(self.clock, self.written.append, self.lost.append, reopen=reopen)
        log.reopen()
        with capturedLogs() as events:
            self.write_all(log)
        self.assertEqual((self.lost, len(events)), ([1], 1))


class _NoMoreError(Exception):
    """There is no batch left."""


class _Batches:
    """A queue that never waits."""

    def __init__(self, queue: Queue[bytes | None]) -> None:
        self._queue = queue

    def __getattr__(self, name: str) -> object:
        return getattr(self._queue, name)

    def get(self) -> bytes | None:
        """Return the next one."""
        try:
            return self._queue.get_nowait()
        except Empty:
            raise _NoMoreError from None
