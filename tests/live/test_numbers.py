"""The numbers of the whole house, from what is counted."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.live.counted import Counted
from ingress.live.numbers import HISTORY, Numbers
from ingress.metrics.exchanges.histograms import BOUNDS


def counted(requests: int = 0, slow: int = 0, **failures: int) -> Counted:
    """Return what is counted of *requests* of at most a millisecond each, and *slow* ones of up to a tenth of a second."""
    durations = [0] * (len(BOUNDS) + 1)
    durations[0], durations[BOUNDS.index(0.1)] = requests, slow
    failed = {name.replace("_", "-"): number for name, number in failures.items()}
    return Counted(requests + slow, failed, tuple(durations), (), 7, 3, 1)


class NumbersTests(SynchronousTestCase):
    """What is told each second."""

    def setUp(self) -> None:
        self.numbers = Numbers()
        self.numbers.begin(0.0, counted(1_000_000, bad_gateway=500), ())

    def test_per_second(self) -> None:
        """Requests a second are those since the last look, whatever there was before."""
        self.assertEqual(self.numbers.take(1.0, counted(1_000_010))["perSecond"], 10.0)
        self.assertEqual(self.numbers.take(3.0, counted(1_000_110))["perSecond"], 50.0)
        self.assertEqual(self.numbers.history(), [10.0, 50.0])

    def test_history_is_bounded(self) -> None:
        """Two minutes are remembered."""
        for second in range(1, 500):
            self.numbers.take(float(second), counted(1_000_000 + second))
        self.assertIn(len(self.numbers.history()), (HISTORY, HISTORY + 1))

    def test_failures(self) -> None:
        """Failures are those of the last five minutes, by cause; a cause without any is not named."""
        told = self.numbers.take(1.0, counted(1_000_000, bad_gateway=503, cut=1))
        self.assertEqual(told["failures"], {"bad-gateway": 3, "cut": 1})
        self.assertEqual(
            self.numbers.take(302.0, counted(1_000_000, bad_gateway=504, cut=1))["failures"],
            {"bad-gateway": 1},
        )

    def test_failures_before(self) -> None:
        """Failures that are remembered count, too, until they are five minutes old."""
        self.numbers.begin(1000.0, counted(), [(990.0, "cut"), (750.0, "cut"), (600.0, "cut")])
        self.assertEqual(self.numbers.take(1001.0, counted(cut=1))["failures"], {"cut": 3})
        self.assertEqual(self.numbers.take(1100.0, counted(cut=1))["failures"], {"cut": 2})

    def test_times(self) -> None:
        """Quantiles are of the last minute; without requests there are none, and none of endpoints where nobody counts those."""
        quiet = self.numbers.take(1.0, counted(1_000_000, bad_gateway=500))
        self.assertEqual((quiet["p50"], quiet["p99"]), (None, None))
        told = self.numbers.take(2.0, counted(1_000_050, 50))
        self.assertEqual((told["p50"], told["p99"], told["upstreamP50"]), (0.001, 0.099, None))
        self.assertIsNone(self.numbers.take(70.0, counted(1_000_050, 50))["p50"])

    def test_gauges(self) -> None:
        """Connections and ejected endpoints are told as they are."""
        told = self.numbers.take(1.0, counted())
        self.assertEqual((told["clients"], told["endpointConnections"], told["ejected"]), (7, 3, 1))

    def test_streams_and_datagrams(self) -> None:
        """Streams and sessions of UDP are told as they are, datagrams and those that were dropped by the second."""
        some = counted()._replace(streams=4, udp_sessions=9, datagrams=100, dropped=10)
        self.numbers.take(1.0, some)
        told = self.numbers.take(3.0, some._replace(udp_sessions=8, datagrams=120, dropped=15))
        self.assertEqual((told["streams"], told["udpSessions"]), (4, 8))
        self.assertEqual((told["datagramsPerSecond"], told["droppedPerSecond"]), (10.0, 2.5))
        # A worker that ended took with it what it had not told yet.
        self.assertEqual(self.numbers.take(4.0, counted())["datagramsPerSecond"], 0.0)
