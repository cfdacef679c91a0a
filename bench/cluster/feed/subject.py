"""``twistd ingress`` that, asked by signals, collects its garbage, and walks through all of its memory, as it may once that has grown."""

import gc
import signal
import sys
from types import FrameType

from twisted.scripts.twistd import run

COLLECT = signal.SIGRTMIN + 5
THAW = signal.SIGRTMIN + 6


def _collect(number: int, frame: FrameType | None) -> None:
    if number == THAW:
        gc.unfreeze()
    gc.collect()
    if number == THAW:
        gc.freeze()


if __name__ == "__main__":
    # All that is forked from here does the same.
    for one in (COLLECT, THAW):
        signal.signal(one, _collect)
    sys.argv[0] = "twistd"
    run()
