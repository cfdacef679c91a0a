"""Networks that somebody lists, and whether an address is in one of them.  Pure.

A list is kept as the ranges of numbers that it comes to, joined and sorted: however long it is, an
address is looked for by one bisection.  An IPv4 address inside of an IPv6 one
(``::ffff:192.0.2.1``) is that IPv4 address, in lists and in requests; ``::/0`` is all of IPv6 and nothing of IPv4, as in nginx.
"""

from bisect import bisect_right
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address
from typing import Final, NamedTuple

from ingress.model.network.addresses import plain_address

_LONGEST: Final = 49
_BITS: Final = {4: 32, 6: 128}
_MAPPED: Final = 0xFFFF << 32
_MAPPED_BITS: Final = 96


class Network(NamedTuple):
    """All addresses of one version that begin with the same bits.  A tuple, since there may be thousands in a list."""

    version: int
    first: int
    """The lowest address, as a number."""
    last: int

    def __str__(self) -> str:
        address = IPv4Address(self.first) if self.version == 4 else IPv6Address(self.first)
        return f"{address}/{_BITS[self.version] - (self.last - self.first).bit_length()}"


def read_network(text: str) -> Network:
    """Read an address, or one with the number of bits that count (``10.0.0.0/8``); raises ``ValueError`` for anything else.

    What stands behind these bits is of no account.
    """
    address, slash, count = text.partition("/")
    if len(text) > _LONGEST or "%" in text or (slash and not (count.isascii() and count.isdigit())):
        raise ValueError("is neither an address nor a network")
    version = 6 if ":" in address else 4
    number = int(IPv6Address(address) if version == 6 else IPv4Address(address))
    bits = int(count) if slash else _BITS[version]
    if bits > _BITS[version]:
        raise ValueError("is neither an address nor a network")
    if version == 6 and bits >= _MAPPED_BITS and number >> 32 == _MAPPED >> 32:
        version, number, bits = 4, number & 0xFFFFFFFF, bits - _MAPPED_BITS
    behind = _BITS[version] - bits
    first = number >> behind << behind
    return Network(version, first, first | ((1 << behind) - 1))


class NetworkSet:
    """All addresses of some networks."""

    def __init__(self, networks: Iterable[Network]) -> None:
        ranges: dict[int, list[tuple[int, int]]] = {4: [], 6: []}
        for one in networks:
            ranges[one.version].append((one.first, one.last))
        self._starts: dict[int, list[int]] = {}
        self._ends: dict[int, list[int]] = {}
        for version, some in ranges.items():
            starts: list[int] = []
            ends: list[int] = []
            self._starts[version], self._ends[version] = starts, ends
            for first, last in sorted(some):
                if ends and first <= ends[-1] + 1:
                    ends[-1] = max(ends[-1], last)
                else:
                    starts.append(first)
                    ends.append(last)

    def __len__(self) -> int:
        """How many ranges it comes to."""
        return sum(map(len, self._starts.values()))

    def has(self, address: IPv4Address | IPv6Address) -> bool:
        """Whether *address* is in one of them; one of IPv4 has to be given as such."""
        version, number = address.version, int(address)
        at = bisect_right(self._starts[version], number)
        return bool(at) and number <= self._ends[version][at - 1]


def client_address(text: bytes) -> IPv4Address | IPv6Address | None:
    """Return the address that the client *text* is, an IPv4 one inside of IPv6 as itself; None for what is none."""
    try:
        return plain_address(text.decode("ascii"))
    except ValueError:
        return None
