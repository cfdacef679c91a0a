"""The Strict-Transport-Security field."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.hosts.transport_security import StrictTransport, transport_security_value


class ValueTests(SynchronousTestCase):
    """The value of the field, by what the operator decided."""

    def test_directives(self) -> None:
        """Each decision is a directive of RFC 6797, or its absence."""
        for strict, value in (
            (StrictTransport(), b"max-age=31536000; includeSubDomains"),
            (StrictTransport(0, False), b"max-age=0"),
            (StrictTransport(60, True, True), b"max-age=60; includeSubDomains; preload"),
        ):
            self.assertEqual(transport_security_value(strict), value)
