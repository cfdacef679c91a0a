"""The choice among the variants and weighted backends of a route.

The first variant counts whose conditions all hold, in the order of the route; without one the route's own backends
are chosen among.  A route that has neither variants nor weights need not ask here at all.
"""

from collections.abc import Callable

from ingress.routing.route import Route
from ingress.routing.variants import Choice, ChoiceFacts, WeightedBackend


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
    entry = weighted[0] if len(weighted) == 1 else _drawn(weighted, random())
    secure = entry.secure_backend
    return Choice(secure if is_secure and secure is not None else entry.backend, filters, entry.filters)


def _drawn(weighted: tuple[WeightedBackend, ...], chance: float) -> WeightedBackend:
    """Return the entry whose share *chance* is in, of all shares laid end to end."""
    left = int(chance * sum(entry.weight for entry in weighted))
    for entry in weighted[:-1]:
        if left < entry.weight:
            return entry
        left -= entry.weight
    return weighted[-1]
