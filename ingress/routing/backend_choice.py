"""The choice among the variants and weighted backends of a route.

The first variant counts whose conditions all hold, in the order of the route; without one the route's own backends
are chosen among.  A route that has neither variants nor weights need not ask here at all.
"""

from collections.abc import Callable
from typing import NamedTuple

from ingress.filters import FilterSpec
from ingress.model.upstream.backends import BackendReference
from ingress.routing.route import Route
from ingress.routing.variants import Choice, ChoiceFacts, Variant, drawn


def choose(route: Route, facts: ChoiceFacts, random: Callable[[], float]) -> Choice:
    """Choose where a request with *facts* leads; *random* gives numbers from 0 to below 1, and is asked at most once."""
    weighted, filters = route.weighted, route.filters
    for variant in route.variants:
        if all(condition.holds(facts) for condition in variant.conditions):
            weighted, filters = variant.weighted, variant.filters
            break
    is_secure = facts.scheme == b"https"
    if not weighted:
        secure = route.secure_backend
        return Choice(secure if is_secure and secure is not None else route.backend, filters)
    entry = weighted[0] if len(weighted) == 1 else drawn(weighted, random())
    secure = entry.secure_backend
    return Choice(
        secure if is_secure and secure is not None else entry.backend, filters, entry.filters, entry.stand_in
    )


def with_endpoint(
    choice: Choice, route: Route, facts: ChoiceFacts, has_endpoint: Callable[[BackendReference], bool]
) -> tuple[BackendReference, tuple[FilterSpec, ...]]:
    """Return the backend that *choice* of *route* leads to as things are, and the filters of that alone.

    What stands in for a backend without endpoint does so only if it has one itself.
    """
    own, other = choice.stand_in, route.stand_in
    if not has_endpoint(choice.backend):
        if own is not None:
            backend = _backend_for(own.backend, own.secure_backend, facts.scheme == b"https")
            if has_endpoint(backend):
                return backend, own.filters
        if other is not None and has_endpoint(other.backend):
            return other.backend, other.filters
    return choice.backend, choice.backend_filters


class Chance(NamedTuple):
    """A choice, and how many of how many requests get it."""

    choice: Choice
    share: int
    of: int


class Chances(NamedTuple):
    """Where requests that say the same may lead."""

    variant: Variant | None
    """The variant that takes them; None where the route's own backends do."""
    choices: tuple[Chance, ...]
    """In the order of the route."""


def chances(route: Route, facts: ChoiceFacts) -> Chances:
    """Return what ``choose`` may say of a request with *facts*, whatever chance says."""
    taken = next(
        (one for one in route.variants if all(condition.holds(facts) for condition in one.conditions)), None
    )
    weighted, filters = (route.weighted, route.filters) if taken is None else (taken.weighted, taken.filters)
    is_secure = facts.scheme == b"https"
    if not weighted:
        return Chances(taken, (Chance(choose(route, facts, lambda: 0.0), 1, 1),))
    total = sum(entry.weight for entry in weighted)
    return Chances(
        taken,
        tuple(
            Chance(
                Choice(
                    _backend_for(entry.backend, entry.secure_backend, is_secure),
                    filters,
                    entry.filters,
                    entry.stand_in,
                ),
                entry.weight,
                total,
            )
            for entry in weighted
        ),
    )


def _backend_for(
    backend: BackendReference, secure: BackendReference | None, is_secure: bool
) -> BackendReference:
    return secure if is_secure and secure is not None else backend
