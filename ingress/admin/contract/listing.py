"""Lists of entries, whole or page by page.

A page ends with a token, which names the *position* of its last entry: what the list is sorted by.  The next page has what comes
behind that, so it stays sensible whatever was published in between: nobody is shown twice, and who was there all the time
is not left out.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import merge
from itertools import chain
from typing import Any, Final, Generic, TypeVar

from ingress.admin.contract.page_request import PageRequest
from ingress.admin.contract.parameters import Given, Parameter, QueryRefusedError, Sort
from ingress.admin.contract.sorted_entries import put_in_order
from ingress.model.frozen import frozen
from ingress.plain_data.steps import AT_ONCE, NOT_YET, NotYet, json_text

E = TypeVar("E")
Position = tuple[str | int, ...]

MOST_AT_ONCE: Final = 1000
_MOST_TOKEN: Final = 8192

LIMIT: Final = Parameter(
    "limit", "How many entries to answer with at most; without it, all of them.", Sort.NUMBER, 1, MOST_AT_ONCE
)
AFTER: Final = Parameter("after", "What `next` of the page before said: go on behind it.", most=_MOST_TOKEN)


@frozen(eq=False)
class Filter(Generic[E]):
    """A parameter that leaves entries out."""

    parameter: Parameter
    takes: Callable[[str, PageRequest], Callable[[E], bool]]
    """Returns, for a value, what says whether an entry is shown."""


def _everywhere(given: Given) -> Position:
    return ()


def _nothing(asked: PageRequest) -> Iterable[NotYet]:
    return ()


@frozen(eq=False)
class Listing(Generic[E]):
    """One list, by its *name*."""

    name: str
    sorts: tuple[type, ...]
    """What positions are made of."""
    entries: Callable[[PageRequest], Iterable[E | NotYet]]
    """All entries, in no order; ``NOT_YET`` where a step has none."""
    position: Callable[[E], Position]
    """What they are sorted by; no two have the same."""
    as_data: Callable[[E, PageRequest], Mapping[str, object]]
    filters: tuple[Filter[E], ...] = ()
    beginning: Callable[[Given], Position] = _everywhere
    """What the positions begin with of all entries that the query is about; nothing where it does not say."""
    is_of_snapshot: bool = True
    """Whether the entries follow from the snapshot alone."""
    besides: Callable[[PageRequest], Iterable[E | NotYet]] = _nothing
    """Entries besides that do not, and are few; they are asked for when all others are in order."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What a query may say."""
        return (*(one.parameter for one in self.filters), LIMIT, AFTER)


def token_of(position: Position) -> str:
    """Return *position* as it stands in a query."""
    return urlsafe_b64encode(json.dumps(position, separators=(",", ":")).encode()).decode().rstrip("=")


def read_token(token: str, sorts: tuple[type, ...]) -> Position:
    """Return the position that *token* names; raises ``QueryRefusedError``."""
    try:
        position: Any = json.loads(urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (Base64Error, ValueError, RecursionError):
        position = None
    if not isinstance(position, list) or tuple(map(type, position)) != sorts:
        raise QueryRefusedError("after is no token of this list; it may be what `next` of a page of it said")
    return tuple(position)


def _once(entries: Iterable[E], position: Callable[[E], Position]) -> Iterator[E]:
    """Yield *entries*, of several at one position the first."""
    last: Position | None = None
    for entry in entries:
        here = position(entry)
        if here != last:
            yield entry
            last = here


class _Page(Generic[E]):
    """One page in the making."""

    def __init__(self, listing: Listing[E], asked: PageRequest) -> None:
        given = asked.given
        token = given.text(AFTER.name)
        self._listing = listing
        self._asked = asked
        self._after = None if token is None else read_token(token, listing.sorts)
        self._limit = given.number(LIMIT.name)
        self._beginning = listing.beginning(given)
        values = ((one, given.text(one.parameter.name)) for one in listing.filters)
        self._takes = [one.takes(value, asked) for one, value in values if value is not None]
        self.next: str | None = None
        """The token for what is left; None before the end of ``entries``, and where nothing is."""

    def entries(self) -> Iterator[object]:
        """Yield what is shown."""
        listing, asked = self._listing, self._asked
        ordered: list[E] = []
        besides: list[E] = []
        for step in self._in_order():
            if isinstance(step, list):
                ordered = step
            else:
                yield step
        for step in put_in_order(listing.besides(asked), listing.position):
            if isinstance(step, list):
                besides = step
            else:
                yield step
        entries: Iterator[E] = map(ordered.__getitem__, self._places(ordered))
        if besides:
            others = map(besides.__getitem__, self._places(besides))
            entries = _once(merge(entries, others, key=listing.position), listing.position)
        shown = 0
        last: E | None = None
        for number, entry in enumerate(entries, 1):
            if all(takes(entry) for takes in self._takes):
                if shown == self._limit:
                    assert last is not None
                    self.next = token_of(listing.position(last))
                    return
                shown += 1
                last = entry
                yield listing.as_data(entry, asked)
            elif not number % AT_ONCE:
                yield NOT_YET

    def _in_order(self) -> Iterator[NotYet | list[E]]:
        listing, asked = self._listing, self._asked
        if listing.is_of_snapshot:
            return asked.orders.of(
                asked.snapshot, listing.name, lambda: listing.entries(asked), listing.position
            )
        return put_in_order(listing.entries(asked), listing.position)

    def _places(self, ordered: list[E]) -> range:
        position, beginning = self._listing.position, self._beginning
        first, end = 0, len(ordered)
        if beginning:
            length = len(beginning)
            first = bisect_left(ordered, beginning, key=lambda entry: position(entry)[:length])
            end = bisect_right(ordered, beginning, key=lambda entry: position(entry)[:length])
        if self._after is not None:
            first = max(first, bisect_right(ordered, self._after, key=position))
        return range(first, end)


def paged(listing: Listing[E], asked: PageRequest, **besides: object) -> Iterator[str]:
    """Return the pieces of ``{NAME: [...], "next": TOKEN or null, "snapshot": NUMBER}``, with what *besides* there is.

    Raises ``QueryRefusedError``.
    """
    page = _Page(listing, asked)
    content = {
        listing.name: page.entries(),
        "next": lambda: page.next,
        "snapshot": asked.published.number,
        **besides,
    }
    return chain(json_text(content), ("\n",))


def whole(listing: Listing[E], asked: PageRequest) -> Iterator[str]:
    """Return the pieces of ``{NAME: [...]}``, with all there is."""
    return chain(json_text({listing.name: _Page(listing, asked).entries()}), ("\n",))
