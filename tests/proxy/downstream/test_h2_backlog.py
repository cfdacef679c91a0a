"""What a session keeps of answers: its two watermarks, and what becomes of those who take nothing."""

from attrs import define, field
from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.contract.limits import MAX_WAITING
from ingress.proxy.downstream.h2_backlog import SendBacklog

SECONDS = 60.0


@define
class Answer:
    """A stream that notes what the backlog tells it."""

    is_neglected_by_client: bool = False
    is_held_back: bool = False
    told: list[str] = field(factory=list)

    def hold_back(self) -> None:
        """Note that the endpoint is to wait."""
        self.is_held_back = True
        self.told.append("hold back")

    def go_on(self) -> None:
        """Note that it may go on."""
        self.is_held_back = False
        self.told.append("go on")

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
        self.streams = [Answer(), Answer()]

    @property
    def told(self) -> list[list[str]]:
        """What the streams were told."""
        return [each.told for each in self.streams]

    def test_watermarks(self) -> None:
        """All are held back at the high watermark, and go on below half of it, once each."""
        for waiting in (1, MAX_WAITING - 1, MAX_WAITING, MAX_WAITING + 1):
            self.backlog.grew(waiting, self.streams)
            self.assertEqual(self.backlog.is_above_high_watermark, waiting >= MAX_WAITING)
        self.backlog.shrank(MAX_WAITING // 2, self.streams)
        self.assertEqual(self.told, [["hold back"], ["hold back"]])
        self.backlog.shrank(MAX_WAITING // 2 - 1, self.streams)
        self.backlog.shrank(0, self.streams)
        self.assertEqual(self.told, [["hold back", "go on"], ["hold back", "go on"]])

    def test_neglected(self) -> None:
        """Above the mark a stream ends that the client neglects, and the others go on waiting."""
        self.backlog.grew(MAX_WAITING, self.streams)
        self.streams[1].is_neglected_by_client = True
        self.backlog.look(MAX_WAITING, self.streams, 1.0, SECONDS)
        self.assertEqual(self.told, [["hold back"], ["hold back", "give up"]])

    def test_stuck(self) -> None:
        """Who takes nothing at all for too long loses all that is held back."""
        self.backlog.grew(MAX_WAITING, self.streams)
        for now in (1.0, 2.0, SECONDS + 3.0):
            self.backlog.look(MAX_WAITING, self.streams, now, SECONDS)
        self.assertEqual([each[-1] for each in self.told], ["give up", "give up"])

    def test_slow(self) -> None:
        """Who takes something, however slowly, loses nothing."""
        self.backlog.grew(MAX_WAITING, self.streams)
        for tick in range(200):
            self.backlog.look(MAX_WAITING - tick, self.streams, float(tick), SECONDS)
        self.assertEqual(self.told, [["hold back"], ["hold back"]])

    def test_below(self) -> None:
        """Below the mark nobody ends for being neglected."""
        self.streams[1].is_neglected_by_client = True
        self.backlog.look(0, self.streams, 1.0, SECONDS)
        self.assertEqual(self.told, [[], []])
