"""How many handshakes there are at once, and in which order they have their turns."""

from collections.abc import Callable

from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.transport import handshake_queue as handshake_queue_module
from ingress.proxy.transport.handshake_queue import STEPS, STEPS_SECONDS, HandshakeQueue


class Connection:
    """A connection in its handshake, which notes what it is told."""

    def __init__(self, handshakes: HandshakeQueue, told: list[tuple[str, int]], number: int) -> None:
        self.handshakes = handshakes
        self.told = told
        self.number = number
        handshakes.begin(self)

    def step(self) -> None:
        """Something came."""
        if self.handshakes.may_step(self):
            self.told.append(("step", self.number))

    def park(self) -> None:
        self.told.append(("park", self.number))

    def unpark(self) -> None:
        self.told.append(("step", self.number))

    def abortConnection(self) -> None:
        self.told.append(("cut", self.number))


class HandshakesTests(SynchronousTestCase):
    """``HandshakeQueue``."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.handshakes = HandshakeQueue(self.clock)
        self.told: list[tuple[str, int]] = []

    def begin(self, count: int) -> list[Connection]:
        """Begin some handshakes."""
        return [Connection(self.handshakes, self.told, number) for number in range(count)]

    def turn(self) -> None:
        """Make the calls that are due; what they ask for is a matter of the next turn, as in a reactor."""
        due, self.clock.calls = self.clock.calls, []
        for call in due:
            call.called = 1
            call.func(*call.args)

    def drain(self) -> list[tuple[str, int]]:
        """Return what was told since this was last asked."""
        told = self.told[:]
        self.told.clear()
        return told

    def test_quiet(self) -> None:
        """A few handshakes take their steps at once, and leave no timer behind."""
        for connection in self.begin(STEPS):
            connection.step()
        self.assertEqual(self.drain(), [("step", number) for number in range(STEPS)])
        self.turn()
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_told_of_turns(self) -> None:
        """Who is told of turns asks for none while nobody waits; who waits has his before newcomers, of the same steps."""
        self.handshakes = HandshakeQueue(self.clock, hears_turns=True)
        connections = self.begin(3 * STEPS)
        for connection in connections[:STEPS]:
            connection.step()
        self.assertTrue(self.handshakes.has_stepped)
        self.handshakes.new_turn()
        self.assertFalse(self.handshakes.has_stepped)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        for connection in connections[: STEPS + 2]:
            connection.step()
        self.assertEqual(self.drain()[2 * STEPS :], [("park", STEPS), ("park", STEPS + 1)])
        self.turn()
        self.handshakes.new_turn()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        for connection in connections[STEPS + 2 : 2 * STEPS + 1]:
            connection.step()
        steps = [("step", number) for number in range(STEPS, 2 * STEPS)]
        self.assertEqual(self.drain(), [*steps, ("park", 2 * STEPS)])

    def test_turns(self) -> None:
        """What is more waits for the next turns of the reactor, in order, as many a turn."""
        for connection in self.begin(3 * STEPS):
            connection.step()
        self.drain()
        for turn in (1, 2):
            self.turn()
            self.assertEqual(self.drain(), [("step", turn * STEPS + number) for number in range(STEPS)])
        self.turn()
        self.assertEqual((self.drain(), self.clock.getDelayedCalls()), ([], []))

    def test_sent_together(self) -> None:
        """What the steps of one turn write is sent together, so they are taken in one batch."""
        batches: list[list[tuple[str, int]]] = []

        def in_batch(call: Callable[[], None]) -> None:
            self.drain()
            call()
            batches.append(self.drain())

        self.handshakes = HandshakeQueue(self.clock, in_batch)
        for connection in self.begin(2 * STEPS):
            connection.step()
        self.turn()
        self.turn()
        self.assertEqual(batches, [[("step", STEPS + number) for number in range(STEPS)]])

    def test_slow_steps(self) -> None:
        """Steps that take long, as with large keys, are taken one a turn; the next turn takes as many as ever."""

        class Slow(Connection):
            def step(self) -> None:
                super().step()
                clock.rightNow += STEPS_SECONDS

            def unpark(self) -> None:
                super().unpark()
                clock.rightNow += STEPS_SECONDS

        clock = self.clock
        for number in range(3):
            Slow(self.handshakes, self.told, number).step()
        self.assertEqual(self.drain(), [("step", 0), ("park", 1), ("park", 2)])
        for number in (1, 2):
            self.turn()
            self.assertEqual(self.drain(), [("step", number)])
        self.turn()
        for connection in self.begin(STEPS - 1):
            connection.step()
        self.assertEqual(self.drain(), [("step", number) for number in range(STEPS - 1)])

    def test_waiting_go_first(self) -> None:
        """A turn is for those who wait; a hello that comes in it waits behind them."""
        connections = self.begin(3 * STEPS)
        for connection in connections[:-1]:
            connection.step()
        self.turn()
        self.drain()
        connections[-1].step()
        self.assertEqual(self.drain(), [("park", 3 * STEPS - 1)])
        self.turn()
        self.assertEqual(self.drain()[-1], ("step", 3 * STEPS - 1))

    def test_gone_while_waiting(self) -> None:
        """Who is gone has no turn, and takes none from others."""
        connections = self.begin(2 * STEPS + 1)
        for connection in connections:
            connection.step()
        self.drain()
        self.handshakes.end(connections[STEPS])
        self.turn()
        self.assertEqual(self.drain(), [("step", STEPS + 1 + number) for number in range(STEPS)])

    def test_silent_longest_is_cut(self) -> None:
        """Above the bound, who was silent for longest is cut for the newest; one line tells."""
        self.patch(handshake_queue_module, "MAX_HANDSHAKES", 3)
        with capturedLogs() as events:
            connections = self.begin(3)
            self.handshakes.end(connections[0])
            self.begin(1)
            self.assertEqual(self.drain(), [])
            self.begin(2)
        self.assertEqual(self.drain(), [("cut", 1), ("cut", 2)])
        self.assertEqual([event["count"] for event in events], ["1 was"])
        self.assertEqual(repr(self.handshakes), "<Handshakes: 3 wait for their peers, 0 for their turn>")

    def test_who_waits_for_us_is_kept(self) -> None:
        """Who said hello and waits for a turn is not cut, however many come."""
        self.patch(handshake_queue_module, "MAX_HANDSHAKES", 2 * STEPS)
        connections = self.begin(2 * STEPS)
        for connection in connections:
            connection.step()
        self.drain()
        self.begin(STEPS + 1)
        self.assertEqual(self.drain(), [*(("cut", number) for number in range(STEPS)), ("cut", 0)])
        self.turn()
        self.assertEqual(self.drain(), [("step", STEPS + number) for number in range(STEPS)])

    def test_room(self) -> None:
        """While many wait for their turns nobody is accepted, until half of them had theirs."""
        self.patch(handshake_queue_module, "MAX_PARKED", 2 * STEPS)
        told: list[str] = []
        for connection in self.begin(3 * STEPS):
            self.assertTrue(self.handshakes.has_room(lambda: told.append("room")))
            connection.step()
        self.assertFalse(self.handshakes.has_room(lambda: told.append("room")))
        self.turn()
        self.assertEqual(told, [])
        self.turn()
        self.assertEqual(told, ["room"])
        self.turn()
        self.assertEqual(told, ["room"])

    def test_bug(self) -> None:
        """A handshake that raises is the only one that ends."""
        connections = self.begin(2 * STEPS)
        for connection in connections:
            connection.step()
        self.drain()

        def broken() -> None:
            raise RuntimeError("a bug")

        connections[STEPS].unpark = broken  # type: ignore[method-assign]
        self.turn()
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        expected = [("step", STEPS + number) for number in range(1, STEPS)]
        self.assertEqual(self.drain(), [("cut", STEPS), *expected])
