"""Changes: the last things that happened to what is served."""

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
    one_of,
    page_of,
    text,
    truth,
    whole_number,
)
from ingress.admin.lists.parameters import NAMESPACE, SINCE, came_since
from ingress.model.observability.changes_and_failures import Change, ChangeSort
from ingress.process.timestamps import rfc3339

LAST: Final = {"last": whole_number("The number of the newest that there ever was; 0 before there is one.")}

CHANGE: Final[Schema] = fields_of(
    {
        "number": whole_number("Its place among all, from 1."),
        "at": moment("When it happened."),
        "sort": one_of([sort.value for sort in ChangeSort], "What it is about."),
        "verb": text("What happened, in a word or two, such as `came` or `ejected`."),
        "text": text("All of it, in a sentence; where the log has a line, that line."),
        "kind": text("The kind of the object that it happened to; empty where it is none."),
        "object": text("`NAMESPACE/NAME` of that object; empty where it is none, or several."),
        "hosts": list_of(text(), "Hosts that it concerns, the first few."),
        "trouble": truth("Whether somebody should look at it."),
    }
)


def change_as_data(change: Change) -> dict[str, object]:
    """Return *change* as ``CHANGE`` describes it."""
    return {
        "number": change.number,
        "at": rfc3339(change.at),
        "sort": change.sort.value,
        "verb": change.verb,
        "text": change.text,
        "kind": change.kind,
        "object": change.object,
        "hosts": list(change.hosts),
        "trouble": change.is_trouble,
    }


def _as_data(change: Change, asked: PageRequest) -> dict[str, object]:
    return change_as_data(change)


def _entries(asked: PageRequest) -> Iterable[Change]:
    return asked.sources.rings.changes.since()


def _position(change: Change) -> Position:
    return (change.number,)


def _since(value: str, asked: PageRequest) -> Callable[[Change], bool]:
    return came_since(value)


def _in_namespace(namespace: str, asked: PageRequest) -> Callable[[Change], bool]:
    return lambda change: change.namespace == namespace


def _for_host(host: str, asked: PageRequest) -> Callable[[Change], bool]:
    return lambda change: host.lower() in change.hosts


HOST: Final = Parameter("host", "Only those that name this host among their `hosts`.", most=255)

CHANGES: Final = Listing(
    "changes",
    (int,),
    _entries,
    _position,
    _as_data,
    (
        Filter(SINCE, _since),
        Filter(NAMESPACE, _in_namespace),
        Filter(HOST, _for_host),
    ),
    is_of_snapshot=False,
)
"""Sorted by number, the oldest first."""


def _page(asked: PageRequest) -> LargeAnswer:
    return LargeAnswer(paged(CHANGES, asked, last=asked.sources.rings.changes.last))


ROW: Final = PageRow(
    f"{V1}changes",
    "what changed of late",
    _page,
    CHANGES.parameters,
    page_of("changes", CHANGE, LAST),
)
