"""What is read of the addresses that transports give.  Imports no Twisted, since facts of requests are had without it, too."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from twisted.internet.interfaces import IAddress


def host_of(address: "IAddress") -> str:
    """Return the host of a transport's address, as it is written there; ``unknown`` where it has none, as a UNIX socket."""
    host: str = getattr(address, "host", "unknown")
    return host


def port_of(address: "IAddress") -> int:
    """Return the TCP port of a transport's address; 0 where it has none."""
    port: int = getattr(address, "port", 0)
    return port


def peer_address(of: "IAddress") -> bytes:
    """Return the host of a transport's address, IPv4 in its own notation even on an IPv6 socket."""
    return plain_host(host_of(of))


def plain_host(host: str) -> bytes:
    """Return *host* as it is told to others: IPv4 in its own notation even on an IPv6 socket."""
    return host.removeprefix("::ffff:").encode() if "." in host else host.encode()
