"""What is logged while a test looks, and nothing of it afterwards.

Twisted's ``capturedLogs`` leaves its observer behind where what is done inside of it fails: it keeps all that other tests of the same
process log later, with what these events hold.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import cast

from twisted.logger import ILogObserver, LogEvent, globalLogPublisher


@contextmanager
def captured_logs() -> Iterator[Sequence[LogEvent]]:
    """Collect what is logged inside; stands for ``twisted.logger.capturedLogs`` in all tests."""
    events: list[LogEvent] = []
    observer = cast(ILogObserver, events.append)
    globalLogPublisher.addObserver(observer)
    try:
        yield events
    finally:
        globalLogPublisher.removeObserver(observer)
