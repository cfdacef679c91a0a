"""What may go wrong with an exchange, and what follows: one table, and what reads it.

Each row says what happened in which state, whether another attempt may be made, which side
is to blame, and what downstream is told when no attempt is left.  Nothing else decides
that.  ``docs/architecture.md`` shows the table, and tests walk it.

What holds for every row: nothing is sent again once a part of the answer went
downstream, and nothing that is not held whole any more (``limits.MAX_HELD``).  How many
tries there are, and after what, is the route's to say (``RetryRule``); a connection
that was kept and is stale is no try, since the endpoint may be as well as ever.
"""

import os
from collections.abc import Mapping
from enum import Enum
from errno import EADDRNOTAVAIL, EMFILE, ENFILE, ENOBUFS, ENOMEM
from typing import Final, NamedTuple

from ingress.model.exchanges.causes import Cause
from ingress.model.upstream.retries import RetryRule
from ingress.proxy.contract.transport import TIMED_OUT

CLIENT_CLOSED: Final = 499
"""What the log shows when downstream left before there was an answer (nginx's number)."""
CUT_OFF: Final = 503
"""What the log shows when we ended the connection before there was an answer, as the process was to end."""
IDEMPOTENT: Final = frozenset((b"GET", b"HEAD", b"PUT", b"DELETE", b"OPTIONS"))
"""Methods whose requests may be sent twice (RFC 9110 section 9.2.2)."""


class State(Enum):
    """Where an exchange is; ``ingress.proxy.exchange.exchange`` has a picture."""

    WAITING = "waiting"
    CONNECTING = "connecting"
    AWAITING = "awaiting"
    ANSWERING = "answering"
    TUNNEL = "tunnel"
    DONE = "done"


class Fault(Enum):
    """What went wrong, in words for the table."""

    NO_ENDPOINT = "the backend has no usable endpoint"
    NO_SOCKET = "this system has no socket left for a connection"
    UNREACHABLE = "no connection could be made"
    CONNECT_TIMEOUT = "making the connection took too long"
    UNTAKEN = "a kept connection turned out to be closed, and took nothing of the request"
    STALE = "a kept connection ended before the first byte of an answer"
    DROPPED = "a new connection ended before the first byte of an answer"
    DECLINED = "a connection in use told that nothing was done with the request"
    DECLINED_AT_ONCE = "a new connection told that nothing was done with the request"
    SILENT = "upstream was silent for too long, from the start"
    BROKEN = "the connection ended after the first byte of an answer"
    STALLED = "upstream was silent for too long, after the first byte of an answer"
    INVALID = "what came is no answer, or not the rest of one"
    LATE = "the attempt took longer than its route lets one take"
    REFUSED_STATUS = "the answer has a status that the route wants tried elsewhere"
    UNREADABLE = "the request body is too large, too slow or unreadable"
    LEFT = "downstream went away"

    @property
    def word(self) -> str:
        """What metrics call it."""
        return self.name.lower().replace("_", "-")


LEFT: Final = (
    (CLIENT_CLOSED, Fault.LEFT.value, Cause.CLIENT),
    (CUT_OFF, "the process ends", Cause.UNAVAILABLE),
)
"""Status, reason and cause where downstream is gone before the end: it left; or we ended its connection."""
AFTER_HEAD: Final[Mapping[Fault, Fault]] = {Fault.INVALID: Fault.BROKEN, Fault.LATE: Fault.STALLED}
"""What a fault is once the head of an answer was seen, after which nothing is sent again."""


class Again(Enum):
    """Which further attempt a row allows."""

    NEVER = "none"
    ANOTHER = "any method, on another endpoint"
    ANOTHER_IF_REPEATABLE = "idempotent methods, on another endpoint"
    RENEWED = "any method, on a new connection"
    RENEWED_IF_REPEATABLE = "idempotent methods, on a new connection"


class Side(Enum):
    """Who is to blame."""

    DOWNSTREAM = "downstream"
    UPSTREAM = "upstream"
    PROXY = "the proxy"
    NOBODY = "nobody"


class Row(NamedTuple):
    """What follows from a fault in a state.

    *when* is the setting of ``RetryRule`` that must allow the attempt, empty where nothing
    need.  *status* is what downstream is told when there is no other attempt; 0 means
    nothing new: that its connection is cut, or the answer passed on as it is.
    """

    again: Again
    when: str
    blames: Side
    status: int


_CUT: Final = 0
_FROM_BODY: Final = 400
"""Stands for 400, 408 and 413: what is wrong with the body says which."""

