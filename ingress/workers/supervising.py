"""When the next worker is started, and when one hangs.  Pure: whoever asks says what the time is."""

from collections import deque
from typing import Final

from ingress.model.cluster.objects import Kind
from ingress.model.cluster.problems import Problem, Reason
from ingress.wording import number_of

FEW: Final = 5
"""So many ends ..."""
WINDOW_SECONDS: Final = 30.0
"""... within this time are trouble, and the next worker has to wait."""
FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 30.0

LOOK_SECONDS: Final = 0.5
"""How often the parent looks for the beats of all workers."""
SILENT_LOOKS: Final = 8
"""Looks one after the other at which a worker had had no turn since the one before: then it hangs."""
STARTING_LOOKS: Final = 120
"""The same for a worker that never had one: it may have much to read."""
FORK_SERVER_LOOKS: Final = 60
"""The same for a fork server of which something is asked: the process ends without it, so it has half a minute."""
STOP_SECONDS: Final = 5.0
"""How long a worker has to give everything back at the very end."""
LEAVING_SECONDS: Final = 0.5
"""How long a worker whose parent is gone may have no turn before it has left the ports, which the next parent wants."""
LATE_LOOK_SECONDS: Final = 1.5
"""A look that comes so long after the last one says nothing of workers: the parent was stopped itself, or had no processor."""


def worker_problems(ended: int, keys_left_seconds: float) -> tuple[Problem, ...]:
    """Return what the operator is to know of workers: that *ended* of them ended of late, if not 0, and that no common keys are left."""
    problems = []
    if ended:
        message = f"{number_of(ended, 'worker')} ended of late, so each that follows has to wait; the log says how they ended"
        problems.append(Problem(Kind.PROCESS, "", "workers", Reason.WORKERS_ENDING, message))
    if keys_left_seconds <= 0:
        message = (
            "the ticket keys that workers have in common are used up, so TLS sessions are resumed on the worker alone "
            "that they began at; a new process has new ones"
        )
        problems.append(Problem(Kind.PROCESS, "", "workers", Reason.TICKET_KEYS_USED_UP, message))
    return tuple(problems)


class Restarts:
    """How long to wait before a worker that ended is followed by another."""

    def __init__(self) -> None:
        self._ends: deque[float] = deque()
        self._pause = 0.0

    def ended(self, now: float, is_last: bool = False) -> float:
        """Take that one ended at *now*; return the seconds until another is to be started.

        *is_last* says that there is none any more: then somebody tries soon, however many ended.
        """
        self._ends.append(now)
        self._forget(now)
        if len(self._ends) < FEW:
            self._pause = 0.0
        else:
            self._pause = min(max(2 * self._pause, FIRST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)
        return min(self._pause, FIRST_PAUSE_SECONDS) if is_last else self._pause

    def trouble(self, now: float) -> int:
        """Return how many ended of late, if that is trouble, or else 0."""
        self._forget(now)
        return len(self._ends) if len(self._ends) >= FEW else 0

    def _forget(self, now: float) -> None:
        # While there are pauses, fewer fit into the window: it grows with them.
        window = WINDOW_SECONDS + FEW * self._pause
        while self._ends and now - self._ends[0] > window:
            self._ends.popleft()


def keeps_ports(accepts: bool, silent_seconds: float) -> bool:
    """Whether a worker whose parent is gone hangs, and keeps the ports from the next one; one that is well leaves them at once."""
    return accepts and silent_seconds > LEAVING_SECONDS


class Looks:
    """Whether a worker hangs, by looks at its beats."""

    def __init__(self) -> None:
        self._beat = 0
        self._silent = 0

    def hangs(self, beat: int, is_late: bool) -> bool:
        """Look: *beat* is when it last had a turn, 0 if never; *is_late* says that the parent was away itself before this look."""
        if beat != self._beat or is_late:
            self._beat = beat
            self._silent = 0
            return False
        self._silent += 1
        return self._silent >= (SILENT_LOOKS if beat else STARTING_LOOKS)


class ForkServerLooks:
    """Whether the fork server hangs, by looks at what it says."""

    def __init__(self) -> None:
        self._told = 0
        self._silent = 0

    def hangs(self, told: int, *, is_asked: bool, is_late: bool) -> bool:
        """Look, and say once that it hangs: *told* counts what it has said, *is_asked* says that something of it is awaited; *is_late* as for workers."""
        if told != self._told or not is_asked or is_late:
            self._told = told
            self._silent = 0
            return False
        self._silent += 1
        return self._silent == FORK_SERVER_LOOKS
