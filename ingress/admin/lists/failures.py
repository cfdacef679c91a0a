"""Failures: the last exchanges that have a cause."""

from collections.abc import Callable, Iterable
from typing import Final

from ingress.admin.contract.answers import LargeAnswer
from ingress.admin.contract.listing import Filter, Listing, Position, paged
from ingress.admin.contract.page_request import PageRequest
from ingress.admin.contract.page_row import V1, PageRow
from ingress.admin.contract.parameters import Parameter
from ingress.admin.contract.schemas import (
    Schema,
    fields_of,
    list_of,
    moment,
    number,
    one_of,
    or_null,
    page_of,
    text,
    truth,
    whole_number,
)
from ingress.admin.lists.changes import LAST
from ingress.admin.lists.parameters import SINCE, came_since
from ingress.model.exchanges.causes import Cause
from ingress.model.observability.changes_and_failures import FailedAttempt, Failure
from ingress.process.timestamps import rfc3339

_UNLESS_SHOWN: Final = "null unless `--admin-show-queries` is given."

ATTEMPT: Final[Schema] = fields_of(
    {
        "endpoint": text("`ADDRESS:PORT`."),
        "outcome": text("The status that came, in digits, or what went wrong."),
        "began": number("When it began, in seconds since the head of the request."),
        "connected": or_null(number(), "When the connection was had; null where none was."),
        "seconds": number("From its beginning until it was over."),
        "reused": truth("Whether the connection had served others before."),
    }
)

FAILURE: Final[Schema] = fields_of(
    {
        "number": whole_number("Its place among all, from 1."),
        "at": moment("When it was over."),
        "cause": one_of([cause.value for cause in Cause], "Whose failure it was."),
        "status": whole_number("What the client was told, or would have been; 499 where it had left."),
        "reason": text("Why; empty where the endpoint itself answered so."),
        "method": text(),
        "host": text(),
        "path": text("As received, without its query."),
        "query": or_null(text(), f"As received; {_UNLESS_SHOWN}"),
        "id": or_null(text(), f"The request's id, as in the logs; {_UNLESS_SHOWN}"),
        "client": or_null(text(), f"The client's address; {_UNLESS_SHOWN}"),
        "trace": text("The id of its trace; empty without."),
        "protocol": text("What the client spoke."),
        "seconds": number("From the head of the request to the last byte of the answer."),
        "ingress": text("`NAMESPACE/NAME` of the object whose route matched; empty without."),
        "backend": text("`NAMESPACE/SERVICE:PORT`; empty without."),
        "filter": text("The filter that answered, or failed; empty where none did."),
        "attempts": list_of(ATTEMPT, "The endpoints that were tried, in order; the last few."),
        "moreAttempts": whole_number("How many there were before these."),
        "worker": or_null(whole_number(), "The slot of the worker that had it; null without workers."),
    }
)


def failure_as_data(failure: Failure) -> dict[str, object]:
    """Return *failure* as ``FAILURE`` describes it."""
    return {
        "number": failure.number,
        "at": rfc3339(failure.at),
        "cause": failure.cause,
        "status": failure.status,
        "reason": failure.reason,
        "method": failure.method,
        "host": failure.host,
        "path": failure.path,
        "query": failure.query,
        "id": failure.id,
        "client": failure.client,
        "trace": failure.trace,
        "protocol": failure.protocol,
        "seconds": round(failure.seconds, 6),
        "ingress": failure.ingress,
        "backend": failure.backend,
        "filter": failure.filter,
        "attempts": [_attempt_as_data(attempt) for attempt in failure.attempts],
        "moreAttempts": failure.more_attempts,
        "worker": failure.worker,
    }


def _attempt_as_data(attempt: FailedAttempt) -> dict[str, object]:
    return {
        "endpoint": attempt.endpoint,
        "outcome": attempt.outcome,
        "began": round(attempt.began, 6),
        "connected": None if attempt.connected < 0 else round(attempt.connected, 6),
        "seconds": round(attempt.seconds, 6),
        "reused": attempt.is_reused,
    }


def _as_data(failure: Failure, asked: PageRequest) -> dict[str, object]:
    return failure_as_data(failure)


def _entries(asked: PageRequest) -> Iterable[Failure]:
    return asked.sources.rings.failures.since()


def _position(failure: Failure) -> Position:
    return (failure.number,)


def _since(value: str, asked: PageRequest) -> Callable[[Failure], bool]:
    return came_since(value)


def _in_namespace(namespace: str, asked: PageRequest) -> Callable[[Failure], bool]:
    return lambda failure: failure.namespace == namespace


def _for_host(host: str, asked: PageRequest) -> Callable[[Failure], bool]:
    return lambda failure: failure.host == host.lower()


def _of_cause(cause: str, asked: PageRequest) -> Callable[[Failure], bool]:
    return lambda failure: failure.cause == cause


NAMESPACE: Final = Parameter("namespace", "Only those of routes of this namespace.", most=253)
HOST: Final = Parameter("host", "Only those of requests for this host.", most=255)
CAUSE: Final = Parameter("cause", "Only those of this cause.", choices=tuple(cause.value for cause in Cause))

FAILURES: Final = Listing(
    "failures",
    (int,),
    _entries,
    _position,
    _as_data,
    (
        Filter(SINCE, _since),
        Filter(NAMESPACE, _in_namespace),
        Filter(HOST, _for_host),
        Filter(CAUSE, _of_cause),
    ),
    is_of_snapshot=False,
)
"""Sorted by number, the oldest first."""


def _page(asked: PageRequest) -> LargeAnswer:
    ring = asked.sources.rings.failures
    return LargeAnswer(paged(FAILURES, asked, last=ring.last, leftOut=ring.left_out))


ROW: Final = PageRow(
    f"{V1}failures",
    "requests that failed of late, and why",
    _page,
    FAILURES.parameters,
    page_of(
        "failures",
        FAILURE,
        {
            **LAST,
            "leftOut": whole_number(
                "How many failed besides and were not kept, since too many came at once."
            ),
        },
    ),
)
