"""How many file descriptors the process may have, and how many connections of clients fit into that.

A client that is served takes two: its own connection, and one to an endpoint.  The rest of the
process needs some, too; what they are for is said beside the numbers.
"""

import os
import resource
from typing import Final

from twisted.logger import Logger

RESERVE: Final = 640
"""For splices (two for each of at most 256 pipes), watches of the API server, listeners, logs, admin pages."""
SMALL_RESERVE_SHARE: Final = 4
"""Where that would be more than a quarter of all, a quarter is reserved: large bodies are copied then."""
ENOUGH: Final = 65_536
"""What is asked of the system where its own limit is lower and may be raised."""

log = Logger()


def connections_within(descriptors: int, most: int) -> int:
    """Return how many connections of clients *descriptors* suffice for, and at most *most*."""
    reserve = min(RESERVE, descriptors // SMALL_RESERVE_SHARE)
    return max(1, min(most, (descriptors - reserve) // 2))


def raise_descriptors() -> int:
    """Raise the soft limit of the process as far as is useful and allowed; returns what it is now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return ENOUGH
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(ENOUGH, hard)
    if soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (OSError, ValueError) as error:
            log.warn("the limit of open files stays at {soft}: {error}", soft=soft, error=str(error))
    return soft


def has_room(count: int) -> bool:
    """Return whether the process may open *count* descriptors more, at this moment."""
    opened: list[int] = []
    try:
        for _ in range(count):
            opened.append(os.dup(opened[0]) if opened else os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        return False
    finally:
        for one in opened:
            os.close(one)
    return True
