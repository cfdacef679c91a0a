"""What a session keeps of answers: its two watermarks, and what becomes of those who take nothing."""

from collections.abc import Callable

from attrs import define, field
from twisted.trial.unittest import SynchronousTestCase

from ingress.http2.budget import Budget
from ingress.http2.outgoing import MAX_SURPLUS, Outgoing
from ingress.proxy.contract.limits import MAX_WAITING
from ingress.proxy.downstream.h2_backlog import SendBacklog

SECONDS = 60.0


@define
class Answer:
    """A stream that notes what the backlog tells it."""

    is_neglected_by_client: bool = False
    is_held_back: bool = False
    told: list[str] = field(factory=list)
    says: Callable[[], None] | None = None
    """What it does when it goes on, if anything."""

    def hold_back(self) -> None:
        """Note that the endpoint is to wait."""
        self.is_held_back = True
        self.told.append("hold back")

    def go_on(self) -> None:
        """Note that it may go on."""
        self.is_held_back = False
        self.told.append("go on")
        if self.says is not None:
            self.says()

    def is_neglected(self, now: float) -> bool:
        """Whether the client gives it no credit."""
        return self.is_neglected_by_client

    def give_up(self) -> None:
        """Note the end."""
        self.told.append("give up")


class SendBacklogTests(SynchronousTestCase):
    """A backlog of two answers."""

    def setUp(self) -> None:
        self.backlog = SendBacklog()
        self.outgoing = Outgoing(Budget(lambda: 0.0))
        self.streams = [Answer(), Answer()]

    @property
    def told(self) -> list[list[str]]:
        """What the streams were told."""
        return [each.told for each in self.streams]

    def grew(self, waiting: int = 0, surplus: int = 0) -> None:
        """Say that so much waits now, of bodies and of what waits for nothing."""
        self.outgoing.waiting, self.outgoing.surplus = waiting, surplus
        self.backlog.grew(self.outgoing, self.streams)

    def shrank(self, waiting: int = 0, surplus: int = 0) -> None:
        """Say that no more than that waits any more."""
        self.outgoing.waiting, self.outgoing.surplus = waiting, surplus
        self.backlog.shrank(self.outgoing, self.streams)

    def test_watermarks(self) -> None:
        """All are held back at the high watermark, and go on below half of it, once each."""
        for waiting in (1, MAX_WAITING - 1, MAX_WAITING, MAX_WAITING + 1):
            self.grew(waiting)
            self.assertEqual(self.backlog.is_above_high_watermark, waiting >= MAX_WAITING)
        self.shrank(MAX_WAITING // 2)
        self.assertEqual(self.told, [["hold back"], ["hold back"]])
        self.shrank(MAX_WAITING // 2 - 1)
        self.shrank()
        self.assertEqual(self.told, [["hold back", "go on"], ["hold back", "go on"]])

    def test_surplus(self) -> None:
        """So they are when a full transport was given too much of what waits for nothing, and go on when it has sent all."""
        for surplus in (1, MAX_SURPLUS, MAX_SURPLUS + 1, MAX_SURPLUS + 2):
            self.grew(surplus=surplus)
            self.assertEqual(self.backlog.is_above_high_watermark, surplus > MAX_SURPLUS)
        self.shrank(surplus=MAX_SURPLUS + 2)
        self.assertEqual(self.told, [["hold back"], ["hold back"]])
        self.shrank()
        self.shrank()
        self.assertEqual(self.told, [["hold back", "go on"], ["hold back", "go on"]])

    def test_both(self) -> None:
        """Of both marks neither lets them go on alone."""
        self.grew(surplus=MAX_SURPLUS + 1)
        self.grew(MAX_WAITING, MAX_SURPLUS + 1)
        self.shrank(MAX_WAITING)
        self.grew(MAX_WAITING, MAX_SURPLUS + 1)
        self.shrank(0, MAX_SURPLUS + 1)
        self.assertEqual(self.told, [["hold back"], ["hold back"]])
        self.shrank()
        self.assertEqual(self.told, [["hold back", "go on"], ["hold back", "go on"]])

    def test_one_after_the_other(self) -> None:
        """If the first that goes on says too much again, the next one is held back still."""
        self.streams[0].says = lambda: self.grew(surplus=MAX_SURPLUS + 1)
        self.grew(surplus=MAX_SURPLUS + 1)
        self.shrank()
        self.assertEqual([each.is_held_back for each in self.streams], [True, True])
        self.assertEqual(self.told[1][-1], "hold back")

    def test_neglected(self) -> None:
        """Above the mark a stream ends that the client neglects, and the others go on waiting."""
        self.grew(MAX_WAITING)
        self.streams[1].is_neglected_by_client = True
        self.backlog.look(MAX_WAITING, self.streams, 1.0, SECONDS)
        self.assertEqual(self.told, [["hold back"], ["hold back", "give up"]])

    def test_stuck(self) -> None:
        """Who takes nothing at all for too long loses all that is held back."""
        self.grew(MAX_WAITING)
        for now in (1.0, 2.0, SECONDS + 3.0):
            self.backlog.look(MAX_WAITING, self.streams, now, SECONDS)
        self.assertEqual([each[-1] for each in self.told], ["give up", "give up"])

    def test_slow(self) -> None:
        """Who takes something, however slowly, loses nothing."""
        self.grew(MAX_WAITING)
        for tick in range(200):
            self.backlog.look(MAX_WAITING - tick, self.streams, float(tick), SECONDS)
        self.assertEqual(self.told, [["hold back"], ["hold back"]])

    def test_below(self) -> None:
        """Below the mark nobody ends for being neglected, whatever the transport has on top."""
        self.streams[1].is_neglected_by_client = True
        self.backlog.look(0, self.streams, 1.0, SECONDS)
        self.assertEqual(self.told, [[], []])
        self.grew(surplus=MAX_SURPLUS + 1)
        self.backlog.look(0, self.streams, 2.0, SECONDS)
        self.assertEqual(self.told, [["hold back"], ["hold back"]])
