"""Lists of the admin port without a site."""

from datetime import UTC, datetime
from typing import Any

from twisted.internet.task import Clock
from twisted.web.http_headers import Headers

from ingress.admin.asked import Asked
from ingress.admin.known import Known, Published
from ingress.admin.listing import Listing, whole
from ingress.admin.orders import Orders
from ingress.admin.parameters import Given
from ingress.metrics.metrics import Metrics
from ingress.translate.snapshot import Snapshot

NOW = datetime(2026, 11, 22, 18, 30, tzinfo=UTC)


def asked_of(snapshot: Snapshot, *, now: datetime = NOW, **given: str) -> Asked:
    """Return a request with the query *given*, while *snapshot* is current."""
    published = Published(snapshot, 1, now)
    known = Known(tuple, lambda: published, Metrics(), now=lambda: now)
    values = {name: (value,) for name, value in given.items()}
    return Asked(known, published, now, Given(values), Headers(), Orders(Clock()))


def text_of(listing: Listing[Any], snapshot: Snapshot, now: datetime = NOW) -> str:
    """Return the JSON of all that *listing* has of *snapshot*."""
    return "".join(whole(listing, asked_of(snapshot, now=now)))
