"""What ``Strict-Transport-Security`` says to browsers (RFC 6797)."""

from ingress.model.frozen import frozen


@frozen
class StrictTransport:
    """What is said for hosts with a certificate."""

    max_age_seconds: int = 31536000
    """A year, as in ingress-nginx."""
    includes_subdomains: bool = True
    preload: bool = False
    """Whether browser vendors may build the host into their lists; it is hard to get out of these."""


STRICT_TRANSPORT = StrictTransport()
