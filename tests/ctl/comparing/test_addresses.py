"""Tests for ingress.ctl.comparing.addresses."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.comparing.addresses import Address, SideAddresses, read_addresses
from ingress.ctl.errors import Mistake


class AddressesTests(SynchronousTestCase):
    """Where requests go."""

    def test_forms(self) -> None:
        """An address alone has the usual ports, one with a port is for http, and each scheme may be said by itself."""
        expected = {
            "10.0.0.1": SideAddresses(Address("10.0.0.1", 80), Address("10.0.0.1", 443)),
            "localhost": SideAddresses(Address("127.0.0.1", 80), Address("127.0.0.1", 443)),
            "10.0.0.1:8080": SideAddresses(Address("10.0.0.1", 8080), None),
            "[::1]:8080": SideAddresses(Address("::1", 8080), None),
            "::1": SideAddresses(Address("::1", 80), Address("::1", 443)),
            "https=10.0.0.1": SideAddresses(None, Address("10.0.0.1", 443)),
            "http://10.0.0.1:81/": SideAddresses(Address("10.0.0.1", 81), None),
            "http=10.0.0.1:81,https=[::1]:82": SideAddresses(Address("10.0.0.1", 81), Address("::1", 82)),
        }
        for text, addresses in expected.items():
            self.assertEqual(read_addresses(text, "--theirs"), addresses, text)

    def test_names_are_refused(self) -> None:
        """A name is told to be one, for nothing is looked up; so is whatever else is no address."""
        for text in (
            "ingress.example.com",
            "ingress.example.com:80",
            "http://ingress.example.com",
            "",
            ":80",
        ):
            error = self.assertRaises(Mistake, read_addresses, text, "--ours")
            self.assertIn("is no IP address", error.message, text)

    def test_other_mistakes(self) -> None:
        """Ports out of range, a scheme twice, and other schemes are told."""
        for text in (
            "10.0.0.1:0",
            "10.0.0.1:65536",
            "http=10.0.0.1,http=10.0.0.2",
            "ftp=10.0.0.1",
            "10.0.0.1,10.0.0.2",
        ):
            error = self.assertRaises(Mistake, read_addresses, text, "--ours")
            self.assertIn("--ours", error.message, text)

    def test_shown(self) -> None:
        """They are shown as they can be given."""
        self.assertEqual(str(read_addresses("::1", "--ours")), "http to [::1]:80, https to [::1]:443")
