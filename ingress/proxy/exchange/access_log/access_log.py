"""The access log: one line per exchange of a route that is logged, written in batches by a thread of its own.

A usual line has twelve fields with one space between them, ``-`` where there is nothing:

    time peer method host path status bytes seconds endpoint ingress protocol id

*time* is RFC 3339 in UTC, *path* the request target as received, in double quotes,
*bytes* the body bytes sent downstream, *endpoint* the last one tried, *ingress*
``namespace/name``, *protocol* the one that downstream speaks: ``HTTP/1.0``, ``HTTP/1.1`` or ``HTTP/2.0``, *id* the request's.
Bytes that could forge a line or a field appear as ``\\xHH``.

TLS that passes through has a line for each connection when it is over: *method* is
``TLS``, *host* the server name, *path* and *protocol* ``-``, and *bytes* all that was sent downstream.

Other lines are made by ``ingress.proxy.exchange.access_log.log_lines`` and ``record_lines``, out of the same record.

The reactor never waits for the file: lines are handed to the thread in batches,
and when it cannot keep up (a full pipe, a slow disk) new lines are dropped and
counted, never requests.  What the file does not take (a full disk) is counted, too, and
told in the log, now and then.
"""

import re
from collections.abc import Callable, Hashable
from functools import lru_cache
from queue import Empty, Full, Queue
from random import random
from threading import Thread
from time import monotonic, time
from typing import ClassVar, Final

from attrs import evolve
from mypy_extensions import mypyc_attr
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ingress.model.exchanges.records import STREAM_PROTOCOL, Record
from ingress.model.serving.log_formats import AccessLogSettings, LineForm, LogFormat
from ingress.model.upstream.backends import Endpoint
from ingress.process.logs.file_output import LinesLostError
from ingress.process.timestamps import stamp_of_second
from ingress.proxy.exchange.access_log.log_lines import LineMaker, escaped, line_maker
from ingress.proxy.exchange.access_log.record_lines import record_line_maker
from ingress.wording import number_of

MAX_FIELD: Final = 2048
"""Bytes of the request target that a line shows."""
FLUSH_SECONDS: Final = 0.2
QUIET_SECONDS: Final = 60.0
"""The least time between two lines in the log that say how many are lost here."""
BATCH_BYTES: Final = 128 * 1024
"""A batch ends with the line that makes it as long as this: some seven hundred usual lines, or a few of whoever sends odd bytes."""
MOMENT_SECONDS: Final = 0.5
WAITING_BATCHES: Final = 64
"""Of batches that wait for the thread: some eight megabytes, whatever clients write."""

_USUAL: Final = AccessLogSettings()
_unsafe: Final = re.compile(rb"[^\x21\x23-\x5b\x5d-\x7e]")
_SAFE: Final = bytes(octet for octet in range(0x21, 0x7F) if octet not in b'"\\')
_SHOWN: Final[tuple[bytes, ...]] = tuple(
    b"%c" % octet if octet in _SAFE else b"\\x%02X" % octet for octet in range(0x100)
)
_REPLACED: Final = bytes(byte if byte in _SAFE else 0x3F for byte in range(0x100))
"""To ``translate`` by it changes whatever is not safe; to leave that out takes twice as long."""


def escape(field: bytes) -> bytes:
    """Return *field*, cut to ``MAX_FIELD``, with everything but plain visible ASCII as ``\\xHH``."""
    field = field[:MAX_FIELD]
    return escaped(field, _SAFE, _unsafe, _SHOWN)


# Formatting costs more than all else of a line, so what comes again is looked up, with what stands beside it: each part that is joined costs.
_MILLISECONDS: Final[tuple[bytes, ...]] = tuple(
    b"%.3f" % (milliseconds / 1000) for milliseconds in range(1000)
)


@lru_cache(maxsize=4096)
def _counts(status: int, sent: int) -> bytes:
    """Return what follows the target."""
    return b'" %d %d ' % (status, sent)


