"""Tests for ingress.ctl.comparing.asking_both and pace, by a clock that only sleeping moves."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.comparing.answers import Answer, SideDownError
from ingress.ctl.comparing.asking_both import SILENT, AskingBoth, Pair
from ingress.ctl.comparing.pace import MAX_DISTANCE, MAX_RETRY_AFTER, Pace
from ingress.ctl.comparing.samples import Sample

WELL = Answer(200)
BUSY = Answer(503)


def samples(count: int, method: str = "GET") -> list[Sample]:
    """So many samples of one rule."""
    return [Sample("http", method, "shop.test", f"/{number}", of="shop.test/") for number in range(count)]


class FakeSide:
    """Answers by *script*, which gets the number of the request; notes when it was asked."""

    def __init__(self, name: str, moments: list[float], clock: Callable[[], float]) -> None:
        self.name = name
        self.script: Callable[[int], Answer] = lambda number: WELL
        self.asked: list[Sample] = []
        self.takes = 0.0
        self._moments = moments
        self._clock = clock

    def ask(self, sample: Sample) -> Answer:
        """Note it, and answer."""
        self._moments.append(self._clock())
        self.asked.append(sample)
        return self.script(len(self.asked))


class AskingBothTests(SynchronousTestCase):
    """Both sides are asked, and not more than that."""

    def setUp(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []
        self.moments: list[float] = []
        self.theirs, self.ours = (
            FakeSide(name, self.moments, lambda: self.now) for name in ("theirs", "ours")
        )

    def sleep(self, seconds: float) -> None:
        """Let time go by."""
        self.assertGreater(seconds, 0)
        self.slept.append(seconds)
        self.now += seconds

    def ask(self, some: list[Sample], rate: float = 10.0) -> list[Pair]:
        """Ask for *some*."""
        self.pace = Pace(rate, lambda: self.now, self.sleep)
        self.asking = AskingBoth(
            self.theirs, self.ours, self.pace, lambda _, theirs, ours: theirs.status != ours.status
        )
        return list(self.asking.pairs(some))

    def distances(self) -> list[float]:
        """The seconds between requests."""
        return [round(b - a, 6) for a, b in zip(self.moments, self.moments[1:], strict=False)]

    def test_rate(self) -> None:
        """The rate is that of both sides together."""
        self.ask(samples(50))
        self.assertEqual(self.distances(), [0.1] * 99)

    def test_no_catching_up(self) -> None:
        """Time that answers took is not made up for by a burst."""

        def slow(number: int) -> Answer:
            self.now += 3.0 if number == 2 else 0.0
            return WELL

        self.theirs.script = slow
        self.ask(samples(5))
        self.assertEqual(min(self.distances()), 0.1)

    def test_once_each(self) -> None:
        """Each side gets each sample once where they agree, and once more where they do not."""
        self.ours.script = lambda number: BUSY if number in (2, 3) else WELL
        pairs = self.ask(samples(3))
        self.assertEqual([pair.again is not None for pair in pairs], [False, True, False])
        self.assertEqual([one.target for one in self.theirs.asked], ["/0", "/1", "/1", "/2"])
        self.assertEqual(self.asking.sent, {"theirs": 4, "ours": 4})

    def test_unsafe_methods_once(self) -> None:
        """What may change something is not asked again."""
        self.ours.script = lambda number: Answer(404)
        self.ask(samples(3, "POST"))
        self.assertEqual((len(self.theirs.asked), len(self.ours.asked)), (3, 3))

    def test_overload(self) -> None:
        """Who answered well before and is busy now is asked more and more slowly, and faster again once it is well."""
        self.theirs.script = lambda number: BUSY if 3 <= number < 20 else WELL
        self.ours.script = self.theirs.script
        self.ask(samples(60))
        found = self.distances()
        self.assertTrue(self.pace.was_slowed)
        self.assertEqual(max(found), MAX_DISTANCE)
        self.assertEqual(found[-20:], [0.1] * 20)

    def test_never_well(self) -> None:
        """A path that never answered otherwise has no endpoint, and slows nobody down."""
        self.theirs.script = self.ours.script = lambda number: BUSY
        self.ask(samples(30))
        self.assertFalse(self.pace.was_slowed)
        self.assertEqual(max(self.distances()), 0.1)

    def test_retry_after(self) -> None:
        """Who says when to come again is left alone until then, within bounds."""
        for said, wait in (("7", 7.0), ("100000", MAX_RETRY_AFTER)):
            self.moments.clear()
            self.theirs.asked.clear()
            self.theirs.script = partial(self.busy_at_first, Answer(429, (("Retry-After", said),)))
            self.ask(samples(2, "POST"))
            self.assertEqual(self.distances()[0], wait)

    @staticmethod
    def busy_at_first(busy: Answer, number: int) -> Answer:
        """Answer the first request by *busy*."""
        return busy if number == 1 else WELL

    def test_late(self) -> None:
        """Answers that do not come in time slow it down, too."""
        self.ours.script = lambda number: Answer(failure="no answer in 10 s", is_late=True)
        self.ask(samples(4))
        self.assertTrue(self.pace.was_slowed)

    def test_down(self) -> None:
        """A side that takes no connection ends it at once."""

        def down(number: int) -> Answer:
            raise SideDownError("theirs takes no connection")

        self.theirs.script = down
        self.assertRaises(SideDownError, self.ask, samples(3000))
        self.assertEqual((len(self.theirs.asked), len(self.ours.asked)), (1, 0))

    def test_silent(self) -> None:
        """A side that says nothing to anything ends it after some requests; one that says something in between does not."""
        nothing = Answer(failure="it ended the connection without an answer")
        self.ours.script = lambda number: nothing
        error = self.assertRaises(SideDownError, self.ask, samples(3000))
        self.assertIn("ours gave", str(error))
        self.assertEqual(len(self.ours.asked), SILENT)
        self.ours.script = lambda number: WELL if number % SILENT == 0 else nothing
        self.ours.asked.clear()
        self.assertEqual(len(self.ask(samples(40, "POST"))), 40)

    def test_pairs_come_at_once(self) -> None:
        """What was asked is known before the next is asked, so that an end in between loses nothing."""
        pace = Pace(10.0, lambda: self.now, self.sleep)
        pairs = AskingBoth(self.theirs, self.ours, pace, lambda *_: False).pairs(samples(5))
        next(pairs)
        self.assertEqual((len(self.theirs.asked), len(self.ours.asked)), (1, 1))

    def test_answers_are_kept_apart(self) -> None:
        """What they say is theirs, and what we say is ours."""
        self.ours.script = lambda number: evolve(WELL, status=204)
        (pair,) = self.ask(samples(1))
        self.assertEqual((pair.theirs.status, pair.ours.status), (200, 204))
