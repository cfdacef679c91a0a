"""How a program of the benchmark ends, whoever ends it: with its processes, its files put away, and in one line."""

import signal
import sys
from collections.abc import Callable
from types import FrameType

from bench.setup.errors import BenchError

INTERRUPTED = 130
"""What a shell says of a program that Ctrl-C has ended."""


def status_of(name: str, run: Callable[[], int | None]) -> int:
    """Return the exit status of *run*, 0 where it returns none; the program *name* says in one line why nothing could be measured.

    SIGTERM and SIGHUP end it as an exception does, so that every ``with`` block is left.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        return run() or 0
    except BenchError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return INTERRUPTED


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
