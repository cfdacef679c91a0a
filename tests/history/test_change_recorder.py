"""Tests for ``ingress.history.change_recorder``."""

from collections.abc import Callable
from datetime import UTC, datetime

from twisted.internet.task import Clock
from twisted.logger import Logger, LogPublisher
from twisted.trial.unittest import SynchronousTestCase

from ingress.history.change_recorder import MOST_STATES, STATE_SECONDS, ChangeRecorder
from ingress.history.rings import Rings
from ingress.model.observability.changes_and_failures import (
    MOST_CHARACTERS,
    MOST_HOSTS,
    Change,
    ChangeSort,
    Mark,
)

NOW = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
OUT = Mark(
    ChangeSort.EJECTION,
    "ejected",
    "Service",
    "shop/web",
    is_trouble=True,
    state="10.0.4.9:8080 of shop/web:80",
)
IN = Mark(
    ChangeSort.EJECTION, "returned", "Service", "shop/web", state="10.0.4.9:8080 of shop/web:80", is_over=True
)


class ChangeRecorderTests(SynchronousTestCase):
    """What becomes of lines of the log."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.ring = Rings().changes
        self.waiting: list[Callable[[], object]] = []
        self.publisher = LogPublisher()
        self.recorder = ChangeRecorder(self.ring, lambda: NOW, self.clock.seconds, lambda call: call())
        self.recorder.follow(self.publisher)
        self.log = Logger(namespace="some.room", observer=self.publisher)

    def said(self) -> list[str]:
        """Return the verbs of the changes that were kept."""
        return [change.verb for change in self.ring.since()]

    def test_marked(self) -> None:
        """A line with a mark is a change with the text of the line; others are none."""
        self.log.info("{what} is said", what="Nothing")
        self.log.warn(
            "{listener} is open",
            listener="tcp:80",
            change=Mark(ChangeSort.LISTENER, "opened", hosts=("a.test",)),
        )
        self.log.info("Again", change=None)
        (change,) = self.ring.since()
        self.assertEqual(
            change, Change(NOW, ChangeSort.LISTENER, "opened", "tcp:80 is open", hosts=("a.test",), number=1)
        )

    def test_bounds(self) -> None:
        """Texts of tenants are cut, hosts are few, and nothing in them moves a terminal."""
        mark = Mark(ChangeSort.OBJECT, "came", "Ingress", "n" * 9999, ("h" * 9999,) * 99)
        self.log.info("{text}", text="\x1b[2J" * 9999, change=mark)
        (change,) = self.ring.since()
        self.assertEqual(len(change.text), MOST_CHARACTERS)
        self.assertNotIn("\x1b", change.text)
        self.assertEqual((len(change.object), len(change.hosts)), (MOST_CHARACTERS, MOST_HOSTS))

    def test_threads(self) -> None:
        """A line of a thread is kept in the reactor's, with the text that it had."""
        recorder = ChangeRecorder(self.ring, lambda: NOW, self.clock.seconds, self.waiting.append)
        self.recorder.leave(self.publisher)
        recorder.follow(self.publisher)
        self.log.info("Said", change=Mark(ChangeSort.WATCH, "silent"))
        self.assertEqual(self.said(), [])
        self.waiting.pop()()
        self.assertEqual(self.said(), ["silent"])

    def test_leaves(self) -> None:
        """Who has left hears nothing any more, and may leave again."""
        self.recorder.leave(self.publisher)
        self.recorder.leave(self.publisher)
        self.log.info("Said", change=Mark(ChangeSort.WATCH, "silent"))
        self.assertEqual(self.said(), [])

    def test_workers_say_the_same(self) -> None:
        """What four workers say of one endpoint is one change when it begins, and one when it is over for all of them."""
        for worker in range(4):
            self.log.warn("It is out", change=OUT, slot=worker)
            self.clock.advance(2)
        for worker in range(4):
            self.assertEqual(self.said(), ["ejected"])
            self.log.info("It is back", change=IN, slot=worker)
        self.assertEqual(self.said(), ["ejected", "returned"])

    def test_again(self) -> None:
        """What one and the same says again is told again: the endpoint may have been another meanwhile."""
        self.log.warn("It is out", change=OUT)
        self.log.warn("It is out", change=OUT)
        self.log.info("It is back", change=IN)
        self.log.info("It is back", change=IN)
        self.assertEqual(self.said(), ["ejected", "ejected", "returned", "returned"])

    def test_worker_that_ended(self) -> None:
        """A worker that ended, or has said nothing for long, keeps nobody from being heard."""
        self.log.warn("It is out", change=OUT, slot=0)
        self.log.error("It ended", change=Mark(ChangeSort.WORKER, "ended"), slot=0)
        self.log.warn("It is out", change=OUT, slot=1)
        self.clock.advance(STATE_SECONDS)
        self.log.warn("It is out", change=OUT, slot=2)
        self.assertEqual(self.said(), ["ejected", "ended", "ejected", "ejected"])

    def test_states_are_bounded(self) -> None:
        """Of states only so many are followed, and those of one sort are not those of another."""
        for number in range(2 * MOST_STATES):
            self.log.warn("Out", change=Mark(ChangeSort.EJECTION, "ejected", state=str(number)), slot=0)
        self.log.warn("Over", change=Mark(ChangeSort.OVERLOAD, "begun", state="7"), slot=1)
        self.assertLessEqual(len(self.recorder._states), MOST_STATES)
        self.assertEqual(self.said()[-1], "begun")
