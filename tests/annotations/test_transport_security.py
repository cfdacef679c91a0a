"""The Strict-Transport-Security field."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.host_facts import CertifiedHosts
from ingress.annotations.transport_security import TransportSecurity, transport_security_line
from ingress.model.strict_transport import StrictTransport


class LineTests(SynchronousTestCase):
    """The field line, by what the operator decided."""

    def test_directives(self) -> None:
        """Each decision is a directive of RFC 6797, or its absence."""
        for strict, value in (
            (StrictTransport(), b"max-age=31536000; includeSubDomains"),
            (StrictTransport(0, False), b"max-age=0"),
            (StrictTransport(60, True, True), b"max-age=60; includeSubDomains; preload"),
        ):
            line = b"Strict-Transport-Security: %b\r\n" % value
            self.assertEqual(transport_security_line(strict), line)
        self.assertEqual(transport_security_line(None), b"")


class TransportSecurityTests(SynchronousTestCase):
    """Which hosts of a route insist on HTTPS."""

    def test_hosts(self) -> None:
        """All of them, or those with a certificate."""
        self.assertEqual(TransportSecurity(b"x").line_for(b"a.test"), b"x")
        some = TransportSecurity(b"x", CertifiedHosts(frozenset({b"a.test"})))
        self.assertEqual([some.line_for(host) for host in (b"a.test", b"b.test", b"")], [b"x", b"", b""])
