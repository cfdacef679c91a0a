"""A request for a page, as whoever makes the page sees it."""

from datetime import datetime

from twisted.web.http_headers import Headers

from ingress.admin.contract.page_sources import PageSources, Published
from ingress.admin.contract.parameters import Given
from ingress.admin.contract.sorted_entries import SortedEntries
from ingress.model.frozen import frozen
from ingress.translate.snapshot import Snapshot


@frozen(eq=False)
class PageRequest:
    """All of a page is of one moment: that in which it was asked for."""

    sources: PageSources
    published: Published
    now: datetime
    given: Given
    """What the query says; nothing where the page has no parameters."""
    headers: Headers
    """The fields of the request."""
    orders: SortedEntries
    """What was put in order for others that asked before."""
    pages: tuple[tuple[str, str], ...] = ()
    """The pages that there are here: path and meaning of each."""

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that is current."""
        return self.published.snapshot
