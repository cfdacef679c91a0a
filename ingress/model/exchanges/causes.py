"""Whose failure an exchange was.

An exchange that ended as its client and its endpoint meant it to has no cause; an endpoint's own 4xx is its answer, and no
failure.  The values are those of the label ``cause`` of metrics, of the log and of ``/api/v1/failures``, and stay as they are.
"""

from enum import Enum
from typing import Final


class Cause(Enum):
    """What a failure is due to."""

    UPSTREAM = "upstream"
    """The endpoint itself answered 5xx."""
    BAD_GATEWAY = "bad-gateway"
    """502 of ours: no connection could be made, or what came was no answer."""
    UNAVAILABLE = "unavailable"
    """503 of ours: there is no endpoint, none with room, no socket left; or the process ends."""
    GATEWAY_TIMEOUT = "gateway-timeout"
    """504 of ours: the endpoint, or a filter, took too long."""
    CUT = "cut"
    """An answer that had begun broke off."""
    LIMIT = "limit"
    """A filter of rates and connections refused it."""
    AUTH = "auth"
    """A filter that says who may come in refused it."""
    AUTH_FAILED = "auth-failed"
    """A filter that says who may come in could not find out, or lets nobody in: it answered 5xx."""
    FILTER = "filter"
    """Another filter answered with an error, or one failed."""
    NO_ROUTE = "no-route"
    """404 of ours: no route takes the host and path."""
    REQUEST = "request"
    """4xx, 501 or 505 of ours: what the client sent cannot be served."""
    CLIENT = "client"
    """The client left before the end."""
    OVERLOAD = "overload"
    """503 of ours: there was more to do than could be done."""
    LOOP = "loop"
    """508 of ours: the request had come back too often, from an endpoint that leads here again."""
    BUG = "bug"
    """A bug of the proxy."""


UNSAID: Final = {
    Cause.FILTER: "a filter gave the endpoint's answer another status",
    Cause.BAD_GATEWAY: "the endpoint opened another tunnel than was asked for, or none",
}
"""The reason of failures of which nobody says more."""

_OF_STATUS: Final = {
    404: Cause.NO_ROUTE,
    499: Cause.CLIENT,
    500: Cause.BUG,
    501: Cause.REQUEST,
    502: Cause.BAD_GATEWAY,
    504: Cause.GATEWAY_TIMEOUT,
    505: Cause.REQUEST,
}


def cause_of_reply(cause: Cause, status: int) -> Cause:
    """Return the cause of a filter's answer with the error *status*, where *cause* is that of what the filter refuses."""
    return Cause.AUTH_FAILED if cause is Cause.AUTH and status >= 500 else cause


def cause_of_status(status: int) -> Cause:
    """Return the cause of an error *status* of our own, where nothing more is known."""
    return _OF_STATUS.get(status, Cause.REQUEST if status < 500 else Cause.UNAVAILABLE)


def cause_of_answer(status: int, outcome: str) -> Cause | None:
    """Return the cause of an answer with the error *status* of which nobody said any; None if it is no failure.

    *outcome* is that of the last attempt: the status that the endpoint answered, in digits, or else a fault; empty where there
    was no attempt.
    """
    if not outcome.isdigit():
        return cause_of_status(status)
    if int(outcome) < 400:
        return Cause.FILTER
    return Cause.UPSTREAM if status >= 500 else None
