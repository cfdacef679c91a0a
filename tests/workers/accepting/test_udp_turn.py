"""Which worker takes the datagrams of UDP."""

from attrs import define
from twisted.trial.unittest import SynchronousTestCase

from ingress.workers.accepting.udp_turn import UdpTurn


@define(eq=False)
class Worker:
    """A worker, as far as that is concerned."""

    number: int
    is_serving: bool = True
    is_retired: bool = False
    is_gone: bool = False


class UdpTurnTests(SynchronousTestCase):
    """``UdpTurn``."""

    def test_stays(self) -> None:
        """It is one worker's turn for as long as it is there, whoever comes."""
        turn: UdpTurn[Worker] = UdpTurn()
        self.assertIsNone(turn.taker(()))
        one, two = Worker(1), Worker(0)
        self.assertIs(turn.taker((one,)), one)
        self.assertIs(turn.taker((two, one)), one)

    def test_next(self) -> None:
        """Another one takes its turn when it makes way or ends: the first that serves, or else the first."""
        for end in ("is_retired", "is_gone"):
            turn: UdpTurn[Worker] = UdpTurn()
            workers = [Worker(0), Worker(1, is_serving=False), Worker(2)]
            self.assertIs(turn.taker(workers), workers[0])
            setattr(workers[0], end, True)
            self.assertIs(turn.taker(workers), workers[2])
            self.assertIs(turn.taker(workers[:2]), workers[1])
            self.assertIsNone(turn.taker(workers[:1]))
