"""The PROXY header is read exactly, from any pieces, and within a bound."""

from ipaddress import IPv4Address, IPv6Address, ip_address

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http.proxy_header import (
    MAX_V1_BYTES,
    MAX_V2_BYTES,
    Address,
    ProxyHeader,
    ProxyHeaderError,
    read_proxy_header,
    write_proxy_header,
)

SIGN = b"\r\n\r\n\x00\r\nQUIT\n"


def v2(command: int, kind: int, block: bytes, length: int | None = None) -> bytes:
    """Make a header of version 2; *length* is what it says of *block*, if not the truth."""
    size = len(block) if length is None else length
    return SIGN + bytes([0x20 | command, kind]) + size.to_bytes(2) + block


def addresses(source: str, destination: str, source_port: int, destination_port: int) -> bytes:
    """Make the address block of version 2."""
    packed = ip_address(source).packed + ip_address(destination).packed
    return packed + source_port.to_bytes(2) + destination_port.to_bytes(2)


V4 = addresses("192.0.2.7", "198.51.100.1", 50000, 443)
V6 = addresses("2001:db8::7", "2001:db8::1", 50000, 443)
TLV = b"\x04\x00\x03abc"
FROM_V4 = (Address("192.0.2.7", 50000), Address("198.51.100.1", 443))
FROM_V6 = (Address("2001:db8::7", 50000), Address("2001:db8::1", 443))

GOOD = {
    b"PROXY TCP4 192.0.2.7 198.51.100.1 50000 443\r\n": FROM_V4,
    b"PROXY TCP6 2001:db8::7 2001:DB8:0:0:0:0:0:1 50000 443\r\n": FROM_V6,
    b"PROXY TCP6 ::ffff:192.0.2.7 ::ffff:198.51.100.1 50000 443\r\n": FROM_V4,
    b"PROXY UNKNOWN\r\n": (None, None),
    b"PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n": (None, None),
    v2(1, 0x11, V4): FROM_V4,
    v2(1, 0x21, V6): FROM_V6,
    v2(1, 0x21, addresses("::ffff:192.0.2.7", "::ffff:198.51.100.1", 50000, 443)): FROM_V4,
    v2(1, 0x11, V4 + TLV + b"\x04\x00\x00"): FROM_V4,
    v2(1, 0x31, bytes(216)): (None, None),
    v2(1, 0x00, b""): (None, None),
    v2(1, 0x00, b"whatever"): (None, None),
    v2(0, 0x00, b""): (None, None),
    v2(0, 0xFF, b"whatever"): (None, None),
    v2(1, 0x11, V4 + b"\x04" + (MAX_V2_BYTES - 16 - 12 - 3).to_bytes(2) + bytes(MAX_V2_BYTES - 31)): FROM_V4,
}

BAD = {
    "no header": b"GET / HTTP/1.1\r\n",
    "TLS": b"\x16\x03\x01",
    "lower case": b"proxy",
    "no family": b"PROXY \r\n",
    "another family": b"PROXY TCP5 192.0.2.7 198.51.100.1 50000 443\r\n",
    "UNKNOWN and more letters": b"PROXY UNKNOWNS\r\n",
    "two spaces": b"PROXY TCP4  192.0.2.7 198.51.100.1 50000 443\r\n",
    "a space at the end": b"PROXY TCP4 192.0.2.7 198.51.100.1 50000 443 \r\n",
    "a port too few": b"PROXY TCP4 192.0.2.7 198.51.100.1 50000\r\n",
    "a port above 65535": b"PROXY TCP4 192.0.2.7 198.51.100.1 65536 443\r\n",
    "a port with a zero in front": b"PROXY TCP4 192.0.2.7 198.51.100.1 050 443\r\n",
    "a negative port": b"PROXY TCP4 192.0.2.7 198.51.100.1 -1 443\r\n",
    "IPv6 as TCP4": b"PROXY TCP4 2001:db8::7 2001:db8::1 50000 443\r\n",
    "IPv4 as TCP6": b"PROXY TCP6 192.0.2.7 198.51.100.1 50000 443\r\n",
    "an address with zeros": b"PROXY TCP4 192.0.02.7 198.51.100.1 50000 443\r\n",
    "an address out of range": b"PROXY TCP4 192.0.2.256 198.51.100.1 50000 443\r\n",
    "a zone": b"PROXY TCP6 fe80::1%eth0 fe80::2 50000 443\r\n",
    "no LF": b"PROXY TCP4 192.0.2.7 198.51.100.1 50000 443\rX",
    "LF alone": b"PROXY TCP4 192.0.2.7 198.51.100.1 50000 443\nGET / HTTP/1.1\r\n\r\n",
    "too long a line": b"PROXY UNKNOWN " + b"x" * (MAX_V1_BYTES - 14 - 1),
    "version 1 in binary": SIGN + b"\x11\x11\x00\x0c" + V4,
    "a command that does not exist": SIGN + b"\x22\x11\x00\x0c" + V4,
    "a family that does not exist": v2(1, 0x41, V4),
    "a transport that does not exist": v2(1, 0x13, V4),
    "a datagram": v2(1, 0x12, V4),
    "unspecified, of no family": v2(1, 0x40, V4),
    "too short for IPv4": v2(1, 0x11, V4[:-1]),
    "too short for IPv6": v2(1, 0x21, V4),
    "too short for UNIX": v2(1, 0x31, bytes(215)),
    "half a value": v2(1, 0x11, V4 + b"\x04\x00"),
    "a value longer than the header": v2(1, 0x11, V4 + b"\x04\x00\x04abc"),
    "too long": v2(1, 0x11, b"", length=MAX_V2_BYTES - 15),
    "far too long": v2(0, 0x00, b"", length=0xFFFF),
}


