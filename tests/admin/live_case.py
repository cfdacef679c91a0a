"""A stream of what is known, for tests of pages."""

from twisted.internet.interfaces import IReactorTime

from ingress.admin.contract.page_sources import PageSources
from ingress.admin.pages.live_views import shown_by
from ingress.live.live import Live


def live_of(known: PageSources, clock: IReactorTime) -> Live:
    """Return the stream of a controller that may have 100 connections."""
    return Live(shown_by(known, lambda: 100), clock)
