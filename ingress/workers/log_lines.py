"""Lines of the log on their way from a worker to its parent, which writes the log for all."""

import json
from collections.abc import Callable
from typing import Any, Final, cast

from twisted.logger import ILogObserver, InvalidLogLevelError, Logger, LogLevel, eventAsText
from zope.interface import implementer

from ingress.proxy.listening.open_listeners import OpenListeners
from ingress.workers.framing import NonsenseError

_QUIET: Final = frozenset((OpenListeners.log.namespace, "log_legacy"))
"""Who tells, when all goes well, just what the parent tells of itself.  So do Twisted's ports, by its old log."""

_LAST_TIME: Final = 1e11
"""Seconds since the epoch; what comes later no calendar here knows."""

LONGEST: Final = 65_536
"""Characters of a line that travel."""


def line_to_bytes(event: dict[str, Any]) -> bytes | None:
    """Return the line of *event* as it travels; None where the parent has it anyway."""
    level = event.get("log_level") or LogLevel.info
    namespace = event.get("log_namespace") or "-"
    if level <= LogLevel.info and namespace in _QUIET:
        return None
    text = eventAsText(event, includeTimestamp=False, includeSystem=False)
    if not text.strip():
        return None
    system = event.get("log_system") or f"{namespace}#{level.name}"
    return json.dumps([level.name, str(system), text[:LONGEST], event.get("log_time")]).encode()


def tell_line(octets: bytes, who: str) -> None:
    """Write the line that came from *who* into the log of this process; raises ``NonsenseError`` for what is none."""
    level, system, text, time = _read_line(octets)
    Logger(namespace=system).emit(
        level,
        "{text}",
        text=text,
        log_system=f"{who}: {system}",
        **({} if time is None else {"log_time": time}),
    )


def _read_line(octets: bytes) -> tuple[Any, str, str, float | None]:
    try:
        level, system, text, time = json.loads(octets)
        if not isinstance(system, str) or not isinstance(text, str) or not _is_time(time):
            raise ValueError
        return LogLevel.levelWithName(level), "".join(filter(str.isprintable, system)), text, time
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
