"""Where the lines of the access log go: standard output, a file, or a collector that speaks syslog."""

from enum import StrEnum
from typing import Final

from ingress.model.frozen import frozen

FACILITIES: Final = (
    *("kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp"),
    *("ntp", "security", "console", "solaris-cron"),
    *(f"local{number}" for number in range(8)),
)
"""Names by their numbers.  Source: https://www.rfc-editor.org/rfc/rfc5424#section-6.2.1, and the names that nginx has for them."""


class SyslogTransport(StrEnum):
    """How a collector is reached."""

    UNIX = "unix"
    UDP = "udp"
    TCP = "tcp"


@frozen
class SyslogAddress:
    """A collector, and what its messages say besides the line."""

    transport: SyslogTransport
    host: str
    """A name or an address; the path of a socket for ``UNIX``."""
    port: int = 0
    facility: int = FACILITIES.index("local7")
    tag: str = "ingress"
    is_old: bool = False
    """Whether messages are those of RFC 3164 and of ``syslog(3)``, and not of RFC 5424."""


AccessDestination = str | SyslogAddress | None
"""A file by its name, a collector, or None for standard output."""
