"""The memory of this process, kept from others of the same user."""

import ctypes
import sys
from typing import Final

_PR_SET_DUMPABLE: Final = 4


def hide_memory() -> None:
    """Have no other process of this user read the memory of this one, or of what is forked from it (``PR_SET_DUMPABLE``, prctl(2)).

    There is no core file either.  Programs that it starts are as they ever are; elsewhere than on Linux it does nothing.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
