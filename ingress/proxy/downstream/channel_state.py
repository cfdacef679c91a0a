"""What a downstream connection does and waits for.  Pure decisions; ``channel`` obeys them.

States::

    PREFACE ──HTTP/2's it is──▶ a session takes over
       │ it is none
       ▼
    HEAD ──head read──▶ EXCHANGE ──answer and request whole──▶ HEAD (or closed)
                           │  │
                           │  └─answer whole, request not──▶ LINGERING ──▶ closed
                           └──101──▶ TUNNEL ──▶ closed

Only where HTTP/2 may be begun without a word does a connection begin in ``PREFACE``; any other begins in ``HEAD``.
"""

from enum import Enum
from typing import Final

from ingress.model.serving.limits import Limits
from ingress.proxy.contract.deadlines import NEVER
from ingress.proxy.contract.limits import MAX_AHEAD


class State(Enum):
    """Where the connection is; see the picture above."""

    PREFACE = "preface"
    HEAD = "head"
    EXCHANGE = "exchange"
    TUNNEL = "tunnel"
    LINGERING = "lingering"
    CLOSED = "closed"


# Bound once: looking a member up in its class costs more than comparing it.
PREFACE: Final = State.PREFACE
HEAD: Final = State.HEAD
EXCHANGE: Final = State.EXCHANGE
TUNNEL: Final = State.TUNNEL
LINGERING: Final = State.LINGERING
CLOSED: Final = State.CLOSED

BETWEEN: Final = (HEAD, PREFACE)
"""Where no request is under way."""


def wants_reading(state: State, in_body: bool, paused: bool, full: bool, ahead: int) -> bool:
    """Whether somebody can take what the peer sends: upstream the request, the buffer what is ahead.

    *in_body* says that the request is not whole, *paused* that upstream takes no more of
    it, *full* that the peer does not take its answers, and so may not send further
    requests either; *ahead* counts the bytes of those that wait.
    """
    if state is LINGERING:
        return True
    if state is TUNNEL or in_body:
        return not paused
    return not full and ahead <= MAX_AHEAD


def seconds_allowed(state: State, in_body: bool, paused: bool, ahead: int, limits: Limits) -> float:
    """Return how long downstream may take for what is awaited of it now, if it takes what is sent to it."""
    if in_body:
        # While upstream takes no more of the request, the peer is not to blame for the gap.
        return NEVER if paused else limits.body_seconds
    if state is HEAD:
        return limits.head_seconds if ahead else limits.keep_alive_seconds
    return limits.head_seconds if state is PREFACE else NEVER
