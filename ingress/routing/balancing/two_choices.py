"""The better of two endpoints drawn by chance.

Always taking the best one sends every request of a moment to it, until its number
says otherwise; the better of two spreads them, and is nearly as good (Mitzenmacher,
"The Power of Two Choices in Randomized Load Balancing", 2001).
"""

from collections.abc import Container

from ingress.model.upstream.backends import Endpoint
from ingress.routing.balancing.balancer import Chance


def draw_two(
    endpoints: tuple[Endpoint, ...], exclude: Container[Endpoint], chance: Chance
) -> tuple[Endpoint, Endpoint] | None:
    """Draw two different endpoints that are not in *exclude*; the same twice when there is only one.

    None means that there is none.
    """
    left = [endpoint for endpoint in endpoints if endpoint not in exclude] if exclude else endpoints
    count = len(left)
    if not count:
        return None
    first = int(chance() * count)
    if count == 1:
        return left[first], left[first]
    second = int(chance() * (count - 1))
    # All places but the first one's are equally likely.
    return left[first], left[second + (second >= first)]
