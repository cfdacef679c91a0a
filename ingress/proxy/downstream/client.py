"""Who is at the other end of a downstream connection, as far as its transport tells."""

from ingress.http.forwarding import Origin, TrustedProxies, origin_of_peer
from ingress.proxy.contract.transport import Transport, peer_address, port_of


def client_of(transport: Transport, secure: bool, trusted: TrustedProxies) -> tuple[Origin, bool]:
    """Return where requests come from, and whether that is a proxy of ours, which says who the client is."""
    peer = peer_address(transport.getPeer())
    origin = origin_of_peer(peer, b"https" if secure else b"http", port_of(transport.getHost()))
    return origin, trusted.believes(peer)
