"""The header of the PROXY protocol, versions 1 and 2: who a load balancer has connected us with.

It stands before everything else of a connection, and is only read where the operator said
that the peer is a load balancer which sends one.  So there is nothing to guess: what is not
exactly such a header is refused, and the connection with it.  Type-length-values behind the
addresses of version 2 must add up, and are passed over.
"""

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final

from ingress.model.frozen import frozen

MAX_V1_BYTES: Final = 107
"""The longest line that can be written, CR and LF included (section 2.1 of the specification)."""
MAX_V2_BYTES: Final = 4096
"""Of the 65,551 that could be announced; nginx has the same bound."""

_V1_SIGN: Final = b"PROXY "
_V2_SIGN: Final = b"\r\n\r\n\x00\r\nQUIT\n"
_V2_FIXED: Final = 16
_V2_VERSION: Final = 2
_LOCAL: Final = 0
_PROXY: Final = 1
_UNSPECIFIED: Final = 0
_INET: Final = 1
_INET6: Final = 2
_UNIX: Final = 3
_STREAM: Final = 1
_UNIX_BYTES: Final = 216
_TLV_HEADER: Final = 3

_v1_line: Final = re.compile(
    rb"PROXY (?:(TCP4|TCP6) ([0-9A-Fa-f:.]+) ([0-9A-Fa-f:.]+) ([0-9]{1,5}) ([0-9]{1,5})|UNKNOWN(?: [^\r\n]*)?)"
).fullmatch


class ProxyHeaderError(ValueError):
    """There is no header, or none that can be read in exactly one way."""


@frozen
class Address:
    """An IP address in its usual notation, and a port."""

    host: str
    port: int


@frozen
class ProxyHeader:
    """What was said: *length* bytes of it; who connected to whom, or None.

    There are no addresses where the load balancer speaks for itself (``LOCAL``, as its
    health checks are) or does not know them (``UNKNOWN``, ``UNSPEC``, UNIX sockets): then those of the
    connection count.
    """

    length: int
    source: Address | None = None
    destination: Address | None = None


def read_proxy_header(received: bytes) -> ProxyHeader | None:
    """Read the header at the front of *received*; None when more bytes are needed.

    Raises ``ProxyHeaderError`` as soon as no byte that may follow can make it a header.
    """
    if _begins(received, _V1_SIGN):
        return _read_v1(received)
    if _begins(received, _V2_SIGN):
        return _read_v2(received)
    raise ProxyHeaderError("no PROXY header")


def write_proxy_header(source: Address | None, destination: Address | None) -> bytes:
    """Write a header of version 1, which nginx writes, too; without both addresses, or with two families, nobody is known."""
    if source is None or destination is None or (":" in source.host) is not (":" in destination.host):
        return b"PROXY UNKNOWN\r\n"
    family = "TCP6" if ":" in source.host else "TCP4"
    return f"PROXY {family} {source.host} {destination.host} {source.port} {destination.port}\r\n".encode(
        "ascii"
    )


def _begins(received: bytes, sign: bytes) -> bool:
    """Whether *received* begins with *sign*, as far as either has come."""
    return received.startswith(sign) or sign.startswith(received)


def _read_v1(received: bytes) -> ProxyHeader | None:
    end = received.find(b"\r", 0, MAX_V1_BYTES - 1)
    if end < 0:
        if len(received) >= MAX_V1_BYTES - 1:
            raise ProxyHeaderError("the line is too long")
        return None
    if len(received) <= end + 1:
        return None
    line = _v1_line(received[:end])
    if received[end + 1] != 0x0A or line is None:
        raise ProxyHeaderError("the line is malformed")
    family, *parts = line.groups()
    if family is None:
        return ProxyHeader(end + 2)
    source, destination, source_port, destination_port = parts
    address = _v4_text if family == b"TCP4" else _v6_text
    return ProxyHeader(
        end + 2,
        Address(address(source), _port(source_port)),
        Address(address(destination), _port(destination_port)),
    )


def _v4_text(text: bytes) -> str:
    try:
        return str(IPv4Address(text.decode("ascii")))
    except AddressValueError:
        raise ProxyHeaderError("not an IPv4 address") from None


def _v6_text(text: bytes) -> str:
    try:
        return _v6(IPv6Address(text.decode("ascii")))
    except AddressValueError:
        raise ProxyHeaderError("not an IPv6 address") from None


def _v6(address: IPv6Address) -> str:
    """Write an address; one of IPv4 that came over an IPv6 socket as what it is."""
    return str(address.ipv4_mapped or address)


def _port(text: bytes) -> int:
    number = int(text)
    if number > 0xFFFF or (len(text) > 1 and text.startswith(b"0")):
        raise ProxyHeaderError("not a port")
    return number


def _read_v2(received: bytes) -> ProxyHeader | None:
    if len(received) <= 12:
        return None
    version, command = divmod(received[12], 16)
    if version != _V2_VERSION or command not in (_LOCAL, _PROXY):
        raise ProxyHeaderError("neither LOCAL nor PROXY of version 2")
    if len(received) < _V2_FIXED:
        return None
    length = _V2_FIXED + int.from_bytes(received[14:_V2_FIXED])
    if length > MAX_V2_BYTES:
        raise ProxyHeaderError("the header is too long")
    if len(received) < length:
        return None
    if command == _LOCAL:
        # "The receiver must accept this connection as valid and must use the real connection
        # endpoints and discard the protocol block including the family which is ignored."
        return ProxyHeader(length)
    return _read_v2_addresses(received[13], received[_V2_FIXED:length], length)


def _read_v2_addresses(kind: int, block: bytes, length: int) -> ProxyHeader:
    family, transport = divmod(kind, 16)
    if _UNSPECIFIED in (family, transport):
        if family > _UNIX or transport > _STREAM + 1:
            raise ProxyHeaderError("an address family or transport that does not exist")
        # "The receiver should ignore address information": nothing says how long it is.
        return ProxyHeader(length)
    if transport != _STREAM:
        raise ProxyHeaderError("this is a stream, and the header is of something else")
    if family == _INET:
        size = 4
    elif family == _INET6:
        size = 16
    elif family == _UNIX:
        _check_values(block, _UNIX_BYTES)
        return ProxyHeader(length)
    else:
        raise ProxyHeaderError("an address family that does not exist")
    _check_values(block, 2 * size + 4)
    ports = block[2 * size : 2 * size + 4]
    return ProxyHeader(
        length,
        Address(_packed(block[:size]), int.from_bytes(ports[:2])),
        Address(_packed(block[size : 2 * size]), int.from_bytes(ports[2:])),
    )


def _packed(octets: bytes) -> str:
    return str(IPv4Address(octets)) if len(octets) == 4 else _v6(IPv6Address(octets))


def _check_values(block: bytes, begin: int) -> None:
    """Check that type-length-values, and nothing else, fill *block* from *begin* on."""
    if len(block) < begin:
        raise ProxyHeaderError("the header is too short for its addresses")
    at = begin
    while at < len(block):
        at += _TLV_HEADER + int.from_bytes(block[at + 1 : at + _TLV_HEADER])
    if at != len(block):
        raise ProxyHeaderError("the values behind the addresses do not add up")
