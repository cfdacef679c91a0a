"""Listeners as plain data: where connections are accepted, and by which table their requests go."""

import re
from typing import Final

from ingress.model.frozen import frozen

MAIN: Final = ""
"""The name of the table that the listeners of the command line share, and that Ingresses are served from."""

_tcp_port: Final = re.compile(r"tcp6?:(?:.*:)?(?:port=)?(\d+)(?=:|$)").match


@frozen
class Listener:
    """An address on which connections are accepted."""

    description: str
    """For Twisted, as in ``tcp:8080:interface=10.0.0.1``."""
    is_secure: bool = False
    """Whether connections begin with TLS."""
    table: str = MAIN
    """The name of the table whose routes, certificates and handshake settings hold there."""
    is_required: bool = False
    """Whether the process cannot do without it, as without those of the command line."""

    def __str__(self) -> str:
        return f"{'HTTPS' if self.is_secure else 'HTTP'} on {self.description}"


def port_of(description: str) -> int | None:
    """Return the TCP port that *description* names (``tcp:443``, ``tcp:port=443``), or None."""
    # A colon of an address is escaped, and stands before no argument.
    match = _tcp_port(re.sub(r"\\.", "", description))
    return int(match[1]) if match else None
