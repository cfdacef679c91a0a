"""One row of the table of pages: what a page is, and how it is made."""

from collections.abc import Callable
from typing import Final

from attrs import evolve
from twisted.internet.defer import Deferred

from ingress.admin.contract.answers import TEXT, Answer, LargeAnswer, StreamAnswer
from ingress.admin.contract.listing import E, Listing, paged, whole
from ingress.admin.contract.page_request import PageRequest
from ingress.admin.contract.page_sources import PageSources
from ingress.admin.contract.parameters import Parameter
from ingress.admin.contract.schemas import Schema, page_of
from ingress.model.frozen import frozen

V1: Final = "/api/v1/"
"""What the paths of all pages begin with whose form is described and kept."""
_BEFORE_V1: Final = "/api/"

Made = Answer | LargeAnswer | StreamAnswer
Make = Callable[[PageRequest], "Made | Deferred[Made]"]
"""Makes the answer to a request; may raise ``QueryRefusedError``.  What it returns later is cancelled where the client leaves."""


def _always(sources: PageSources) -> bool:
    return True


@frozen(eq=False)
class PageRow:
    """A page: its path, what it shows, what may stand in its query, and how it is made."""

    path: str
    meaning: str
    """What it shows, in a few words."""
    make: Make
    parameters: tuple[Parameter, ...] | None = None
    """What its query may say; None where a query changes nothing."""
    schema: Schema | None = None
    """What its JSON is; None of other pages."""
    content_type: str = TEXT
    """What it is where it is no JSON."""
    is_probe: bool = False
    """Whether ``--probes`` shows it, too."""
    is_open: bool = False
    """Whether it is shown to everybody, whoever else has to say a token: who asks it can say none."""
    is_of_snapshot: bool = False
    """Whether it is the same as long as the snapshot is, so that nobody has to read it twice."""
    is_there: Callable[[PageSources], bool] = _always
    """Whether there is such a page."""
    alias_of: str = ""
    """The path of the page that has taken its place; empty for all others."""


def listing_rows(
    listing: Listing[E],
    meaning: str,
    entry: Schema,
    *,
    has_alias: bool = False,
    is_of_snapshot: bool = False,
) -> tuple[PageRow, ...]:
    """Return the row of a list whose entries are of the schema *entry*, and of its alias if it *has_alias*."""
    row = PageRow(
        V1 + listing.name,
        meaning,
        lambda asked: LargeAnswer(paged(listing, asked)),
        listing.parameters,
        page_of(listing.name, entry, {}),
        is_of_snapshot=is_of_snapshot,
    )
    if not has_alias:
        return (row,)
    return row, alias(row, lambda asked: LargeAnswer(whole(listing, asked)))


def alias(row: PageRow, make: Make) -> PageRow:
    """Return the page that *row* had before there was a version: it answers as it did then, whatever its query says."""
    return evolve(
        row,
        path=_BEFORE_V1 + row.path.removeprefix(V1),
        meaning=f"the same as {row.path}, as a whole",
        make=make,
        parameters=None,
        schema=None,
        is_of_snapshot=False,
        alias_of=row.path,
    )
