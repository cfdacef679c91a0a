"""Lines of the log on their way from a worker to its parent, which writes the log for all.

The parent believes the mark of a line no more than a mark can say.
"""

import json
import os
from collections.abc import Callable
from typing import Any, Final, Protocol, cast

from attrs import evolve
from twisted.logger import ILogObserver, InvalidLogLevelError, Logger, LogLevel
from zope.interface import implementer

from ingress.model.observability.changes_and_failures import MOST_CHARACTERS, MOST_HOSTS, ChangeSort, Mark
from ingress.process.framing import NonsenseError
from ingress.process.logs.program_log import Told, told_by
from ingress.proxy.listening.open_listeners import OpenListeners
from ingress.wording import number_of

OF_WORKERS: Final = frozenset((ChangeSort.EJECTION, ChangeSort.OVERLOAD))
"""What a worker may tell of; all else is the parent's own to know."""


def mark_to_plain(mark: Mark) -> list[object]:
    """Return *mark* as plain data."""
    hosts = list(mark.hosts[:MOST_HOSTS])
    flags = [mark.is_trouble, mark.state, mark.is_over]
    return [mark.sort.value, mark.verb, mark.kind, mark.object, hosts, *flags]


def mark_from_plain(value: Any) -> Mark:
    """Return the mark that *value* is; raises ``NonsenseError`` for what is none of a worker's."""
    try:
        sort, verb, kind, about, hosts, is_trouble, state, is_over = value
        mark = Mark(ChangeSort(sort), verb, kind, about, tuple(hosts), is_trouble, state, is_over)
    except (ValueError, TypeError):
        raise NonsenseError("a mark of a line that is none") from None
    texts = (verb, kind, about, state, *mark.hosts)
    flags = (is_trouble, is_over)
    if (
        mark.sort not in OF_WORKERS
        or len(mark.hosts) > MOST_HOSTS
        or not all(isinstance(text, str) and len(text) <= MOST_CHARACTERS for text in texts)
        or not all(isinstance(flag, bool) for flag in flags)
    ):
        raise NonsenseError("a mark of a line that is none")
    return mark


_QUIET: Final = frozenset((OpenListeners.log.namespace, "log_legacy"))
"""Who tells, when all goes well, just what the parent tells of itself.  So do Twisted's ports, by its old log."""

_LAST_TIME: Final = 1e11
"""Seconds since the epoch; what comes later no calendar here knows."""

LONGEST: Final = 65_536
"""Characters of a line that travel."""
MOST_WAITING_BYTES: Final = 1024 * 1024
"""What waits for a parent that does not read."""


def line_to_bytes(event: dict[str, Any]) -> bytes | None:
    """Return the line of *event* as it travels; None where the parent has it anyway."""
    level = event.get("log_level") or LogLevel.info
    namespace = event.get("log_namespace") or "-"
    if level <= LogLevel.info and namespace in _QUIET:
        return None
    told = told_by(event)
    if not told.message.strip() and not told.traceback:
        return None
    message, traceback = told.message[:LONGEST], told.traceback[:LONGEST]
    mark = event.get("change")
    marks = [mark_to_plain(mark)] if isinstance(mark, Mark) and mark.sort in OF_WORKERS else []
    return json.dumps(
        [level.name, told.logger, message, event.get("log_time"), traceback, told.request, *marks]
    ).encode()


def tell_line(octets: bytes, who: str, slot: int | None = None) -> None:
    """Write the line that came from *who*, and of the worker's *slot* if it is one, into the log of this process.

    Raises ``NonsenseError`` for what is none.
    """
    level, told, time, mark = _read_line(octets)
    Logger(namespace=told.logger).emit(
        level,
        "{text}",
        text=_as_text(told),
        told=evolve(told, process=who),
        log_system=f"{who}: {told.logger}#{level.name}",
        **({} if time is None else {"log_time": time}),
        **({} if mark is None else {"change": mark, "slot": slot}),
    )


def _as_text(told: Told) -> str:
    return f"{told.message}\n{told.traceback}" if told.traceback else told.message


def _read_line(octets: bytes) -> tuple[Any, Told, float | None, Mark | None]:
    try:
        level, logger, message, time, traceback, request, *marks = json.loads(octets)
        texts = (logger, message, traceback, request)
        if not all(isinstance(text, str) for text in texts) or not _is_time(time):
            raise ValueError
        told = Told("".join(filter(str.isprintable, logger)), message, traceback, request)
        (mark,) = map(mark_from_plain, marks) if marks else (None,)
        return LogLevel.levelWithName(level), told, time, mark
    except (ValueError, TypeError, RecursionError, InvalidLogLevelError):
        raise NonsenseError("a line of the log that is none") from None


def _is_time(value: object) -> bool:
    return value is None or (isinstance(value, float) and 0.0 <= value < _LAST_TIME)


def line_sender(send: Callable[[bytes], None]) -> ILogObserver:
    """Return an observer that gives each line to *send*."""

    @implementer(ILogObserver)
    def observe(event: dict[str, Any]) -> None:
        line = line_to_bytes(event)
        if line is not None:
            send(line)

    return cast(ILogObserver, observe)


class Outlet(Protocol):
    """Where lines go to the parent."""

    @property
    def is_open(self) -> bool:
        """Whether there is a parent, as far as is known."""

    @property
    def unsent(self) -> int:
        """Bytes that wait until it reads."""


class LinesToParent:
    """Sends the lines of one worker, of any of its threads, and waits for nobody.

    What a parent that does not read has no room for is dropped, and counted; the first line that fits again is behind one that
    says how many are missing.  Without a parent, warnings and errors are *left* to whoever may read them.
    """

    def __init__(
        self,
        outlet: Outlet,
        send: Callable[[bytes], None],
        from_thread: Callable[[Callable[[], None]], object],
        is_in_reactor: Callable[[], bool],
        left: Callable[[bytes], None],
    ) -> None:
        """*send* is called in the reactor thread, to which *from_thread* leads from others, as *is_in_reactor* says."""
        self._outlet = outlet
        self._send = send
        self._from_thread = from_thread
        self._is_in_reactor = is_in_reactor
        self._left = left
        self._untold = 0
        self.dropped = 0
        """Lines that there was no room for."""

    def take(self, line: bytes) -> None:
        """Have *line* sent; called in any thread."""
        if self._is_in_reactor():
            self._go(line)
        else:
            self._from_thread(lambda: self._go(line))

    def _go(self, line: bytes) -> None:
        if not self._outlet.is_open:
            level, told, *_ = _read_line(line)
            if level > LogLevel.info:
                text = f"{told.logger}#{level.name}: {_as_text(told)}\n"
                self._left(text.encode(errors="backslashreplace"))
        elif self._outlet.unsent > MOST_WAITING_BYTES:
            self._untold += 1
            self.dropped += 1
        else:
            if self._untold:
                missing = f"{number_of(self._untold, 'line of the log is', 'lines of the log are')} missing here: the parent did not read"
                self._send(json.dumps([LogLevel.warn.name, "log", missing, None, "", ""]).encode())
                self._untold = 0
            self._send(line)


def to_standard_error(octets: bytes) -> None:
    """Write a line where a service manager, or a terminal, may still read."""
    try:
        os.write(2, octets)
    except OSError:
        return  # Nobody does.