TABLE: Final[Mapping[tuple[State, Fault], Row]] = {
    (State.WAITING, Fault.NO_ENDPOINT): Row(Again.NEVER, "", Side.UPSTREAM, 503),
    (State.WAITING, Fault.UNREADABLE): Row(Again.NEVER, "", Side.DOWNSTREAM, _FROM_BODY),
    (State.WAITING, Fault.LEFT): Row(Again.NEVER, "", Side.DOWNSTREAM, CLIENT_CLOSED),
    (State.CONNECTING, Fault.NO_SOCKET): Row(Again.ANOTHER, "on_error", Side.PROXY, 503),
    (State.CONNECTING, Fault.UNREACHABLE): Row(Again.ANOTHER, "on_error", Side.UPSTREAM, 502),
    (State.CONNECTING, Fault.CONNECT_TIMEOUT): Row(Again.ANOTHER, "on_timeout", Side.UPSTREAM, 504),
    (State.CONNECTING, Fault.UNREADABLE): Row(Again.NEVER, "", Side.DOWNSTREAM, _FROM_BODY),
    (State.CONNECTING, Fault.LEFT): Row(Again.NEVER, "", Side.DOWNSTREAM, CLIENT_CLOSED),
    (State.AWAITING, Fault.UNTAKEN): Row(Again.RENEWED, "", Side.NOBODY, 502),
    (State.AWAITING, Fault.STALE): Row(Again.RENEWED_IF_REPEATABLE, "", Side.NOBODY, 502),
    (State.AWAITING, Fault.DROPPED): Row(Again.ANOTHER_IF_REPEATABLE, "on_error", Side.UPSTREAM, 502),
    (State.AWAITING, Fault.DECLINED): Row(Again.RENEWED, "", Side.NOBODY, 502),
    (State.AWAITING, Fault.DECLINED_AT_ONCE): Row(Again.ANOTHER, "on_error", Side.UPSTREAM, 502),
    (State.AWAITING, Fault.SILENT): Row(Again.ANOTHER_IF_REPEATABLE, "on_timeout", Side.UPSTREAM, 504),
    (State.AWAITING, Fault.INVALID): Row(Again.ANOTHER_IF_REPEATABLE, "on_invalid", Side.UPSTREAM, 502),
    (State.AWAITING, Fault.LATE): Row(Again.ANOTHER_IF_REPEATABLE, "on_late", Side.UPSTREAM, 504),
    (State.AWAITING, Fault.REFUSED_STATUS): Row(Again.ANOTHER_IF_REPEATABLE, "statuses", Side.UPSTREAM, _CUT),
    (State.AWAITING, Fault.BROKEN): Row(Again.NEVER, "", Side.UPSTREAM, 502),
    (State.AWAITING, Fault.STALLED): Row(Again.NEVER, "", Side.UPSTREAM, 504),
    (State.AWAITING, Fault.UNREADABLE): Row(Again.NEVER, "", Side.DOWNSTREAM, _FROM_BODY),
    (State.AWAITING, Fault.LEFT): Row(Again.NEVER, "", Side.DOWNSTREAM, CLIENT_CLOSED),
    (State.ANSWERING, Fault.INVALID): Row(Again.NEVER, "", Side.UPSTREAM, _CUT),
    (State.ANSWERING, Fault.BROKEN): Row(Again.NEVER, "", Side.UPSTREAM, _CUT),
    (State.ANSWERING, Fault.STALLED): Row(Again.NEVER, "", Side.UPSTREAM, _CUT),
    (State.ANSWERING, Fault.LATE): Row(Again.NEVER, "", Side.UPSTREAM, _CUT),
    (State.ANSWERING, Fault.UNREADABLE): Row(Again.NEVER, "", Side.DOWNSTREAM, _CUT),
    (State.ANSWERING, Fault.LEFT): Row(Again.NEVER, "", Side.DOWNSTREAM, _CUT),
    (State.TUNNEL, Fault.BROKEN): Row(Again.NEVER, "", Side.NOBODY, _CUT),
    (State.TUNNEL, Fault.STALLED): Row(Again.NEVER, "", Side.NOBODY, _CUT),
    (State.TUNNEL, Fault.LEFT): Row(Again.NEVER, "", Side.NOBODY, _CUT),
}

_RENEWALS: Final = (Again.RENEWED, Again.RENEWED_IF_REPEATABLE)
_FOR_REPEATABLE: Final = (Again.ANOTHER_IF_REPEATABLE, Again.RENEWED_IF_REPEATABLE)

_OWN_FAULTS: Final = frozenset(
    os.strerror(code).lower() for code in (EADDRNOTAVAIL, EMFILE, ENFILE, ENOBUFS, ENOMEM)
)


def fault_of_connecting(why: str) -> Fault:
    """Return the fault that a reason for not connecting is."""
    if why == TIMED_OUT:
        return Fault.CONNECT_TIMEOUT
    return Fault.NO_SOCKET if why.lower() in _OWN_FAULTS else Fault.UNREACHABLE


class Reuse(Enum):
    """Which connection will do for an attempt."""

    ANY = "any"
    NEW = "one that has answered nobody yet, which others may share"
    OWN = "one on which nobody else has a request yet"


# Bound once: looking a member up in its class costs more than comparing it.
ANY: Final = Reuse.ANY
OWN: Final = Reuse.OWN


class Step(Enum):
    """What an exchange does after a fault."""

    FAIL = "fail"
    ANOTHER = "another"
    """Try another endpoint."""
    RENEW = "renew"
    """Try the same endpoint on a new connection."""


def next_step(row: Row, rule: RetryRule, method: bytes, is_held: bool, tries: int, seconds: float) -> Step:
    """Decide what follows *row*, for a request of *method* that was tried *tries* times in *seconds*.

    *is_held* says that all that was sent of the body, if anything, can be sent again.
    """
    if row.again is Again.NEVER or not is_held:
        return Step.FAIL
    if row.again in _FOR_REPEATABLE and not (method in IDEMPOTENT or _repeats_any(row, rule)):
        return Step.FAIL
    if row.again in _RENEWALS:
        return Step.RENEW
    if not getattr(rule, row.when) or (rule.max_tries and tries >= rule.max_tries):
        return Step.FAIL
    if rule.max_seconds and seconds >= rule.max_seconds:
        return Step.FAIL
    return Step.ANOTHER


def _repeats_any(row: Row, rule: RetryRule) -> bool:
    """Whether the route has requests of any method sent again after *row*."""
    return rule.non_idempotent or (rule.any_method_by_status and row.when == "statuses")
