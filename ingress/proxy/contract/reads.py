"""What a read leaves behind: whether all that has come was read, which a connection has to know before it serves another exchange."""

from typing import Final

from ingress.proxy.contract.transport import Transport

FULL_READ: Final = 16 * 1024
"""Bytes of a read from which on more may have come than it took."""


def may_hold_more(transport: Transport, size: int) -> bool:
    """
    Whether more may have come to *transport* than was read, the last time *size* bytes.

    Over TLS a read may be one record of several, however small.
    """
    return (size >= FULL_READ or transport.tls is not None) and not transport.is_quiet
