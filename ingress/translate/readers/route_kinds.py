"""The list of readers: every kind of route objects that this controller serves."""

from ingress.translate.readers.gateway.kinds import GATEWAY_API
from ingress.translate.readers.ingress.kind import INGRESS
from ingress.translate.readers.reader import RouteKind, reported_by

ROUTE_KINDS: tuple[RouteKind, ...] = (INGRESS, *GATEWAY_API)


def kinds_served(*, gateway_api: bool) -> tuple[RouteKind, ...]:
    """Return those of which anything is read, with those of the Gateway API or without."""
    return ROUTE_KINDS if gateway_api else (INGRESS,)


REPORTED_KINDS = reported_by(ROUTE_KINDS)
"""Those whose status is ours to write."""
