"""How far something is, on standard error: only for a person at a terminal, and only if it takes a while."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final, TextIO

PATIENCE_SECONDS: Final = 0.5
"""What is done by then shows nothing."""
_REST_SECONDS: Final = 0.1
_CLEARED: Final = "\r\033[K"

Tell = Callable[[str, int, int], None]
"""What is being done, in a few words of ours, how much of it is, and out of how many; 0 where that is not known."""


@contextmanager
def progress(stream: TextIO | None = None, clock: Callable[[], float] = monotonic) -> Iterator[Tell]:
    """Give what is to be called with how far things are; the line that this shows is gone at the end."""
    stream = sys.stderr if stream is None else stream
    if stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb":
        yield _nothing
        return
    shown = False
    due = clock() + PATIENCE_SECONDS

    def tell(what: str, count: int, of: int) -> None:
        nonlocal shown, due
        now = clock()
        if now < due:
            return
        due = now + _REST_SECONDS
        far = f"{count:,} of {of:,}" if of else f"{count:,}"
        stream.write(_CLEARED + f"{what}: {far}")
        stream.flush()
        shown = True

    try:
        yield tell
    finally:
        if shown:
            stream.write(_CLEARED)
            stream.flush()


def _nothing(what: str, count: int, of: int) -> None:
    pass
