"""Which external names may be dialed."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.translate.endpoints.external_names import external_name_fault


class ExternalNameTests(SynchronousTestCase):
    """Names of other hosts pass; the controller's own host and node do not."""

    def test_names_and_addresses_of_other_hosts_pass(self) -> None:
        """DNS names in either case, with or without final dot, and addresses elsewhere may be dialed."""
        for name in ("www.example.com", "WWW.Example.Com.", "db", "1.example.com", "10.0.0.7", "fd00::7"):
            self.assertIsNone(external_name_fault(name), name)

    def test_own_host_and_node_are_refused(self) -> None:
        """Loopback, link-local, unspecified and multicast addresses are refused, IPv6-mapped ones too."""
        for name in (
            "localhost",
            "a.LOCALHOST.",
            "127.0.0.1",
            "127.8.9.1",
            "0.0.0.0",
            "169.254.169.254",
            "224.0.0.1",
            "::1",
            "::",
            "fe80::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
        ):
            self.assertIsNotNone(external_name_fault(name), name)

    def test_numbers_that_resolvers_take_for_addresses_are_refused(self) -> None:
        """The old spellings of an IPv4 address, which the resolver of a C library reads, are refused."""
        for name in ("127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.01", "a.1"):
            self.assertIsNotNone(external_name_fault(name), name)

    def test_no_names_are_refused(self) -> None:
        """What is no DNS name is refused."""
        for name in ("", ".", "a b", "*.example.com", "a..b", "a:80", "x" * 300, "bücher.example", "a\n"):
            self.assertIsNotNone(external_name_fault(name), name)
