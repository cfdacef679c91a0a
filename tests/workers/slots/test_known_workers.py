"""What the parent knows of its workers."""

from datetime import UTC, datetime
from typing import Any, cast

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.metrics import Metrics
from ingress.model.observability.workers import WorkerEnd, WorkerStage
from ingress.process.control_channel import ControlChannel
from ingress.translate.snapshot import Snapshot
from ingress.workers import shared_page
from ingress.workers.feed.feeding import Fed, Feed
from ingress.workers.shared_page import SharedPage
from ingress.workers.slots.known_workers import KnownWorkers
from ingress.workers.worker_link import WorkerLink

NOW = datetime(2026, 11, 22, tzinfo=UTC)
SECOND = 1_000_000_000


class ClosedChannel:
    """Takes nothing."""

    is_open = False


class KnownWorkersTests(SynchronousTestCase):
    """``KnownWorkers``, with links over which nothing is said."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.page = SharedPage(2)
        self.metrics = Metrics()
        self.known = KnownWorkers(self.page, self.metrics, self.clock, lambda: NOW)
        self.metrics.workers.states = self.known.states
        self.lives = 0

    def link(self, slot: int) -> WorkerLink:
        """A worker that begins in *slot*."""
        self.lives += 1
        nothing: Any = lambda *_: None  # noqa: E731 - whoever calls it, with whatever
        link = WorkerLink(self.clock, slot, self.lives, nothing, nothing, nothing)
        self.known.began(link)
        return link

    def stages(self) -> list[WorkerStage]:
        return [state.stage for state in self.known.states()]

    def test_live_numbers(self) -> None:
        """Connections and lateness are those of the page that all share, the snapshot is the one that was put together."""
        link, feed = self.link(1), Feed(self.clock)
        feed.publish(Snapshot())
        link.fed = Fed(
            feed, cast(ControlChannel, ClosedChannel()), feed.current, lambda: None, self.clock.seconds
        )
        row = self.page.row(1)
        self.patch(shared_page, "monotonic_ns", lambda: 100 * SECOND)
        row.count(5)
        row.late_by(0.25)
        row.pulse(False)
        state = self.known.states()[1]
        self.assertEqual((state.connections, state.lateness_seconds), (5, 0.25))
        self.assertEqual((state.snapshot, state.behind_seconds), (1, 0.0))
        # It hangs, and there is a newer snapshot.
        self.patch(shared_page, "monotonic_ns", lambda: 103 * SECOND)
        feed.publish(Snapshot())
        link.fed.advance()
        self.clock.advance(2)
        state = self.known.states()[1]
        self.assertAlmostEqual(state.lateness_seconds, 3.0, 1)
        self.assertEqual((state.snapshot, state.behind_seconds), (1, 2.0))
        self.assertEqual(self.known.states()[0].connections, 0)

    def test_end_either_way_round(self) -> None:
        """Whether the end of a process or of its channel is seen first, it is counted once, and the next worker is its own."""
        for ended_first in (True, False):
            self.setUp()
            link = self.link(0)
            link.pid = 41
            self.known.forked(link)
            self.known.serves(link)
            if ended_first:
                self.known.ended(link, -9, was_told=False)
                self.assertEqual(self.stages()[0], WorkerStage.ENDED)
                self.known.gone(link)
            else:
                self.known.gone(link)
                self.assertEqual(self.stages()[0], WorkerStage.ENDED)
            following = self.link(0)
            if not ended_first:
                self.known.ended(link, -9, was_told=False)
            state = self.known.states()[0]
            self.assertEqual((state.stage, state.pid, state.starts), (WorkerStage.STARTING, None, 2))
            self.assertEqual(state.ends, {WorkerEnd.KILLED: 1})
            # What comes late of the one before changes nothing.
            self.known.forked(link)
            self.known.gone(link)
            following.pid = 42
            self.known.forked(following)
            state = self.known.states()[0]
            self.assertEqual((state.stage, state.pid), (WorkerStage.STARTING, 42))

    def test_hung(self) -> None:
        """The end of a worker that hung is told as such, whatever signal ended it."""
        link = self.link(0)
        link.is_hung = True
        self.known.hangs(link)
        self.assertEqual(self.stages()[0], WorkerStage.HUNG)
        self.known.ended(link, -9, was_told=False)
        self.assertEqual(self.known.states()[0].ends, {WorkerEnd.HUNG: 1})

    def test_drain(self) -> None:
        """When the parent ends, its workers drain, and have ended as they were told to."""
        link = self.link(0)
        self.known.serves(link)
        self.known.all_drain()
        self.assertEqual(self.stages(), [WorkerStage.DRAINING, WorkerStage.ENDED])
        self.known.ended(link, 0, was_told=True)
        self.assertEqual(self.known.states()[0].ends, {WorkerEnd.STOPPED: 1})

    def test_tallies(self) -> None:
        """Tallies add to the metrics; the gauges in them go with the worker."""
        link = self.link(0)
        self.known.tells(
            link.life,
            b'{"summed":[["ingress_upstream_failures_total",2],["ingress_upstream_connections",3]]}',
        )
        self.assertIn(b"\ningress_upstream_connections 3.0\n", self.metrics.render())
        self.known.gone(link)
        text = self.metrics.render()
        self.assertIn(b"\ningress_upstream_connections 0.0\n", text)
        self.assertIn(b"\ningress_upstream_failures_total 2.0\n", text)
        self.assertIn(b'\ningress_worker_up{worker="0"} 0.0\n', text)

    def test_asked_when_gone(self) -> None:
        """A worker whose channel is closed is waited for by nobody."""
        self.link(0)
        told = self.known.told()
        self.clock.advance(0)
        self.successResultOf(told)
