"""What a read leaves behind: whether all that has come was read, which a connection has to know before it serves another exchange."""

from typing import Final

from ingress.proxy.contract.transport import Transport

FULL_READ: Final = 16 * 1024
"""Bytes that a read takes at least, if so many have come."""


def full_read(transport: Transport) -> int:
    """Return the bytes of a read of *transport* from which on more may have come than it took.

    Over TLS that is any read: it may be one record of several, however small.
    """
    return FULL_READ if transport.tls is None else 0
