"""What becomes of each slot: which worker it has, since when it does what, and how the ones before ended.

    ENDED ──began──▶ STARTING ──serves──▶ SERVING ──drains──▶ DRAINING
      ▲                    │                 ├──hangs──▶ HUNG      │
      └────────gone────────┴─────────────────┴───────────┴─────────┘

A worker is gone when its channel ends; how it ended comes another way, perhaps when the next one of its slot has begun.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from signal import Signals

from attrs import evolve

from ingress.model.observability.workers import WorkerEnd, WorkerStage, WorkerState


class SlotStates:
    """All slots, from 0 to *count* - 1.  *now* returns the time of day, with its zone."""

    def __init__(self, count: int, now: Callable[[], datetime]) -> None:
        self._now = now
        self._states = [WorkerState(slot, WorkerStage.ENDED, now()) for slot in range(count)]

    def began(self, slot: int) -> None:
        """A worker is being started."""
        self._enter(slot, WorkerStage.STARTING)
        state = self._states[slot]
        self._states[slot] = evolve(state, pid=None, starts=state.starts + 1)

    def has_pid(self, slot: int, pid: int) -> None:
        """Its process id is known."""
        self._states[slot] = evolve(self._states[slot], pid=pid)

    def serves(self, slot: int) -> None:
        """It has opened its listeners."""
        self._leave_for(slot, WorkerStage.SERVING, WorkerStage.STARTING)

    def drains(self, slot: int) -> None:
        """It accepts no more."""
        self._leave_for(slot, WorkerStage.DRAINING, WorkerStage.STARTING, WorkerStage.SERVING)

    def hangs(self, slot: int) -> None:
        """It is killed, since it gave no sign of life."""
        self._enter(slot, WorkerStage.HUNG)

    def gone(self, slot: int) -> None:
        """There is no worker any more; saying it again changes nothing."""
        if self._states[slot].stage is not WorkerStage.ENDED:
            self._enter(slot, WorkerStage.ENDED)
            self._states[slot] = evolve(self._states[slot], pid=None)

    def ended(self, slot: int, status: int, was_hung: bool, was_told: bool) -> None:
        """Count an end with *status*, less than 0 for a signal; *was_told* says that it was to end."""
        state = self._states[slot]
        cause, how = _end(status, was_hung, was_told)
        ends = {**state.ends, cause: state.ends.get(cause, 0) + 1}
        self._states[slot] = evolve(state, ends=ends, last_end=how)

    def states(self) -> Sequence[WorkerState]:
        """Return what is known of each."""
        return tuple(self._states)

    def _leave_for(self, slot: int, stage: WorkerStage, *before: WorkerStage) -> None:
        if self._states[slot].stage in before:
            self._enter(slot, stage)

    def _enter(self, slot: int, stage: WorkerStage) -> None:
        self._states[slot] = evolve(self._states[slot], stage=stage, since=self._now())


def _end(status: int, was_hung: bool, was_told: bool) -> tuple[WorkerEnd, str]:
    """Return the cause, and what happened as the end of a sentence."""
    if was_hung:
        return WorkerEnd.HUNG, "gave no sign of life, and was killed"
    if was_told and status == 0:
        return WorkerEnd.STOPPED, "ended as it was told to"
    if status < 0:
        return WorkerEnd.KILLED, f"was killed by {_signal_name(-status)}"
    return WorkerEnd.EXIT, f"ended with status {status}"


def _signal_name(number: int) -> str:
    try:
        return Signals(number).name
    except ValueError:
        return f"signal {number}"
