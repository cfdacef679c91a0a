"""Tests for ``ingress.routing.hosts``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.routing.hosts import HostError, check_rule_host, normal_host
from tests.properties import examples


class NormalHostTests(SynchronousTestCase):
    """The host of a request, brought to the form that routes are found by."""

    def test_forms(self) -> None:
        """Case, one trailing dot and the port make no difference to the host."""
        for authority, expected in (
            (b"example.com", (b"example.com", b"")),
            (b"EXAMPLE.Com", (b"example.com", b"")),
            (b"example.com.", (b"example.com", b"")),
            (b"example.com:8080", (b"example.com", b"8080")),
            (b"example.com.:31974", (b"example.com", b"31974")),
            (b"example.com:", (b"example.com", b"")),
            (b"localhost", (b"localhost", b"")),
            (b"my_host-1.test", (b"my_host-1.test", b"")),
            (b"127.0.0.1:80", (b"127.0.0.1", b"80")),
            (b"[::1]", (b"[::1]", b"")),
            (b"[::1]:8080", (b"[::1]", b"8080")),
            (b"[2001:DB8::A]:", (b"[2001:db8::a]", b"")),
            (b"[::ffff:10.0.0.1]:443", (b"[::ffff:10.0.0.1]", b"443")),
            (b"example.com:65535", (b"example.com", b"65535")),
        ):
            self.assertEqual(normal_host(authority), expected, authority)

    def test_refusals(self) -> None:
        """What no host is, or what two readers could read differently, is refused."""
        for authority in (
            b"",
            b":80",
            b".",
            b".example.com",
            b"example..com",
            b"example.com..",
            b"user@example.com",
            b"user:password@example.com:80",
            b"a b",
            b" example.com",
            b"example.com ",
            b"example.com:80:80",
            b"example.com:80:",
            b"example.com:8o",
            b"example.com:-1",
            b"example.com:+1",
            b"example.com:65536",
            b"example.com:000080",
            b"::1",
            b"[::1",
            b"::1]",
            b"[::1]8080",
            b"[::1].",
            b"[1.2.3.4]",
            b"[example.com]",
            b"[fe80::1%25eth0]",
            b"[:::1]",
            b"[]",
            b"a/b",
            b"a\\b",
            b"a?b",
            b"a#b",
            b"a%41b",
            b"a\x00b",
            b"a\nb",
            b"example.com\n",
            b'a"b',
            b"<a>",
            "bücher.example".encode(),
        ):
            with self.assertRaises(HostError, msg=repr(authority)) as caught:
                normal_host(authority)
            if authority:
                self.assertNotIn(authority.decode("latin-1"), str(caught.exception))

    @settings(derandomize=True, deadline=None, max_examples=examples(300))
    @given(st.text("aB.:[]@1-_ %\n*", max_size=12))
    def test_settled(self, text: str) -> None:
        """A host that was accepted is its own normal form."""
        try:
            host, port = normal_host(text.encode())
        except HostError:
            return
        self.assertEqual(normal_host(host), (host, b""))
        self.assertEqual(normal_host(host + b":" + port), (host, port))


class CheckRuleHostTests(SynchronousTestCase):
    """The host that a rule names."""

    def test_good(self) -> None:
        """DNS names of either case, wildcards of the first label and no host at all are fine."""
        for host in (
            "",
            "localhost",
            "example.com",
            "Example.COM",
            "a-b.1c.example.com",
            "xn--bcher-kva.example",
            "*.example.com",
            "*.com",
            "a" * 63 + ".example",
            ".".join(["a" * 61] * 4),
        ):
            self.assertIsNone(check_rule_host(host), host)

    def test_bad(self) -> None:
        """What can be no rule's host gets the reason."""
        for host, reason in (
            ("*", "alone"),
            ("*.", "ends with a dot"),
            ("example.com.", "ends with a dot"),
            ("example.com:80", "port"),
            ("10.0.0.1", "IP address"),
            ("::1", "IP address"),
            ("[::1]", "IP address"),
            ("foo.*.com", "wildcard"),
            ("*.*.com", "wildcard"),
            ("*foo.com", "wildcard"),
            ("f*.com", "wildcard"),
            ("a..b", "empty label"),
            (".a", "empty label"),
            ("*..a", "empty label"),
            ("a_b.com", "no DNS name"),
            ("-a.com", "no DNS name"),
            ("a-.com", "no DNS name"),
            ("a/b", "no DNS name"),
            ("a b", "no DNS name"),
            ("a\n", "no DNS name"),
            ("bücher.example", "xn--"),
            ("a" * 64 + ".example", "longer than 63"),
            (".".join(["a" * 61] * 5), "longer than 253"),
        ):
            self.assertIn(reason, check_rule_host(host) or "", host)