class ProxyHeaderTests(SynchronousTestCase):
    """What is a header, and what is none."""

    def test_good(self) -> None:
        """Both versions tell who connected to whom, or that nobody says."""
        for octets, (source, destination) in GOOD.items():
            expected = ProxyHeader(len(octets), source, destination)
            self.assertEqual(read_proxy_header(octets), expected, octets)
            self.assertEqual(read_proxy_header(octets + b"\x16\x03\x01GET"), expected, octets)

    def test_every_split(self) -> None:
        """Up to the last byte, more is asked for."""
        for octets in GOOD:
            for end in range(len(octets)):
                self.assertIsNone(read_proxy_header(octets[:end]), octets[:end])

    def test_bad(self) -> None:
        """Everything else is refused, and no more is waited for."""
        for what, octets in BAD.items():
            with self.assertRaises(ProxyHeaderError, msg=what):
                read_proxy_header(octets)

    def test_early(self) -> None:
        """What cannot become a header is refused at the byte that says so."""
        for octets in (b"P" + b"O", b"PROXX", SIGN[:5] + b"x", SIGN + b"\x30", b"\x00"):
            self.assertIsNone(read_proxy_header(octets[:-1]) if octets[:-1] else None)
            with self.assertRaises(ProxyHeaderError, msg=repr(octets)):
                read_proxy_header(octets)


class WritingTests(SynchronousTestCase):
    """``write_proxy_header``."""

    def test_read_again(self) -> None:
        """What is written is read as it was meant; nobody is known where an address is missing or of another family."""
        for hosts in (("192.0.2.7", "198.51.100.1"), ("2001:db8::1", "2001:db8::2")):
            source, destination = (Address(host, 50000 + at) for at, host in enumerate(hosts))
            written = write_proxy_header(source, destination)
            self.assertEqual(read_proxy_header(written), ProxyHeader(len(written), source, destination))
            self.assertLessEqual(len(written), 107)
            for pair in (
                (source, None),
                (None, destination),
                (source, Address("::1" if ":" not in hosts[0] else "127.0.0.1", 1)),
            ):
                self.assertEqual(write_proxy_header(*pair), b"PROXY UNKNOWN\r\n")


class PropertyTests(SynchronousTestCase):
    """What holds for any addresses and any bytes."""

    @given(
        st.one_of(
            st.tuples(st.ip_addresses(v=4), st.ip_addresses(v=4)),
            st.tuples(st.ip_addresses(v=6, network="2000::/3"), st.ip_addresses(v=6)),
        ),
        st.integers(0, 65535),
        st.integers(0, 65535),
    )
    def test_both_versions_agree(
        self, pair: tuple[IPv4Address | IPv6Address, IPv4Address | IPv6Address], one: int, two: int
    ) -> None:
        """The same connection in either version is the same."""
        source, destination = pair
        is_v4 = source.version == 4
        line = f"PROXY TCP{4 if is_v4 else 6} {source} {destination} {one} {two}\r\n".encode()
        first = read_proxy_header(line)
        second = read_proxy_header(
            v2(1, 0x11 if is_v4 else 0x21, addresses(str(source), str(destination), one, two))
        )
        assert first is not None
        assert second is not None
        self.assertEqual((first.source, first.destination), (second.source, second.destination))
        self.assertEqual(first.source, Address(str(source), one))

    @given(
        st.sampled_from([b"", b"PROXY ", b"PROXY TCP4 ", SIGN, SIGN + b"\x21\x11"]), st.binary(max_size=300)
    )
    def test_any_bytes(self, begin: bytes, rest: bytes) -> None:
        """Any bytes are a header, refused, or the beginning of one; more bytes never change a verdict."""
        octets = begin + rest
        verdicts = []
        for end in range(len(octets) + 1):
            try:
                verdicts.append(read_proxy_header(octets[:end]))
            except ProxyHeaderError:
                verdicts.append(ProxyHeader(-1))
        known = [verdict for verdict in verdicts if verdict is not None]
        self.assertEqual(verdicts, [None] * (len(verdicts) - len(known)) + known[:1] * len(known))
