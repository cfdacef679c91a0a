"""The series about certificates."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.metrics import Metrics


class CertificateMetricsTests(SynchronousTestCase):
    """``CertificateMetrics``."""

    def test_expiry(self) -> None:
        """Whoever knows the certificates is asked each time that somebody looks."""
        metrics = Metrics()
        self.assertNotIn(b"ingress_certificate_expiry_timestamp_seconds{", metrics.render())
        metrics.certificates.expiries = lambda: [("shop", "tls", "a.test", "RSA", 1.9e9)]
        self.assertIn(
            b'ingress_certificate_expiry_timestamp_seconds{host="a.test",key_type="RSA",namespace="shop",secret="tls"} 1.9e+09',
            metrics.render(),
        )
