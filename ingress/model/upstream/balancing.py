"""How the requests of a route are shared among the endpoints of its backend.

The values only; the algorithms are in ``ingress.routing``.
"""

from enum import StrEnum
from typing import Final

from ingress.model.frozen import frozen
from ingress.model.requests.templates import Template
from ingress.model.upstream.affinity import Affinity


class Algorithm(StrEnum):
    """What decides which endpoint is next; the names are those of options and annotations."""

    ROUND_ROBIN = "round_robin"
    LEAST_REQUESTS = "least_requests"
    EWMA = "ewma"


@frozen(cache_hash=True)
class Balancing:
    """What one route asks for.  With *hash_by*, requests of one key go to one endpoint, whatever the algorithm.

    The key is what *hash_by* comes to for a request.  It chooses an endpoint and does nothing else: it is shown
    nowhere and goes nowhere.
    """

    algorithm: Algorithm = Algorithm.ROUND_ROBIN
    hash_by: Template | None = None
    subset_size: int = 1
    """How many endpoints share the requests of one key."""
    affinity: Affinity | None = None
    """How clients stay at an endpoint; it comes before a key of *hash_by*."""


DEFAULT_BALANCING: Final = Balancing()