@lru_cache(maxsize=4096)
def _answered_by(address: str, port: int, ingress: Hashable, protocol: bytes) -> bytes:
    """Return what stands between the time and the request's id: who answered, for which object, and what the client spoke.

    Of an endpoint only the address is remembered, and not the private key that may be in its settings.
    """
    endpoint = Endpoint(address, port) if address else None
    return b" %b %b %b " % (_text_of(endpoint), _text_of(ingress), protocol)


def _maker(settings: AccessLogSettings) -> LineMaker | None:
    """Return what makes lines; None for those that are made here."""
    wanted = settings.format
    if isinstance(wanted, LogFormat):
        return line_maker(wanted, escapes_json=settings.escapes_json)
    return None if wanted is LineForm.PLAIN else record_line_maker(wanted)


def _text_of(value: Hashable) -> bytes:
    return b"-" if value is None else escape(str(value).encode())


@mypyc_attr(allow_interpreted_subclasses=True)
class AccessLog:
    """Collects lines and hands them, batch by batch, to a writing thread.

    *write* is called in that thread with whole lines and may block; an ``OSError`` means that they are lost, all or as many
    as ``LinesLostError`` says.  *reopen* is called there, too.  *dropped* is told how many lines were lost, in the
    reactor thread, which *from_thread* leads to (``callFromThread``).  *wall_clock* returns the time of
    day, in seconds since 1970, *steady* the seconds of a clock that nobody sets.
    """

    log: ClassVar[Logger] = Logger()

    def __init__(
        self,
        clock: IReactorTime,
        write: Callable[[bytes], None],
        dropped: Callable[[int], None],
        wall_clock: Callable[[], float] = time,
        *,
        reopen: Callable[[], None] = lambda: None,
        from_thread: Callable[[Callable[[], None]], object] = lambda call: call(),
        steady: Callable[[], float] = monotonic,
        random: Callable[[], float] = random,
    ) -> None:
        self._clock = clock
        self._wall_clock = wall_clock
        self._write = write
        self._dropped = dropped
        self._lines: list[bytes] = []
        self._room = BATCH_BYTES
        self._flushing: IDelayedCall | None = None
        self._batches: Queue[bytes | None] = Queue(WAITING_BATCHES)
        self.thread = Thread(target=self.write_batches, name="access-log", daemon=True)
        """Writes the lines."""
        self._own: Callable[[Record], bytes | None] | None = None
        self._millisecond = -1
        self._stamp = b""
        self._reopen = reopen
        self._is_to_reopen = False
        self._from_thread = from_thread
        self._steady = steady
        self._random = random
        self._untold = 0
        self._told_at = float("-inf")

    def start(self) -> None:
        """Start the writing thread."""
        self.thread.start()

    def stop(self) -> None:
        """Hand over what is left, and give the thread a moment to write it: one to make room, where all batches wait, and one for the rest."""
        self.flush()
        is_writing = self.thread.is_alive()
        try:
            self._batches.put(None, is_writing, MOMENT_SECONDS)
        except Full:
            return
        if is_writing:
            self.thread.join(MOMENT_SECONDS)

    def exchange_ended(self, record: Record) -> None:
        """Add the line of one exchange, or of a tunnel, that ends now; its method and protocol are plain words."""
        route = record.route
        if route is not None and not route.is_logged:
            return
        own = self._own
        line = None if own is None else own(record)
        if line is None:
            millisecond = int(self._wall_clock() * 1000.0)
            if millisecond != self._millisecond:
                self._millisecond = millisecond
                # As ``stamp_of`` does, and a call less for each request.
                self._stamp = b"%b.%03dZ " % (stamp_of_second(millisecond // 1000), millisecond % 1000)
            seconds = record.seconds
            elapsed = int(seconds * 1000.0 + 0.5)
            host, target, request = record.host, record.target, record.id
            shown = host + target + request
            if len(shown) > MAX_FIELD or shown.translate(_REPLACED) != shown:
                host, target, request = escape(host), escape(target), escape(request)
            attempts, address, port = record.attempts, "", 0
            if attempts:
                endpoint = attempts[-1].endpoint
                address, port = endpoint.address, endpoint.port
            line = b"".join(
                (
                    self._stamp,
                    record.client,
                    b" ",
                    record.method[:32] or b"-",
                    b" ",
                    host or b"-",
                    b' "',
                    target,
                    _counts(record.status, record.bytes_sent),
                    _MILLISECONDS[elapsed] if 0 <= elapsed < 1000 else b"%.3f" % seconds,
                    _answered_by(address, port, record.owner, record.protocol),
                    request or b"-",
                )
            )
        elif not line:
            return
        self._lines.append(line)
        self._room -= len(line)
        if self._room <= 0:
            self.flush()
        elif self._flushing is None:
            self._flushing = self._clock.callLater(FLUSH_SECONDS, self._flush_later)

    def follow(self, settings: AccessLogSettings) -> None:
        """Go by *settings* from the next exchange on."""
        # Where lines go makes no difference to what stands in them.
        is_usual = evolve(settings, destination=None) == _USUAL
        self._own = None if is_usual else self._made_by(settings)

    def _made_by(self, settings: AccessLogSettings) -> Callable[[Record], bytes | None]:
        """Return what makes a line of a record: empty for none, None for the usual one."""
        make = _maker(settings)
        has_requests = settings.is_on and settings.has_requests
        has_streams = settings.is_on and settings.has_streams

        def line(record: Record) -> bytes | None:
            has_any = has_streams if record.protocol == STREAM_PROTOCOL else has_requests
            if not has_any or settings.skips(record.target):
                return b""
            if (
                settings.share < 1.0
                and 200 <= record.status < 400
                and record.cause is None
                and self._random() >= settings.share
            ):
                return b""
            return None if make is None else make(record, self._wall_clock())

        return line

    def _flush_later(self) -> None:
        self._flushing = None
        self.flush()

    def flush(self) -> None:
        """Hand the lines so far to the thread, or drop them when it is too far behind."""
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        lines, self._lines = self._lines, []
        self._room = BATCH_BYTES
        if not lines:
            return
        try:
            self._batches.put_nowait(b"\n".join(lines) + b"\n")
        except Full:
            self._dropped(len(lines))

    def reopen(self) -> None:
        """Have the file opened anew, by the thread; lines so far may go to either."""
        self.flush()
        self._is_to_reopen = True
        try:
            self._batches.put_nowait(b"")
        except Full:
            pass  # It has enough to wake up for.

    def write_batches(self) -> None:
        """Write what is handed over, until the end is; this is what the thread does."""
        while (batch := self._batches.get()) is not None:
            try:
                while len(batch) < 1 << 20:
                    following = self._batches.get_nowait()
                    if following is None:
                        self._batches.put_nowait(None)
                        break
                    batch += following
            except Empty:
                pass
            if self._is_to_reopen:
                self._is_to_reopen = False
                self._attempt(self._reopen, 0)
            if batch:
                self._attempt(lambda: self._write(batch), batch.count(b"\n"))  # noqa: B023 - called at once
        if self._untold:
            self._tell("and the process ends")

    def _attempt(self, call: Callable[[], None], lines: int) -> None:
        """Write or reopen by *call*; where it does not say how many lines are lost, all *lines* are."""
        why = "now it is written again"
        try:
            call()
        except OSError as error:
            why = error.strerror or str(error)
            lost = error.lines if isinstance(error, LinesLostError) else lines
            if lost:
                self._untold += lost
                self._from_thread(lambda: self._dropped(lost))
        if self._untold and self._steady() - self._told_at >= QUIET_SECONDS:
            self._tell(why)

    def _tell(self, why: str) -> None:
        self._told_at = self._steady()
        self.log.error(
            "{lines}: {why}",
            lines=number_of(
                self._untold,
                "line of the access log is lost, as it could not be written",
                "lines of the access log are lost, as it could not be written",
            ),
            why=why,
        )
        self._untold = 0
