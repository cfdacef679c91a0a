"""Lists of the admin port without a site."""

from datetime import UTC, datetime
from typing import Any

from twisted.internet.task import Clock
from twisted.web.http_headers import Headers

from ingress.admin.contract.listing import Listing, whole
from ingress.admin.contract.page_request import PageRequest
from ingress.admin.contract.page_sources import PageSources, Published
from ingress.admin.contract.parameters import Given
from ingress.admin.contract.sorted_entries import SortedEntries
from ingress.metrics.metrics import Metrics
from ingress.translate.snapshot import Snapshot

NOW = datetime(2026, 11, 22, 18, 30, tzinfo=UTC)


def asked_of(snapshot: Snapshot, *, now: datetime = NOW, **given: str) -> PageRequest:
    """Return a request with the query *given*, while *snapshot* is current."""
    published = Published(snapshot, 1, now)
    known = PageSources(tuple, lambda: published, Metrics(), now=lambda: now)
    values = {name: (value,) for name, value in given.items()}
    return PageRequest(known, published, now, Given(values), Headers(), SortedEntries(Clock()))


def text_of(listing: Listing[Any], snapshot: Snapshot, now: datetime = NOW) -> str:
    """Return the JSON of all that *listing* has of *snapshot*."""
    return "".join(whole(listing, asked_of(snapshot, now=now)))
