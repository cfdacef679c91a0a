"""Lines of the log on their way from a worker to its parent, which writes the log for all."""

import json
from collections.abc import Callable
from typing import Any, Final, cast

from twisted.logger import ILogObserver, Logger, LogLevel, eventAsText
from zope.interface import implementer

from ingress.proxy.listening.open_listeners import OpenListeners

_QUIET: Final = frozenset((OpenListeners.log.namespace, "log_legacy"))
"""Who tells, when all goes well, just what the parent tells of itself.  So do Twisted's ports, by its old log."""

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
    """Write the line that came from *who* into the log of this process."""
    level, system, text, time = json.loads(octets)
    Logger(namespace=system).emit(
        LogLevel.levelWithName(level),
        "{text}",
        text=text,
        log_system=f"{who}: {system}",
        **({} if time is None else {"log_time": time}),
    )


def line_sender(send: Callable[[bytes], None]) -> ILogObserver:
    """Return an observer that gives each line to *send*."""

    @implementer(ILogObserver)
    def observe(event: dict[str, Any]) -> None:
        line = line_to_bytes(event)
        if line is not None:
            send(line)

    return cast(ILogObserver, observe)
