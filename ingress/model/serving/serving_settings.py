"""What the proxy goes by, besides routes and certificates: limits, sharing, pages, whom it believes."""

from enum import StrEnum

from attrs import Factory

from ingress.model.frozen import frozen
from ingress.model.observability.tracing_settings import TracingSettings
from ingress.model.serving.limits import Limits
from ingress.model.serving.log_formats import AccessLogSettings
from ingress.model.upstream.balancing import Algorithm


class ForwardedHeaders(StrEnum):
    """What is believed of what a trusted proxy says about a request."""

    ALL = "all"
    ADDRESS = "address"
    """Who the client is, and nothing else; nginx's realip module by itself."""
    OTHERS = "others"
    """Scheme, host and port, and not who the client is: that is in the PROXY header."""
    NONE = "none"
    """It may send a PROXY header, where these are used."""


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
    forwarded_headers: ForwardedHeaders = ForwardedHeaders.ALL
    forwarded_for_header: str = "X-Forwarded-For"
    """The field in which they say it; ingress-nginx ``forwarded-for-header``."""
    full_forwarded_for: bool = True
    """Whether ``X-Forwarded-For`` goes on with all addresses that it came with, and not with the client's alone."""
    forwarded_host: bool = False
    """Whether endpoints and redirects get the host that trusted proxies say in ``X-Forwarded-Host`` as that of the request."""
    underscores_in_headers: bool = False
    """Whether fields with underscores in their names go on to endpoints."""
    strict_sni: bool = False
    """Whether a handshake must name a server that an Ingress serves."""
    overload_seconds: float = 0.1
    """How long requests have to wait, for a while, before those for which there is no time are refused; 0 means never."""
    overload_memory_percent: int = 90
    """Of the control group's limit, that may be used before connections at rest are ended, and requests refused; 0 for any."""
    shutdown_delay_seconds: float = 5.0
    """How long connections are still accepted after a stop was asked for."""
    shutdown_grace_seconds: float = 30.0
    """How long running requests then have to end."""
    access_log: AccessLogSettings = Factory(AccessLogSettings)
    tracing: TracingSettings = Factory(TracingSettings)
    log_level: str = "info"
    """The least level of what the program's own log tells: one of ``LOG_LEVELS``."""
