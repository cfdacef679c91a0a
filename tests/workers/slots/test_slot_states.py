"""What becomes of each slot."""

import signal
from datetime import UTC, datetime, timedelta

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.observability.workers import WorkerEnd, WorkerStage
from ingress.workers.slots.slot_states import SlotStates

BEGIN = datetime(2026, 11, 22, tzinfo=UTC)


class SlotStatesTests(SynchronousTestCase):
    """``SlotStates``."""

    def setUp(self) -> None:
        self.now = BEGIN
        self.slots = SlotStates(2, self.later)

    def later(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def test_nothing_yet(self) -> None:
        """Before workers are started there are all slots, empty."""
        states = self.slots.states()
        self.assertEqual([state.slot for state in states], [0, 1])
        self.assertEqual({state.stage for state in states}, {WorkerStage.ENDED})
        self.assertEqual({(state.starts, state.last_end) for state in states}, {(0, "")})

    def test_life(self) -> None:
        """A worker is started, serves, drains and is gone; other slots stay as they are."""
        self.slots.began(1)
        self.slots.has_pid(1, 41)
        stages = []
        for step in (lambda slot: None, self.slots.serves, self.slots.drains, self.slots.gone):
            step(1)
            state = self.slots.states()[1]
            stages.append((state.stage, state.pid))
        self.assertEqual(
            stages,
            [
                (WorkerStage.STARTING, 41),
                (WorkerStage.SERVING, 41),
                (WorkerStage.DRAINING, 41),
                (WorkerStage.ENDED, None),
            ],
        )
        self.assertEqual(self.slots.states()[1].starts, 1)
        self.assertEqual(self.slots.states()[0].stage, WorkerStage.ENDED)

    def test_since(self) -> None:
        """It is known since when a stage lasts; being told the same again does not begin it anew."""
        self.slots.began(0)
        self.slots.serves(0)
        since = self.slots.states()[0].since
        self.slots.serves(0)
        self.slots.has_pid(0, 7)
        self.assertEqual(self.slots.states()[0].since, since)
        self.slots.drains(0)
        self.assertGreater(self.slots.states()[0].since, since)

    def test_no_way_back(self) -> None:
        """A worker that hangs or drains serves no more, whatever it still answers."""
        self.slots.began(0)
        self.slots.hangs(0)
        self.slots.serves(0)
        self.assertEqual(self.slots.states()[0].stage, WorkerStage.HUNG)
        self.slots.gone(0)
        self.slots.drains(0)
        self.assertEqual(self.slots.states()[0].stage, WorkerStage.ENDED)

    def test_ends(self) -> None:
        """Ends are counted by cause, with the last one in words."""
        said = []
        for status, was_hung, was_told in (
            (-signal.SIGKILL, False, False),
            (-signal.SIGSEGV, False, False),
            (-250, False, False),
            (1, False, False),
            (0, False, False),
            (-signal.SIGKILL, True, False),
            (0, False, True),
        ):
            self.slots.ended(0, status, was_hung, was_told)
            said.append(self.slots.states()[0].last_end)
        self.assertEqual(
            said,
            [
                "was killed by SIGKILL",
                "was killed by SIGSEGV",
                "was killed by signal 250",
                "ended with status 1",
                "ended with status 0",
                "gave no sign of life, and was killed",
                "ended as it was told to",
            ],
        )
        self.assertEqual(
            self.slots.states()[0].ends,
            {WorkerEnd.KILLED: 3, WorkerEnd.EXIT: 2, WorkerEnd.HUNG: 1, WorkerEnd.STOPPED: 1},
        )

    def test_end_that_is_known_late(self) -> None:
        """How a worker ended may be known when the next one of its slot serves already."""
        self.slots.began(0)
        self.slots.gone(0)
        self.slots.began(0)
        self.slots.has_pid(0, 42)
        self.slots.serves(0)
        self.slots.ended(0, -9, was_hung=False, was_told=False)
        state = self.slots.states()[0]
        self.assertEqual((state.stage, state.pid, state.starts), (WorkerStage.SERVING, 42, 2))
        self.assertEqual(state.last_end, "was killed by SIGKILL")
