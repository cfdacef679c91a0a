"""Addresses that no tenant may have us connect to."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.network.addresses import address_fault, is_within, same_address


class AddressTests(SynchronousTestCase):
    """Which addresses are refused."""

    def test_others_pass(self) -> None:
        """Addresses of other hosts pass, private ones included."""
        for text in (
            "10.0.0.7",
            "192.168.1.1",
            "8.8.8.8",
            "100.64.0.1",
            "fd00::7",
            "2001:db8::1",
            "::ffff:10.0.0.7",
        ):
            self.assertIsNone(address_fault(text), text)

    def test_refused(self) -> None:
        """This host, the link, no host, many hosts and metadata services are refused, however written."""
        for text in (
            "127.0.0.1",
            "127.8.9.1",
            "::1",
            "0.0.0.0",
            "0.1.2.3",
            "::",
            "169.254.169.254",
            "fe80::1",
            "fe80::1%eth0",
            "224.0.0.1",
            "255.255.255.255",
            "ff02::1",
            "100.100.100.200",
            "168.63.129.16",
            "fd00:ec2::254",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::7f00:1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "2001:0:7f00:1::",
            "not an address",
            "",
        ):
            self.assertIsNotNone(address_fault(text), text)

    def test_same(self) -> None:
        """Addresses are compared and not their spellings."""
        self.assertTrue(same_address("fd00:0::1", "FD00::1"))
        self.assertTrue(same_address("::ffff:10.0.0.1", "10.0.0.1"))
        self.assertFalse(same_address("10.0.0.1", "10.0.0.2"))
        self.assertFalse(same_address("x", "x"))


class WithinTests(SynchronousTestCase):
    """Which addresses are in networks."""

    def test_within(self) -> None:
        """An address is in a network however it is written; what is none is in none."""
        networks = ("10.0.0.0/8", "2001:db8::/32")
        for text in ("10.1.2.3", "::ffff:10.1.2.3", "2001:db8::7", "2001:db8::7%eth0"):
            self.assertTrue(is_within(text, networks), text)
        for text in ("11.0.0.1", "::10.1.2.3", "2001:db9::1", "10.0.0", ""):
            self.assertFalse(is_within(text, networks), text)
        self.assertFalse(is_within("10.1.2.3", ()))
