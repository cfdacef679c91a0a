"""Who is at the other end of a downstream connection, as far as its transport tells."""

from functools import lru_cache
from typing import Final

from ingress.http.forwarding import Origin, TrustedProxies, origin_of_peer
from ingress.proxy.contract.addresses import plain_host
from ingress.proxy.contract.transport import Transport

MOST_REMEMBERED: Final = 1024
"""Clients whose origin is remembered, and shared by their connections: who comes once comes again, and an origin takes longer
than all else that is asked here."""
_HTTPS_PORT: Final = 443


def client_of(transport: Transport, secure: bool, trusted: TrustedProxies) -> tuple[Origin, bool]:
    """Return where requests come from, and whether that is a proxy of ours, which says who the client is."""
    origin = _origin(transport.peer_host, secure, transport.local_port)
    return origin, trusted.believes(origin.address)


@lru_cache(MOST_REMEMBERED)
def _origin(host: str, secure: bool, port: int) -> Origin:
    # Who comes to this port without TLS comes through a load balancer that ends it, and that says so in a PROXY header.
    return origin_of_peer(plain_host(host), b"https" if secure or port == _HTTPS_PORT else b"http", port)
