"""Which addresses the API server has, for nobody else is to be sent there."""

import socket
from urllib.parse import urlsplit


def port_of(url: str) -> int:
    """Return the port that *url* names or stands for; 0 for none."""
    try:
        parts = urlsplit(url)
        return parts.port or {"https": 443, "http": 80}.get(parts.scheme, 0)
    except ValueError:
        return 0


def addresses_of(url: str) -> frozenset[str]:
    """Return the IP addresses of the host of *url*; none when it cannot be resolved.  Blocks."""
    try:
        host = urlsplit(url).hostname
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM) if host else []
    except (OSError, ValueError):
        return frozenset()
    return frozenset(str(address[0]).partition("%")[0] for *_, address in found)
