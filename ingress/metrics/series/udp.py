"""The series about ports of UDP, beside those that count their sessions as streams.

``Metrics`` shows these series with its own; all of it belongs to the reactor thread.
"""

from collections.abc import Callable, Iterable
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

DROP_CAUSES: Final = (
    "no-endpoint",
    "unserved",
    "unread",
    "waiting",
    "full",
    "unsendable",
    "unreadable",
    "loop",
)
"""Why a datagram went nowhere: its backend has no endpoint; its port leads nowhere; more came than
was read of the port, so that the kernel had no room for it; too many waited for the address of their
endpoint; the kernel had no room for it; it could not be sent, as where it is too large; it could not be read; it came from a port of
our own, here or at another replica, or from none."""


def _nothing() -> int:
    return 0


class UdpMetrics:
    """Counters and a gauge."""

    def __init__(self) -> None:
        self.most: Callable[[], int] = _nothing
        """Returns how many sessions there may be, none where no port is open; whoever has them sets it."""
        self.looks: set[Callable[[], None]] = set()
        """Called before the series are shown, to count what is only found by looking; whoever has sockets adds to them."""
        self.displaced = 0
        """Sessions that made way for others."""
        self._received = self._sent = 0
        self._dropped = dict.fromkeys(DROP_CAUSES, 0)

    def drop(self, cause: str, count: int = 1) -> None:
        """Count datagrams that went nowhere; *cause* is one of ``DROP_CAUSES``."""
        self._dropped[cause] += count

    def ended(self, received: int, sent: int) -> None:
        """Count the datagrams of a session that has ended, which came from its client and went to it."""
        self._received += received
        self._sent += sent

    def families(self) -> Iterable[Metric]:
        """Yield the series."""
        for look in self.looks:
            look()
        yield GaugeMetricFamily(
            "ingress_udp_sessions_most", "Sessions of UDP that there may be at a time.", self.most()
        )
        yield CounterMetricFamily(
            "ingress_udp_sessions_displaced",
            "Sessions of UDP that made way for others, since there were as many as may be.",
            self.displaced,
        )
        datagrams = CounterMetricFamily(
            "ingress_udp_datagrams",
            "Datagrams of sessions of UDP that have ended, by direction.",
            labels=("direction",),
        )
        datagrams.add_metric(("received",), self._received)
        datagrams.add_metric(("sent",), self._sent)
        yield datagrams
        dropped = CounterMetricFamily(
            "ingress_udp_datagrams_dropped",
            "Datagrams of UDP that went nowhere, by cause.",
            labels=("cause",),
        )
        for cause, count in self._dropped.items():
            dropped.add_metric((cause,), count)
        yield dropped
