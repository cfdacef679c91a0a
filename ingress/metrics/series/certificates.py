"""The series about certificates: until when each is good.

``Metrics`` shows these series with its own; this module reads no clock and knows
no certificate.  They are collected when somebody asks for them.
"""

from collections.abc import Callable, Iterable
from functools import partial

from prometheus_client.core import GaugeMetricFamily, Metric

from ingress.metrics.text import in_parts

Expiry = tuple[str, str, str, str, float]
"""Namespace and name of the Secret (or none, and a file), host (empty: all others), type of the key, and seconds since the epoch."""


def _none() -> Iterable[Expiry]:
    return ()


class CertificateMetrics:
    """Shows what *expiries* returns; whoever knows the certificates sets it."""

    def __init__(self) -> None:
        self.expiries: Callable[[], Iterable[Expiry]] = _none

    def families(self) -> Iterable[Metric]:
        """Yield the series."""
        yield from in_parts(
            partial(
                GaugeMetricFamily,
                "ingress_certificate_expiry_timestamp_seconds",
                "When a certificate ends that is shown for a host, in seconds since the epoch; "
                "an empty host stands for names without a certificate of their own. "
                "That of the admission webhook has no namespace, and its file as secret.",
                labels=("namespace", "secret", "host", "key_type"),
            ),
            (
                ((namespace, secret, host, key_type), seconds)
                for namespace, secret, host, key_type, seconds in self.expiries()
            ),
        )
