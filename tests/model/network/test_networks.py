"""Networks as people list them, and which addresses are in them."""

from ipaddress import ip_address, ip_network
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.network.networks import NetworkSet, client_address, read_network


class ReadingTests(SynchronousTestCase):
    """Texts of networks."""

    def test_usual_spelling(self) -> None:
        """An address is a network of one; bits behind the prefix do not count; an IPv4 network inside of IPv6 is one of IPv4."""
        for text, usual in (
            ("192.0.2.1", "192.0.2.1/32"),
            ("10.1.2.3/8", "10.0.0.0/8"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("255.255.255.255/32", "255.255.255.255/32"),
            ("2001:DB8::1", "2001:db8::1/128"),
            ("2001:db8:0:0::/32", "2001:db8::/32"),
            ("::/0", "::/0"),
            ("::ffff:192.0.2.1", "192.0.2.1/32"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("::ffff:0:0/95", "::fffe:0:0/95"),
        ):
            self.assertEqual(str(read_network(text)), usual)

    def test_refused(self) -> None:
        """Anything else raises ``ValueError``, and takes no time."""
        for text in (
            "",
            "x",
            "10.0.0.0/33",
            "10.0.0.0/-1",
            "10.0.0.0/",
            "10.0.0.0/8/8",
            "10.0.0.0/255.0.0.0",
            "10.0.0.0/٨",
            "10.0.0/8",
            "010.0.0.1",
            "fe80::1%eth0",
            "::/129",
            "10.0.0.0/" + "1" * 100_000,
            "1" * 100_000,
            "10.0.0.0/8\x00",
            "$remote_addr",
        ):
            with self.assertRaises(ValueError, msg=text[:40]):
                read_network(text)


class SetTests(SynchronousTestCase):
    """Sets of them."""

    def test_against_the_standard_library(self) -> None:
        """An address is in a set exactly if it is in one of its networks, whichever overlap."""
        random = Random(5)
        texts = [
            f"{random.randrange(4)}.{random.randrange(4)}.{random.randrange(256)}.0/{random.randrange(6, 33)}"
            for _ in range(60)
        ] + [f"2001:db8:{random.randrange(16):x}::/{random.randrange(30, 60)}" for _ in range(10)]
        for count in (0, 1, 3, len(texts)):
            some = [ip_network(text, strict=False) for text in texts[-count:]] if count else []
            found = NetworkSet(map(read_network, map(str, some)))
            for _ in range(500):
                address = ip_address(
                    f"{random.randrange(5)}.{random.randrange(5)}.{random.randrange(256)}.{random.randrange(256)}"
                )
                self.assertEqual(found.has(address), any(address in one for one in some), address)
                address = ip_address(f"2001:db8:{random.randrange(17):x}:{random.randrange(9):x}::1")
                self.assertEqual(found.has(address), any(address in one for one in some), address)

    def test_edges(self) -> None:
        """The first and the last address of a network are in it, and their neighbors are not."""
        found = NetworkSet([read_network("10.0.1.0/24"), read_network("2001:db8::/32")])
        for text, is_in in (
            ("10.0.0.255", False),
            ("10.0.1.0", True),
            ("10.0.1.255", True),
            ("10.0.2.0", False),
            ("2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", False),
            ("2001:db8::", True),
            ("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", True),
            ("2001:db9::", False),
        ):
            self.assertEqual(found.has(ip_address(text)), is_in, text)

    def test_joined(self) -> None:
        """Neighbors and what overlaps are one range, so that a long list costs what it comes to."""
        lots = NetworkSet(read_network(f"10.0.{number}.0/24") for number in range(256))
        self.assertEqual(len(lots), 1)
        apart = NetworkSet(read_network(f"10.{number}.0.0/24") for number in range(256))
        self.assertEqual(len(apart), 256)

    def test_versions(self) -> None:
        """All of IPv6 is nothing of IPv4, as in nginx."""
        self.assertFalse(NetworkSet([read_network("::/0")]).has(ip_address("192.0.2.1")))


class ClientTests(SynchronousTestCase):
    """Addresses of clients."""

    def test_addresses(self) -> None:
        """An IPv4 address inside of IPv6 is itself; what is no address is none."""
        self.assertEqual(client_address(b"::ffff:192.0.2.1"), ip_address("192.0.2.1"))
        self.assertEqual(client_address(b"2001:db8::1"), ip_address("2001:db8::1"))
        for text in (b"", b"unknown", b"192.0.2.1\r\n", b"\xff", b"192.0.2.1, 192.0.2.2"):
            self.assertIsNone(client_address(text))
