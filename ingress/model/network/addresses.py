"""Which addresses no tenant may have us connect to.  Pure.

An ExternalName Service and an EndpointSlice let their author choose what the controller connects to, from where
the controller stands: inside the cluster, on a node, beside a cloud's metadata service.  So
addresses of this host and of that service are refused, in whatever way they are written.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

# Where clouds answer their own machines without asking who they are.
_METADATA: Final = frozenset(
    map(
        ip_address,
        (
            "169.254.169.254",
            "169.254.170.2",
            "169.254.170.23",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "fd00:ec2::254",
            "fd00:ec2::23",
        ),
    )
)
_THIS_NETWORK: Final = IPv4Network("0.0.0.0/8")
# RFC 6052 and RFC 8215: the last four bytes are an IPv4 address, which a gateway connects to.
_NAT64: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
_LOW_32: Final = 0xFFFFFFFF


def address_fault(text: str, *, allows_local: bool = False) -> str | None:
    """Say why *text*, an IP address, must not be connected to on a tenant's behalf; None when it may.

    With *allows_local*, loopback and link-local addresses may.
    """
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return "is no address"
    if allows_local and address.is_loopback:
        return None
    # The one inside first: newer versions of Python judge a mapped address as the one that it stands for, and more coarsely.
    for one in (*_inside(address), address):
        fault = _fault(one, allows_local=allows_local)
        if fault is not None:
            return fault
    return None


def same_address(one: str, other: str) -> bool:
    """Whether two texts are the same IP address, IPv4 ones inside of IPv6 included; False if either is none."""
    try:
        return plain_address(one) == plain_address(other)
    except ValueError:
        return False


def is_within(text: str, networks: tuple[str, ...]) -> bool:
    """Whether *text*, an IP address, is in one of *networks*; False for what is no address."""
    try:
        address = plain_address(text)
    except ValueError:
        return False
    return any(address in ip_network(network, strict=False) for network in networks)


def plain_address(text: str) -> IPv4Address | IPv6Address:
    """Return the address that *text* is, an IPv4 one inside of an IPv6 one as itself; raises ``ValueError``."""
    address = ip_address(text.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _inside(address: IPv4Address | IPv6Address) -> tuple[IPv4Address, ...]:
    """Return the IPv4 addresses that an IPv6 one may lead to."""
    if isinstance(address, IPv4Address):
        return ()
    found = [address.ipv4_mapped, address.sixtofour]
    if address.teredo is not None:
        found += address.teredo
    if any(address in network for network in _NAT64) or int(address) <= _LOW_32:
        found.append(IPv4Address(int(address) & _LOW_32))
    return tuple(one for one in found if one is not None)


def _fault(address: IPv4Address | IPv6Address, *, allows_local: bool) -> str | None:
    if address in _METADATA:
        return "is that of a cloud's metadata service"
    if address.is_unspecified or address in _THIS_NETWORK or (address.is_loopback and not allows_local):
        return "is an address of this host"
    if address.is_link_local and not allows_local:
        return "is link-local"
    if address.is_multicast or address == IPv4Address("255.255.255.255"):
        return "is no address of one host"
    return None
