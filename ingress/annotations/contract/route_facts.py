"""What a family may know of a route when it makes filters of what was asked."""

from typing import Final

from ingress.annotations.contract.host_facts import HostFacts
from ingress.annotations.contract.references import NOTHING_FOUND, Found
from ingress.model.cluster.objects import Owner
from ingress.model.frozen import frozen
from ingress.model.upstream.backends import BackendReference


@frozen
class RouteFacts:
    """Facts of the route that gets filters.

    Only a family that is ``by_path`` may look at *path*, *is_exact*, *is_expression* and *backend*: what others make is made once for all
    routes that an owner has on a host.
    """

    host: HostFacts
    owner: Owner | None = None
    """Who asks for the route; None for the controller's own default backend."""
    path: str = "/"
    """As it was written."""
    backend: BackendReference | None = None
    """Where the route leads."""
    found: Found = NOTHING_FOUND
    """What there is of the Secrets and ConfigMaps that whoever asks refers to."""
    is_exact: bool = False
    """Whether it takes this path alone."""
    is_expression: bool = False
    """Whether *path* is a regular expression."""
    is_relative: bool = False
    """Whether redirects to a path leave scheme and host to clients, as whoever asks has it for all routes."""


NO_FACTS: Final = RouteFacts(HostFacts())
