"""What the proxy goes by, besides routes and certificates: limits, sharing, pages, whom it believes."""

from attrs import Factory, frozen

from ingress.model.balancing import Algorithm
from ingress.model.limits import Limits


@frozen
class ServingSettings:
    """What the operator decided about it.  An Ingress may ask for something else by its annotations."""

    limits: Limits = Factory(Limits)
    load_balance: Algorithm = Algorithm.ROUND_ROBIN
    """How requests are shared among endpoints, where an Ingress does not say so."""
    slow_start_seconds: float = 0.0
    """How long a new endpoint takes to get its whole share; 0 means that it has it at once."""
    not_found_page: bytes | None = None
    """HTML for requests that no route matches (``--404-page``); None means the built-in page."""
    trusted_proxies: tuple[str, ...] = ()
    """Networks whose peers are believed when they say who the client is."""
    strict_sni: bool = False
    """Whether a handshake must name a server that an Ingress serves."""
    shutdown_delay_seconds: float = 5.0
    """How long connections are still accepted after a stop was asked for."""
    shutdown_grace_seconds: float = 30.0
    """How long running requests then have to end."""
