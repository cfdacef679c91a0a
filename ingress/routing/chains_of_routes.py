"""The tuples of filter specs that requests of a host may meet: before its routes, their variants and their weighted backends."""

from collections.abc import Iterator

from ingress.filters import FilterSpec
from ingress.routing.route import Route


def chains_of(
    filters: tuple[FilterSpec, ...], routes: tuple[Route, ...]
) -> tuple[tuple[FilterSpec, ...], ...]:
    """Return each tuple of specs that a request of a host may meet, but for empty ones: *filters* are the host's own."""
    found = [filters] if filters else []
    for route in routes:
        if route.filters:
            found.append(route.filters)
        if route.stand_in is not None and route.stand_in.filters:
            found.append(route.stand_in.filters)
        if route.weighted or route.variants:
            found += _chains_beside(route)
    return tuple(found)


def _chains_beside(route: Route) -> Iterator[tuple[FilterSpec, ...]]:
    """Yield the specs of backends and variants."""
    weighted = [*route.weighted]
    for variant in route.variants:
        if variant.filters:
            yield variant.filters
        weighted += variant.weighted
    for entry in weighted:
        if entry.filters:
            yield entry.filters
        if entry.stand_in is not None and entry.stand_in.filters:
            yield entry.stand_in.filters
