"""A request for a page, as whoever makes the page sees it."""

from datetime import datetime

from twisted.web.http_headers import Headers

from ingress.admin.known import Known, Published
from ingress.admin.orders import Orders
from ingress.admin.parameters import Given
from ingress.model.frozen import frozen
from ingress.translate.snapshot import Snapshot


@frozen(eq=False)
class Asked:
    """All of a page is of one moment: that in which it was asked for."""

    known: Known
    published: Published
    now: datetime
    given: Given
    """What the query says; nothing where the page has no parameters."""
    headers: Headers
    """The fields of the request."""
    orders: Orders
    """What was put in order for others that asked before."""
    pages: tuple[tuple[str, str], ...] = ()
    """The pages that there are here: path and meaning of each."""

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that is current."""
        return self.published.snapshot
