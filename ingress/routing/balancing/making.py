"""Makes the balancer that a route asks for."""

from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.balancing import Algorithm, Balancing
from ingress.routing.balancing.balancer import Balancer, Chance, Clock, RoundRobin
from ingress.routing.balancing.consistent_hash import ConsistentHash
from ingress.routing.balancing.ewma import Ewma
from ingress.routing.balancing.least_requests import LeastRequests
from ingress.routing.balancing.slow_start import SlowStart
from ingress.routing.balancing.sticky import Sticky


def make_balancer(
    balancing: Balancing,
    endpoints: tuple[Endpoint, ...],
    clock: Clock,
    chance: Chance,
    slow_start_seconds: float = 0.0,
) -> Balancer:
    """Return a balancer over *endpoints*; *slow_start_seconds* 0 means that new ones get their share at once.

    There is no slow start where keys decide: it would send them elsewhere and back again.
    """
    if balancing.affinity is not None:
        return Sticky(endpoints)
    if balancing.hash_by is not None:
        return ConsistentHash(endpoints, chance, balancing.subset_size)
    balancer: Balancer
    if balancing.algorithm is Algorithm.LEAST_REQUESTS:
        balancer = LeastRequests(endpoints, chance)
    elif balancing.algorithm is Algorithm.EWMA:
        balancer = Ewma(endpoints, clock, chance)
    else:
        balancer = RoundRobin(endpoints)
    if slow_start_seconds > 0:
        balancer = SlowStart(balancer, slow_start_seconds, clock, chance)
    return balancer
