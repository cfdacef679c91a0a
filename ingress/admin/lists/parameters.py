"""The parameters that several lists have."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, Protocol

from ingress.admin.contract.parameters import Parameter, QueryRefusedError

NAMESPACE: Final = Parameter("namespace", "Only what objects of this namespace ask for.", most=253)
HOST: Final = Parameter(
    "host",
    "Only what is for just this host; a wildcard as it is written (`*.example.com`), nothing for all hosts.",
    most=255,
)


SINCE: Final = Parameter(
    "since",
    "Only what came after the entry of this number, or happened at this time (RFC 3339) or later.",
    most=40,
)
_MOST_DIGITS: Final = 18


class HistoryEntry(Protocol):
    """A change or a failure."""

    @property
    def number(self) -> int:
        """Its place among all."""

    @property
    def at(self) -> datetime:
        """When it happened."""


def came_since(value: str) -> Callable[[HistoryEntry], bool]:
    """Return what says whether something came since *value*; raises ``QueryRefusedError``."""
    if value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS:
        number = int(value)
        return lambda one: one.number > number
    try:
        # A plus sign that nobody escaped is a space in a query.
        at = datetime.fromisoformat(value.replace(" ", "+"))
    except ValueError:
        raise QueryRefusedError(
            f"since is {value!r}; it may be the number of an entry, or a time such as 2026-11-22T03:00:00Z"
        ) from None
    moment = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return lambda one: one.at >= moment
