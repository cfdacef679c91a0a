"""Certificates that end soon are told of, neither too late nor too often."""

from datetime import UTC, datetime, timedelta

from attrs import evolve
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress import expiry
from ingress.expiry import LOOK_SECONDS, LOOKED_AT_ONCE, TICK_SECONDS, ExpiryWatch, Shown, expiries
from ingress.identity.certificates import Certificate, CertificateTable
from ingress.model.cluster.objects import ObjectKey
from tests.fakes.clocks.busy_clocks import BusyClock
from tests.tls.test_contexts import certificate

END = datetime(2030, 6, 30, 12, tzinfo=UTC)
ONE = evolve(certificate("one.test"), not_after=END)
DEFAULT = evolve(certificate("default.test"), not_after=END + timedelta(days=100))


class ExpiryWatchTests(SynchronousTestCase):
    """``ExpiryWatch``."""

    def setUp(self) -> None:
        self.now = END - timedelta(days=20)
        self.table = CertificateTable({"one.test": (ONE,)}, {".one.test": (ONE,)}, DEFAULT)
        self.clock = Clock()
        self.watch = ExpiryWatch(lambda: self.table.shown(), lambda: self.now, self.clock)

    def told(self, *, at: datetime) -> list[tuple[str, str, str]]:
        """Let time pass until *at*, then look; return Secret, host and verb of what was told."""
        self.clock.advance(max(0.0, (at - self.now).total_seconds()))
        self.now = at
        with capturedLogs() as events:
            self.watch.look()
        return [(event["secret"], event["host"], event["ends"]) for event in events if "secret" in event]

    def test_two_weeks_ahead(self) -> None:
        """A certificate is told of from fourteen days before its end, once a day, and past its end."""
        before = END - timedelta(days=14)
        one = ("shop/one.test", "one.test", "ends")
        self.assertEqual(self.told(at=before - timedelta(seconds=1)), [])
        self.assertEqual(self.told(at=before), [one])
        self.assertEqual(self.told(at=before + timedelta(hours=23)), [])
        self.assertEqual(self.told(at=before + timedelta(hours=24)), [one])
        self.assertEqual(self.told(at=END), [("shop/one.test", "one.test", "ended")])

    def test_clock_is_set(self) -> None:
        """Somebody who sets the clock neither silences what is to be told once a day, nor has it told more often."""
        one = [("shop/one.test", "one.test", "ended")]
        self.assertEqual(self.told(at=END + timedelta(days=60)), one)
        self.now = END
        self.clock.advance(LOOK_SECONDS)
        self.watch.look()
        self.assertEqual(self.told(at=END + timedelta(hours=23)), one)
        self.now = END + timedelta(days=60)
        with capturedLogs() as events:
            self.watch.look()
        self.assertEqual(list(events), [])

    def test_renewed(self) -> None:
        """One that was replaced is told of no more, and its successor when its own time has come."""
        self.assertEqual(len(self.told(at=END)), 1)
        renewed = evolve(ONE, not_after=END + timedelta(days=90), fingerprint="another")
        self.table = CertificateTable({"one.test": (renewed,)})
        self.assertEqual(self.told(at=END + timedelta(days=2)), [])
        self.assertEqual(len(self.told(at=END + timedelta(days=80))), 1)

    def test_many(self) -> None:
        """Only so many are named at a time; the rest is counted."""
        for most, named, more in (
            (2, ["shop/4", "shop/3"], "3 more certificates end"),
            (4, ["shop/4", "shop/3", "shop/2", "shop/1"], "1 more certificate ends"),
        ):
            self.setUp()
            self.patch(expiry, "MOST_LINES", most)
            some = {f"{number}.test": (self.numbered(number),) for number in range(5)}
            self.table = CertificateTable(some)
            self.now = END
            with capturedLogs() as events:
                self.watch.look()
            self.assertEqual([event["secret"] for event in events[:-1]], named)
            self.assertEqual(formatEvent(events[-1]), f"{more} soon; /api/v1/certificates shows all")

    @staticmethod
    def numbered(number: int) -> Certificate:
        """One of many certificates; the higher the number, the earlier it ends."""
        return evolve(
            ONE,
            secret=ObjectKey("shop", str(number)),
            not_after=END - timedelta(hours=number),
            fingerprint=str(number),
        )

    def test_every_hour(self) -> None:
        """It looks when it is started, and then every hour, until it is stopped."""
        looks: list[datetime] = []

        def shown() -> Shown:
            looks.append(self.now)
            return self.table.shown()

        watch = ExpiryWatch(shown, lambda: self.now, self.clock)
        watch.start()
        self.assertEqual(len(looks), 1)
        for expected in (2, 3):
            for _ in range(int(LOOK_SECONDS / TICK_SECONDS)):
                # By this one a second of the other one is a little longer.
                self.now += timedelta(seconds=TICK_SECONDS + 0.1)
                self.clock.advance(TICK_SECONDS)
            self.assertEqual(len(looks), expected)
        watch.stop()
        self.clock.advance(LOOK_SECONDS)
        self.assertEqual((len(looks), self.clock.getDelayedCalls()), (3, []))

    def test_clock_jumps(self) -> None:
        """Where the calendar is set, be it forwards or backwards, it is looked within a minute of that, and not again for an hour."""
        self.watch.start()
        for jump, verb in (
            (timedelta(days=10), "ends"),
            (timedelta(days=11), "ended"),
            (timedelta(days=-2), "ends"),
        ):
            self.clock.advance(TICK_SECONDS)
            self.watch._told.clear()
            self.now += timedelta(seconds=TICK_SECONDS) + jump
            with capturedLogs() as events:
                self.clock.pump([TICK_SECONDS])
                self.now += timedelta(seconds=TICK_SECONDS)
            self.assertEqual([event["ends"] for event in events], [verb])
        self.watch.stop()

    def test_steps(self) -> None:
        """Of very many hosts some are looked at in one turn, and all are told of in the end."""
        clock = BusyClock()
        many = 40 * LOOKED_AT_ONCE
        seen = []

        def shown() -> Shown:
            for number in range(many):
                seen.append(number)
                clock.take(0.000_001)
                yield f"{number}.test", self.numbered(number)

        self.now = END
        watch = ExpiryWatch(shown, lambda: self.now, clock)
        with capturedLogs() as events:
            watch.look()
            watch.look()
            self.assertEqual(len(seen), LOOKED_AT_ONCE)
            while clock.getDelayedCalls():
                clock.advance(0)
        self.assertEqual(len(seen), many)
        self.assertLess(max(clock.turns), 4 * LOOKED_AT_ONCE * 0.000_001)
        self.assertEqual(events[-1]["more"], f"{many - expiry.MOST_LINES:,} more certificates end")
        watch.look()
        watch.stop()
        self.assertEqual(clock.getDelayedCalls(), [])
        self.assertEqual(len(seen), many + LOOKED_AT_ONCE)
        clock.advance(86_400)
        with capturedLogs() as events:
            watch.look()
            while clock.getDelayedCalls():
                clock.advance(0)
        self.assertEqual(events[-1]["more"], f"{many - expiry.MOST_LINES:,} more certificates end")

    def test_bug(self) -> None:
        """A bug is told, and keeps it from no later look."""

        def shown() -> Shown:
            raise RuntimeError("a bug")

        watch = ExpiryWatch(shown, lambda: self.now, self.clock)
        for _ in range(2):
            watch.look()
            self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)

    def test_metric(self) -> None:
        """The metric has each host with its Secret, the type of its key, and the end."""
        self.assertEqual(
            sorted(expiries(self.table.shown())),
            [
                ("shop", "default.test", "", "ECDSA", DEFAULT.not_after.timestamp()),
                ("shop", "one.test", "*.one.test", "ECDSA", END.timestamp()),
                ("shop", "one.test", "one.test", "ECDSA", END.timestamp()),
            ],
        )
