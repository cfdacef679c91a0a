"""The outgoing side of a connection by itself: what waits, whose turn it is, and what is acknowledged."""

from __future__ import annotations

from attrs import define, field
from twisted.trial.unittest import SynchronousTestCase

from ingress.http2.budget import Budget
from ingress.http2.faults import ConnectionFault, ErrorCode
from ingress.http2.frames import FRAME_BYTES
from ingress.http2.outgoing import MAX_SURPLUS, MOST_PUMPED, Outgoing


@define(eq=False)
class Body:
    """A body of *left* bytes on a stream that has a large window."""

    name: str
    left: int
    outgoing: Outgoing
    told: list[str] = field(factory=list)
    window: int = 1 << 20
    local_ended: bool = False

    @property
    def is_blocked(self) -> bool:
        """Whether something of it waits."""
        return self.left > 0

    def flow(self, most: int) -> int:
        """Send some of it."""
        count = min(most, self.left, self.outgoing.window)
        self.left -= count
        self.outgoing.window -= count
        self.outgoing.write(self.name.encode() * count)
        return count

    def drained(self) -> None:
        """Note that all was sent."""
        self.told.append(self.name)

    def leave_turns(self) -> None:
        """Note that it is not to wait for what comes by itself."""
        self.told.append(f"{self.name} left {self.left}")


class OutgoingTests(SynchronousTestCase):
    """What is sent, and in which order."""

    def setUp(self) -> None:
        self.sent: list[bytes] = []
        self.outgoing = Outgoing(Budget(lambda: 0.0), most_untaken=2 * MAX_SURPLUS)
        self.outgoing.write = self.sent.append

    def body(self, name: str, size: int) -> Body:
        """Have a body wait."""
        body = Body(name, size, self.outgoing)
        self.outgoing.blocked[body] = None
        return body

    def test_turns(self) -> None:
        """Streams send a frame each by turns, and who has sent all is told so."""
        first, second = self.body("a", 2 * FRAME_BYTES), self.body("b", FRAME_BYTES)
        self.outgoing.pump()
        self.assertEqual([each[:1] for each in self.sent], [b"a", b"b", b"a"])
        self.assertEqual((first.told, second.told, self.outgoing.blocked), (["a"], ["b"], {}))

    def test_much(self) -> None:
        """When much was sent in one go, whoever is next is told to wait no more for what need not, and what must goes on."""
        body = self.body("a", MOST_PUMPED + FRAME_BYTES)
        self.outgoing.window = 2 * MOST_PUMPED
        self.outgoing.pump()
        self.assertEqual(body.told, [f"a left {FRAME_BYTES}", "a"])

    def test_window(self) -> None:
        """What exceeds the window of the connection goes on waiting, and whoever waits first is next."""
        first, second = self.body("a", 2 * FRAME_BYTES), self.body("b", FRAME_BYTES)
        self.outgoing.window = FRAME_BYTES
        self.outgoing.pump()
        self.assertEqual((first.left, second.left), (FRAME_BYTES, FRAME_BYTES))
        self.outgoing.window = FRAME_BYTES
        self.outgoing.pump()
        self.assertEqual((first.left, second.left), (FRAME_BYTES, 0))

    def test_full(self) -> None:
        """While the transport is full bodies wait, and what cannot wait is counted; ``send_on`` lets all go on."""
        body = self.body("a", 10)
        self.outgoing.is_full = True
        self.outgoing.pump()
        self.outgoing.send_at_once(bytes(MAX_SURPLUS + 1))
        self.assertTrue(self.outgoing.is_overfull)
        self.assertEqual(body.left, 10)
        self.outgoing.send_on()
        self.assertFalse(self.outgoing.is_overfull)
        self.assertEqual(body.left, 0)

    def test_acknowledged(self) -> None:
        """Acknowledgements that a full transport keeps are at fault at some point; frames of our own never are."""
        self.outgoing.is_full = True
        self.outgoing.send_at_once(bytes(2 * MAX_SURPLUS))
        with self.assertRaises(ConnectionFault) as caught:
            self.outgoing.acknowledge(bytes(1))
        self.assertEqual(caught.exception.code, ErrorCode.ENHANCE_YOUR_CALM)

    def test_acknowledged_in_time(self) -> None:
        """A peer that takes what it asked for may ask on without end."""
        for _ in range(5):
            self.outgoing.is_full = True
            self.outgoing.acknowledge(bytes(2 * MAX_SURPLUS))
            self.outgoing.send_on()
        self.assertEqual(self.outgoing.surplus, 0)

    def test_table_update(self) -> None:
        """A change of the table's size is said once, before the next field block."""
        self.outgoing.table_update = b"\x20"
        self.assertEqual(
            [self.outgoing.with_table_update(b"x"), self.outgoing.with_table_update(b"y")], [b"\x20x", b"y"]
        )

    def test_forgotten(self) -> None:
        """Of a connection that is gone nothing waits."""
        self.body("a", 10)
        self.outgoing.waiting = 10
        self.outgoing.forget_all()
        self.outgoing.pump()
        self.assertEqual((self.outgoing.waiting, self.sent), (0, []))
