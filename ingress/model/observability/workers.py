"""What is known of the workers of one parent: values for pages, metrics and readiness.

Workers are told apart by *slot*: 0, 1, … N-1.  A slot has one worker after the other, each a *life* of it.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import Enum

from ingress.model.frozen import frozen


class WorkerStage(Enum):
    """Where the life of a slot's worker is."""

    STARTING = "starting"
    """It is being forked, reads its first snapshot, or opens its listeners."""
    SERVING = "serving"
    DRAINING = "draining"
    """It accepts no more, and ends when its connections have."""
    HUNG = "hung"
    """It gives no sign of life, and is about to be killed."""
    ENDED = "ended"
    """There is none; another one is to come."""


class WorkerEnd(Enum):
    """Why a worker ended."""

    KILLED = "killed"
    """A signal ended it that its parent did not send, such as that of a system without memory."""
    EXIT = "exit"
    """It ended by itself, and should not have."""
    HUNG = "hung"
    """It gave no sign of life, and was killed for that."""
    STOPPED = "stopped"
    """It was told to end."""


@frozen
class WorkerState:
    """One slot, at one moment."""

    slot: int
    stage: WorkerStage
    since: datetime
    """When the stage began, with its zone."""
    pid: int | None = None
    """That of its worker; None where there is none."""
    connections: int = 0
    """Downstream connections that are open."""
    lateness_seconds: float = 0.0
    """By how much its reactor came late to what was due, the last time that it told."""
    snapshot: int = 0
    """The number of the snapshot in force; 0 before the first."""
    behind_seconds: float = 0.0
    """For how long there has been a newer snapshot than that; 0 while there is none."""
    starts: int = 0
    """Lives so far, this one included."""
    ends: Mapping[WorkerEnd, int] = {}
    """How many of them ended, by cause; causes that never were may be left out."""
    last_end: str = ""
    """What ended the last one, as the end of a sentence ("was killed by signal 9"); empty before any ended."""
