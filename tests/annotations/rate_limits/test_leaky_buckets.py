"""Leaky buckets: as nginx's, bounded, and cheap."""

from random import Random
from weakref import ref

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.rate_limits.leaky_buckets import (
    LARGEST,
    LONGEST_REST_SECONDS,
    ONE,
    PAUSE_SECONDS,
    SWEEP_BUCKETS,
    SWEEP_SECONDS,
    SWEEPS,
    Buckets,
    Rate,
    Rates,
)
from ingress.filters import Filter
from tests.fakes.filter_parts import FakeClock

ALL_SECONDS = SWEEPS * SWEEP_SECONDS
FIVE = Rates(Rate(5 * ONE, 25 * ONE))
"""5 a second, 25 at once."""


class Nginx:
    """``limit_req_zone`` and ``limit_req … nodelay`` as nginx's documentation and source describe them, for one client."""

    def __init__(self, *limits: tuple[int, int, int]) -> None:
        """Take number, seconds and burst of each zone."""
        self._limits = [(number * 1000 // seconds, burst * 1000) for number, seconds, burst in limits]
        self._excesses = [0] * len(limits)
        self._last = -1

    def take(self, now: int) -> bool:
        """Take a request at *now*, in milliseconds."""
        if self._last < 0:
            self._last = now
            return True
        found = []
        for (rate, burst), excess in zip(self._limits, self._excesses, strict=True):
            left = max(0, excess - rate * (now - self._last) // 1000 + 1000)
            if left > burst:
                return False
            found.append(left)
        self._excesses, self._last = found, now
        return True


class BucketsCase(SynchronousTestCase):
    """A test with buckets and a clock."""

    def setUp(self) -> None:
        self.clock = FakeClock()
        self.asker = Filter()

    def buckets(self, most: int = 1_000_000, shards: int = 1024) -> Buckets:
        """Make some."""
        return Buckets(self.clock, most, shards)

    def pass_time(self, seconds: float) -> None:
        """Let time pass, with all that is due in it."""
        for _ in range(int(seconds / PAUSE_SECONDS)):
            self.clock.clock.advance(PAUSE_SECONDS)


class RateTests(BucketsCase):
    """What is within a rate."""

    def test_burst(self) -> None:
        """The burst and one more come at once; then one for each time that the rate has for it, and no bit sooner."""
        buckets = self.buckets()
        zone = buckets.zone("a", FIVE, self.asker)
        taken = [buckets.take(zone, FIVE, b"192.0.2.1") for _ in range(40)]
        self.assertEqual(taken, [True] * 26 + [False] * 14)
        self.clock.clock.advance(0.199)
        self.assertFalse(buckets.take(zone, FIVE, b"192.0.2.1"))
        self.clock.clock.advance(0.001)
        self.assertTrue(buckets.take(zone, FIVE, b"192.0.2.1"))
        self.assertFalse(buckets.take(zone, FIVE, b"192.0.2.1"))

    def test_no_burst(self) -> None:
        """Without burst the second request waits for its time."""
        rates = Rates(Rate(10 * ONE, 0))
        buckets = self.buckets()
        zone = buckets.zone("a", rates, self.asker)
        self.assertEqual([buckets.take(zone, rates, b"x") for _ in range(3)], [True, False, False])
        self.clock.clock.advance(0.1)
        self.assertTrue(buckets.take(zone, rates, b"x"))

    def test_as_nginx(self) -> None:
        """Along random histories exactly those requests are refused that nginx refuses, by one rate or by both."""
        for seed in range(40):
            random = Random(seed)
            by_second, by_minute = random.choice([(3, 0), (0, 7), (2, 30), (1, 1), (100, 200), (1, 6000)])
            multiplier = random.choice([1, 2, 5])
            limits = [
                (number, seconds, number * multiplier)
                for number, seconds in ((by_second, 1), (by_minute, 60))
                if number
            ]
            rates = Rates(
                Rate(by_second * ONE, by_second * multiplier * ONE) if by_second else None,
                Rate(by_minute * ONE // 60, by_minute * multiplier * ONE) if by_minute else None,
            )
            nginx, buckets, now = Nginx(*limits), self.buckets(), int(self.clock.seconds() * 1000)
            zone = buckets.zone("a", rates, self.asker)
            for _ in range(400):
                step = random.choice([0, 0, 0, 1, 16, 17, 250, 333, 1000, 5000])
                self.clock.clock.rightNow = (now + step) / 1000 + 0.0001
                now += step
                self.assertEqual(buckets.take(zone, rates, b"x"), nginx.take(now), (seed, now))
            self.clock.clock.rightNow += 1
            now = int(self.clock.seconds() * 1000)

    def test_clients_and_zones(self) -> None:
        """Each client has a bucket of its own in each zone."""
        buckets = self.buckets()
        one, other = (buckets.zone(name, FIVE, self.asker) for name in "ab")
        for zone, client in ((one, b"x"), (one, b"y"), (other, b"x")):
            self.assertEqual(sum(buckets.take(zone, FIVE, client) for _ in range(30)), 26)
        self.assertEqual(buckets.count, 3)

    def test_clock_that_jumps(self) -> None:
        """A clock that goes back gives nobody anything, and nobody is refused for longer than by his own requests."""
        buckets = self.buckets()
        zone = buckets.zone("a", FIVE, self.asker)
        self.clock.clock.rightNow = 1000.0
        for _ in range(26):
            buckets.take(zone, FIVE, b"x")
        self.clock.clock.rightNow = 500.0
        self.assertFalse(buckets.take(zone, FIVE, b"x"))
        self.clock.clock.rightNow = 1000.2
        self.assertTrue(buckets.take(zone, FIVE, b"x"))
        self.clock.clock.rightNow = 1e9
        self.assertEqual(sum(buckets.take(zone, FIVE, b"x") for _ in range(30)), 26)

    def test_largest(self) -> None:
        """The largest limits fit, and one does not run into the other."""
        rates = Rates(Rate(999_999_999 * ONE, LARGEST - ONE), Rate(16, 1 * ONE))
        buckets = self.buckets()
        zone = buckets.zone("a", rates, self.asker)
        self.assertEqual(sum(buckets.take(zone, rates, b"x") for _ in range(10)), 2)
        rates = Rates(Rate(16, LARGEST - ONE), Rate(16, LARGEST - ONE))
        full = (1 << 96) - 1 | (1 << 96)
        self.assertIsNone(rates.added(full, 1))
        level = LARGEST - 2 * ONE
        added = rates.added(1 << 96 | level << 48 | level, 1)
        self.assertEqual(added, 1 << 96 | (level + ONE) << 48 | (level + ONE))


class EditTests(BucketsCase):
    """Limits that change."""

    def test_counts_are_kept(self) -> None:
        """A limit that is edited goes on from where clients are, also where nobody asked for it in between."""
        buckets = self.buckets()
        zone = buckets.zone("a", FIVE, self.asker)
        for _ in range(26):
            buckets.take(zone, FIVE, b"x")
        del self.asker
        thousand = Rates(Rate(1000 * ONE, 5000 * ONE))
        asker = Filter()
        zone = buckets.zone("a", thousand, asker)
        self.assertEqual(sum(buckets.take(zone, thousand, b"x") for _ in range(6000)), 5000 - 25)
        del asker
        last = Filter()
        zone = buckets.zone("a", FIVE, last)
        self.assertFalse(buckets.take(zone, FIVE, b"x"))
        self.clock.clock.advance(5)
        self.assertFalse(buckets.take(zone, FIVE, b"x"))

    def test_memory_returns(self) -> None:
        """Once a limit is gone its buckets are dropped as they drain, with nobody asking; then its zone, and no timer is left."""
        buckets = self.buckets()
        zone = buckets.zone("a", FIVE, self.asker)
        for number in range(1000):
            buckets.take(zone, FIVE, b"%d" % number)
        gone = ref(zone)
        self.assertEqual(len(self.clock.clock.getDelayedCalls()), 1)
        del self.asker, zone
        self.pass_time(2 * ALL_SECONDS)
        self.assertEqual(buckets.count, 0)
        self.assertEqual(self.clock.clock.getDelayedCalls(), [])
        self.asker = Filter()
        self.assertIsNone(gone())

    def test_memory_returns_from_slow_limits(self) -> None:
        """What would take days to drain goes an hour after its limit."""
        rates = Rates(None, Rate(16, 10**9))
        buckets = self.buckets(shards=1)
        zone = buckets.zone("a", rates, self.asker)
        for _ in range(1000):
            buckets.take(zone, rates, b"x")
        del self.asker, zone
        for _ in range(int(LONGEST_REST_SECONDS / SWEEP_SECONDS)):
            self.clock.clock.advance(SWEEP_SECONDS)
        self.assertEqual(buckets.count, 1)
        self.pass_time(3 * SWEEP_SECONDS)
        self.assertEqual(buckets.count, 0)

    def test_sweeps_are_short(self) -> None:
        """However many buckets there are, a sweep looks at few at a time, and all are looked at within about two minutes."""
        buckets = self.buckets(most=200_000, shards=256)
        rates = Rates(None, Rate(16, 1000 * ONE))
        zone = buckets.zone("a", rates, self.asker)
        for number in range(100_000):
            buckets.take(zone, rates, b"%d" % number)
        before, most = buckets.looked_at, 0
        for _ in range(int(120 / PAUSE_SECONDS)):
            last = buckets.looked_at
            self.clock.clock.advance(PAUSE_SECONDS)
            most = max(most, buckets.looked_at - last)
        self.assertLess(most, SWEEP_BUCKETS * 2)
        self.assertGreater(buckets.looked_at - before, 100_000)

    def test_quiet_clients_cost_nothing(self) -> None:
        """Who has asked for nothing for a while is forgotten while the limit stays; who is limited is not."""
        rates = Rates(None, Rate(16, 5 * ONE))
        buckets = self.buckets()
        zone = buckets.zone("a", rates, self.asker)
        for number in range(500):
            buckets.take(zone, rates, b"%d" % number)
        for _ in range(10):
            buckets.take(zone, rates, b"busy")
        self.pass_time(ALL_SECONDS * 2.2)
        self.assertEqual(buckets.count, 1)
        self.assertEqual(sum(buckets.take(zone, rates, b"busy") for _ in range(9)), 2)


class BoundTests(BucketsCase):
    """What a flood of addresses does."""

    def test_bound(self) -> None:
        """There are never more than may be, and each costs a bounded number of looks at others, however many come."""
        buckets = self.buckets(most=8192, shards=64)
        zone = buckets.zone("a", FIVE, self.asker)
        most = 0
        for number in range(100_000):
            buckets.take(zone, FIVE, b"%d" % number)
            most = max(most, buckets.count)
        self.assertLessEqual(most, 8192)
        self.assertGreater(most, 7000)
        self.assertLess(buckets.looked_at, 100_000 * 24)

    def test_who_is_limited_stays(self) -> None:
        """A flood of new addresses frees nobody who is limited, and drops those who were quiet for longest first."""
        rates = Rates(None, Rate(16, 5 * ONE))
        buckets = self.buckets(most=4096, shards=16)
        zone = buckets.zone("a", rates, self.asker)
        for number in range(500):
            for _ in range(8):
                buckets.take(zone, rates, b"limited %d" % number)
        self.clock.clock.rightNow += 1
        for number in range(20_000):
            self.clock.clock.rightNow += 0.0005
            buckets.take(zone, rates, b"%d" % number)
        self.assertFalse(any(buckets.take(zone, rates, b"limited %d" % number) for number in range(500)))
        kept = [
            any(zone.prefix + b"%d" % number in shard for shard in buckets._shards) for number in (1, 19_999)
        ]
        self.assertEqual(kept, [False, True])

    def test_all_limited(self) -> None:
        """Where everybody is limited the oldest of these go, and new clients are counted all the same."""
        rates = Rates(None, Rate(16, 0))
        buckets = self.buckets(most=64, shards=1)
        zone = buckets.zone("a", rates, self.asker)
        for number in range(200):
            self.clock.clock.rightNow += 0.001
            self.assertTrue(buckets.take(zone, rates, b"%d" % number))
            self.assertFalse(buckets.take(zone, rates, b"%d" % number))
        self.assertLessEqual(buckets.count, 64)

    def test_shares_of_shards(self) -> None:
        """Many clients spread over the shards, so that none of these takes long."""
        buckets = self.buckets()
        zone = buckets.zone("a", FIVE, self.asker)
        for number in range(50_000):
            buckets.take(zone, FIVE, b"10.0.%d.%d" % (number >> 8, number & 255))
        self.assertLess(max(map(len, buckets._shards)), 150)
