"""What channel and upstream connection rely on in a transport, as tests that every transport passes.

``TransportContract`` is mixed into a case that can ``open`` a connection and has its far end; what it is made of is not known here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from twisted.internet.error import ConnectionDone
from twisted.trial.unittest import TestCase

from ingress.proxy.contract.addresses import peer_address, port_of
from ingress.proxy.contract.transport import KernelCopy
from tests.proxy.transport.recorder import MEGABYTE, FarEnd, HalfRecorder, Recorder, Taken

if TYPE_CHECKING:
    _Case = TestCase
else:
    # Not a case by itself: trial must not run what cannot open a connection.
    _Case = object


class TransportContract(_Case):
    """What is the same with all transports."""

    timeout = 30
    has_half_close = True
    drops_unmade = True
    """Whether a connection whose ``makeConnection`` raised is dropped; Twisted's ports leave it open."""

    notices_while_paused = True
    """Whether a reset is noticed by who neither reads nor writes; no reactor tells Twisted's transports."""
    pauses_at_a_mark = True
    """Whether a producer is paused only when much waits; Twisted's TLS does so for each record on its way."""
    tells_handshake = False
    """Whether it is TLS that was accepted."""
    splices = False
    """Whether the kernel can move what comes to another one of its kind."""
    copies = False
    """Whether what comes can go into memory of who takes it."""
    lends = False
    """Whether much that came is lent to a receiver that borrows."""
    keeps_last_words = True
    """Whether what the peer said before a reset is read although a write has failed."""

    async def open(self, protocol: Recorder) -> FarEnd:
        """Connect *protocol* and return the far end, once both sides are there."""
        raise NotImplementedError

    async def until(self, condition: Callable[[], object]) -> None:
        """Let time go by until *condition* holds; a test that waits in vain fails."""
        raise NotImplementedError

    async def turns(self) -> None:
        """Let everything happen that can happen by itself."""
        raise NotImplementedError

    async def read_until(self, far: FarEnd, condition: Callable[[], object]) -> None:
        """Read at the far end until *condition* holds."""

        def reads() -> object:
            far.read()
            return condition()

        await self.until(reads)

    async def fill(self, protocol: Recorder) -> int:
        """Write until the producer is paused; return how much that was."""
        size = 0
        while protocol.flow[-1:] != ["pause"]:
            protocol.call("write", bytes(32 * 1024))
            size += 32 * 1024
            self.assertLess(size, 64 * MEGABYTE, "a producer that nobody pauses")
            if not size % MEGABYTE:
                await self.turns()
        return size

    async def test_order(self) -> None:
        """What is written arrives in order, whatever the sizes and however late it is read."""
        protocol = Recorder()
        far = await self.open(protocol)
        pieces = [bytes([number % 251]) * (number * number * 7 % 30011) for number in range(300)]
        for piece in pieces:
            protocol.call("write", piece)
        expected = b"".join(pieces)
        await self.read_until(far, lambda: len(far.received) >= len(expected))
        self.assertEqual(hashlib.sha256(far.received).digest(), hashlib.sha256(expected).digest())

    async def test_small_pieces(self) -> None:
        """So do many small pieces that have to wait."""
        protocol = Recorder()
        far = await self.open(protocol)
        expected = bytes(await self.fill(protocol))
        for number in range(2000):
            piece = bytes([number % 251]) * (number * number % 1301 if number % 3 else 1)
            protocol.call("write", piece)
            expected += piece
            if not number % 500:
                far.read()
                await self.turns()
        await self.read_until(far, lambda: len(far.received) >= len(expected))
        self.assertEqual(hashlib.sha256(far.received).digest(), hashlib.sha256(expected).digest())

    async def test_large_write(self) -> None:
        """One write of many megabytes arrives whole, and what is written then behind it."""
        protocol = Recorder()
        far = await self.open(protocol)
        large = hashlib.shake_128(b"").digest(8 * MEGABYTE)
        protocol.call("write", large)
        protocol.call("write", b"end")
        await self.read_until(far, lambda: len(far.received) >= len(large) + 3)
        self.assertEqual(hashlib.sha256(far.received).digest(), hashlib.sha256(large + b"end").digest())

    async def test_write_at_once(self) -> None:
        """What is written out of memory that is used again arrives as it was, in order with all else, however late it is read."""
        protocol = Recorder()
        far = await self.open(protocol)
        memory = bytearray(96 * 1024)
        expected = hashlib.sha256()
        size = 0
        for number in range(200):
            count = 1 + number * number * 7919 % len(memory)
            memory[:] = bytes([number % 251]) * len(memory)
            protocol.call("write_at_once", memoryview(memory)[:count])
            behind = b"%d" % number
            protocol.call("write", behind)
            expected.update(bytes(memory[:count]) + behind)
            size += count + len(behind)
            if not number % 50:
                await self.turns()
        self.assertGreater(protocol.transport.queued, 0)
        await self.read_until(far, lambda: len(far.received) >= size)
        self.assertEqual(hashlib.sha256(far.received).digest(), expected.digest())
        self.assertEqual(protocol.transport.queued, 0)

    async def test_both_ways(self) -> None:
        """Bytes go both ways at once."""
        protocol = Recorder()
        protocol.echoes = True
        far = await self.open(protocol)
        said = b"".join(b"%06d " % number for number in range(40_000))
        far.say(said)
        await self.read_until(far, lambda: len(far.received) >= len(said))
        self.assertEqual((protocol.received == said, far.received == said), (True, True))

    async def test_back_pressure(self) -> None:
        """A producer is paused when too much waits, once, and resumed when the peer has taken it."""
        protocol = Recorder()
        far = await self.open(protocol)
        size = await self.fill(protocol)
        await self.turns()
        while self.pauses_at_a_mark and protocol.flow[-1] == "resume":
            # The kernel has found room for more meanwhile, though nobody has read.
            size += await self.fill(protocol)
            await self.turns()
        before = list(protocol.flow)
        await self.read_until(far, lambda: len(far.received) == size)
        await self.until(lambda: protocol.flow[-1] == "resume")
        await self.turns()
        if self.pauses_at_a_mark:
            self.assertEqual(protocol.flow, [*before, "resume"])
        self.assertEqual(protocol.flow, ["pause", "resume"] * (len(protocol.flow) // 2))

    async def test_no_pause_below_the_mark(self) -> None:
        """What the peer takes at once pauses nobody."""
        protocol = Recorder()
        far = await self.open(protocol)
        for number in range(1, 21):
            protocol.call("write", bytes(20_000))
            await self.read_until(far, lambda wanted=number: len(far.received) == wanted * 20_000)  # type: ignore[misc]
        if self.pauses_at_a_mark:
            self.assertEqual(protocol.flow, [])
        else:
            self.assertNotEqual(protocol.flow[-1:], ["pause"])

    async def test_pause_reading(self) -> None:
        """Who reads nothing for a while is told nothing, and all of it later."""
        protocol = Recorder()
        far = await self.open(protocol)
        protocol.call("pauseProducing")
        far.say(b"first")
        await self.turns()
        self.assertEqual(protocol.pieces, [])
        protocol.call("resumeProducing")
        await self.until(lambda: protocol.received == b"first")
        protocol.call("pauseProducing")
        protocol.call("resumeProducing")
        far.say(b"second")
        await self.until(lambda: protocol.received == b"firstsecond")

    async def test_pause_in_the_middle(self) -> None:
        """Who pauses while told something is told nothing more, even of what was received already."""
        protocol = Recorder()
        protocol.on_data = lambda: protocol.call("pauseProducing")
        far = await self.open(protocol)
        said = b"".join(b"%06d " % number for number in range(100_000))
        far.say(said)
        for _ in range(1000):
            await self.until(lambda: protocol.pieces)
            known = protocol.received
            await self.turns()
            self.assertEqual(len(protocol.received), len(known))
            if len(known) == len(said):
                break
            count = len(protocol.pieces)
            protocol.call("resumeProducing")
            await self.until(lambda before=count: len(protocol.pieces) > before)  # type: ignore[misc]
        self.assertEqual(protocol.received, said)

    async def test_close_flushes(self) -> None:
        """A close comes behind everything that was written, and looks like a regular one."""
        protocol = Recorder()
        far = await self.open(protocol)
        protocol.call("write", bytes(4 * MEGABYTE))
        protocol.call("loseConnection")
        await self.read_until(far, lambda: far.saw_end or far.saw_reset)
        self.assertEqual((len(far.received), far.saw_end, far.saw_reset), (4 * MEGABYTE, True, False))
        far.finish()
        await self.until(lambda: protocol.lost)
        self.assertIsInstance(protocol.lost[0], ConnectionDone)

    async def test_abort(self) -> None:
        """An abort resets the connection, and what still waited is lost."""
        protocol = Recorder()
        far = await self.open(protocol)
        size = await self.fill(protocol)
        protocol.call("abortConnection")
        await self.read_until(far, lambda: far.saw_reset)
        self.assertLess(len(far.received), size)
        await self.until(lambda: protocol.lost)
        self.assertNotIsInstance(protocol.lost[0], ConnectionDone)

    async def test_one_end(self) -> None:
        """The end is told once, and never from inside of a call."""
        for calls in (
            ("loseConnection", "loseConnection", "abortConnection"),
            ("abortConnection", "abortConnection", "loseConnection"),
            ("loseConnection",),
            ("loseWriteConnection", "loseConnection"),
        ):
            protocol = Recorder()
            far = await self.open(protocol)
            for method in calls:
                protocol.call(method)
            protocol.call("write", b"late")
            far.finish()
            await self.read_until(far, lambda each=protocol: each.lost)  # type: ignore[misc]
            for method in (
                "loseConnection",
                "loseWriteConnection",
                "abortConnection",
                "pauseProducing",
                "resumeProducing",
            ):
                protocol.call(method)
            protocol.call("write", b"later")
            await self.turns()
            self.assertEqual((len(protocol.lost), protocol.lost_inside), (1, False), calls)

    async def test_write_to_nobody(self) -> None:
        """Writing to a peer that is gone ends the connection, but not inside of the call."""
        protocol = Recorder()
        far = await self.open(protocol)
        far.reset()
        for _ in range(200):
            protocol.call("write", b"anybody there?")
            if protocol.lost:
                break
            await self.turns()
        self.assertEqual((len(protocol.lost), protocol.lost_inside), (1, False))
        self.assertNotIsInstance(protocol.lost[0], ConnectionDone)

    async def test_peer_ends(self) -> None:
        """The peer's end is the end of a protocol that knows no half-close."""
        protocol = Recorder()
        far = await self.open(protocol)
        far.say(b"bye")
        far.finish()
        await self.read_until(far, lambda: protocol.lost)
        self.assertEqual((protocol.received, len(protocol.lost)), (b"bye", 1))
        self.assertIsInstance(protocol.lost[0], ConnectionDone)

    async def test_reset_by_peer(self) -> None:
        """A reset is told, and is not taken for a regular end."""
        protocol = HalfRecorder()
        far = await self.open(protocol)
        far.reset()
        await self.until(lambda: protocol.lost)
        self.assertNotIsInstance(protocol.lost[0], ConnectionDone)

    async def test_vanishes_while_paused(self) -> None:
        """A peer that is gone is noticed by who reads nothing, at the latest when it reads again."""
        protocol = HalfRecorder()
        far = await self.open(protocol)
        await self.turns()
        protocol.call("pauseProducing")
        await self.turns()
        far.reset()
        if not self.notices_while_paused:
            protocol.call("resumeProducing")
        await self.until(lambda: protocol.lost)
        self.assertEqual(len(protocol.lost), 1)

    async def test_vanishes_while_full(self) -> None:
        """A peer that is gone is noticed by who waits for it to take more."""
        protocol = HalfRecorder()
        far = await self.open(protocol)
        await self.turns()
        protocol.call("pauseProducing")
        protocol.call("write", bytes(32 * MEGABYTE))
        await self.turns()
        far.reset()
        await self.until(lambda: protocol.lost)
        self.assertEqual(len(protocol.lost), 1)

    async def test_vanishes_after_words(self) -> None:
        """Who pauses and goes on reads the last words of a peer that is gone, or hears of its end."""
        protocol = HalfRecorder()
        far = await self.open(protocol)
        protocol.call("pauseProducing")
        far.say(b"last words")
        await self.turns()
        far.reset()
        await self.turns()
        protocol.call("resumeProducing")
        await self.until(lambda: protocol.lost)
        await self.turns()
        self.assertEqual(len(protocol.lost), 1)
        self.assertIn(protocol.received, (b"", b"last words"))

    async def test_last_words(self) -> None:
        """An answer that came before a reset is read, although writing has failed already; no regular end follows."""
        protocol = HalfRecorder()
        far = await self.open(protocol)
        far.say(b"early answer")
        far.reset()
        protocol.call("write", b"the rest of a request")
        protocol.call("write", b"and more of it")
        await self.until(lambda: protocol.lost)
        self.assertEqual((len(protocol.lost), protocol.lost_inside, protocol.read_lost), (1, False, 0))
        self.assertNotIsInstance(protocol.lost[0], ConnectionDone)
        if self.keeps_last_words:
            self.assertEqual(protocol.received, b"early answer")

    async def test_half_close_by_peer(self) -> None:
        """A protocol that knows half-close goes on sending when the peer has ended its side."""
        if not self.has_half_close:
            return
        protocol = HalfRecorder()
        far = await self.open(protocol)
        far.say(b"question")
        far.finish()
        await self.until(lambda: protocol.read_lost)
        await self.turns()
        self.assertEqual((protocol.received, protocol.read_lost, protocol.lost), (b"question", 1, []))
        protocol.call("write", bytes(MEGABYTE))
        protocol.call("loseConnection")
        await self.read_until(far, lambda: far.saw_end)
        self.assertEqual(len(far.received), MEGABYTE)
        await self.until(lambda: protocol.lost)
        self.assertEqual((len(protocol.lost), protocol.read_lost), (1, 1))

    async def test_half_close_by_us(self) -> None:
        """Who ends its own side, behind what was written, still hears the peer."""
        protocol = HalfRecorder()
        far = await self.open(protocol)
        protocol.call("write", bytes(4 * MEGABYTE))
        protocol.call("loseWriteConnection")
        protocol.call("write", b"late")
        protocol.call("loseWriteConnection")
        await self.read_until(far, lambda: far.saw_end)
        self.assertEqual(len(far.received), 4 * MEGABYTE)
        far.say(b"answer")
        await self.until(lambda: protocol.received == b"answer")
        self.assertEqual(protocol.lost, [])
        far.finish()
        await self.until(lambda: protocol.read_lost or protocol.lost)
        protocol.call("loseConnection")
        await self.until(lambda: protocol.lost)
        self.assertEqual(len(protocol.lost), 1)

    async def test_addresses(self) -> None:
        """Both addresses are known, to a protocol that was just made, too."""
        protocol = Recorder()
        far = await self.open(protocol)
        peer, host = protocol.transport.getPeer(), protocol.transport.getHost()
        self.assertEqual((peer_address(peer).decode(), port_of(peer)), far.address)
        self.assertEqual(type(peer), type(host))
        self.assertTrue(port_of(host))

    async def test_options(self) -> None:
        """Options of the socket can be set, and are no error on one that is lost."""
        protocol = Recorder()
        far = await self.open(protocol)
        protocol.call("setTcpNoDelay", True)
        protocol.call("setTcpKeepAlive", True)
        far.finish()
        await self.read_until(far, lambda: protocol.lost)

    # What is asked of it besides

    async def test_what_has_come(self) -> None:
        """Who reads nothing can ask whether something has come, and whether the peer has ended its side."""
        protocol = HalfRecorder()
        far = await self.open(protocol)
        await self.turns()
        protocol.call("pauseProducing")
        transport = protocol.transport
        self.assertEqual((transport.is_quiet, transport.has_left, transport.is_held_up), (True, False, False))
        self.assertEqual(transport.has_said_nothing, transport.tls is None)
        far.say(b"something")
        await self.until(lambda: not transport.is_quiet)
        self.assertEqual((transport.has_said_nothing, transport.has_left), (False, False))
        far.finish()
        await self.until(lambda: transport.has_left)
        self.assertEqual((protocol.pieces, protocol.read_lost, protocol.lost), ([], 0, []))
        protocol.call("abortConnection")
        await self.until(lambda: protocol.lost)
        self.assertEqual((transport.unsent, transport.is_held_up), (0, False))

    async def test_unsent(self) -> None:
        """What waits for the peer is a number that falls as it is taken, and 0 once all is."""
        protocol = Recorder()
        far = await self.open(protocol)
        self.assertEqual(protocol.transport.unsent, 0)
        size = await self.fill(protocol)
        before = protocol.transport.unsent
        self.assertGreater(before, 0)
        await self.read_until(far, lambda: len(far.received) == size)
        await self.until(lambda: not protocol.transport.unsent)

    async def test_another_receiver(self) -> None:
        """Who takes a connection over is told what happens from then on, and who had it nothing more."""
        protocol, following = Recorder(), HalfRecorder()
        far = await self.open(protocol)
        far.say(b"one")
        await self.until(lambda: protocol.received == b"one")
        protocol.transport.deliver_to(following)
        following.makeConnection(protocol.transport)
        far.say(b"two")
        await self.until(lambda: following.received == b"two")
        await self.fill(following)
        far.finish()
        if self.has_half_close:
            await self.until(lambda: following.read_lost)
        following.call("abortConnection")
        await self.until(lambda: following.lost)
        self.assertEqual((protocol.received, protocol.flow, protocol.lost), (b"one", [], []))
        protocol.lost = following.lost

    async def test_handshake(self) -> None:
        """The end of a handshake is told where it is ours to accept, with OpenSSL's side of it."""
        protocol = Recorder()
        await self.open(protocol)
        if self.tells_handshake:
            await self.until(lambda: protocol.shaken)
            self.assertIsNotNone(protocol.transport.tls)
        self.assertEqual(protocol.shaken, int(self.tells_handshake))

    async def test_batch(self) -> None:
        """What is called in a batch is called once, and what it wrote is on its way afterwards."""
        protocol = Recorder()
        far = await self.open(protocol)
        calls: list[int] = []

        def say() -> None:
            calls.append(1)
            protocol.transport.write(b"one ")
            protocol.transport.write(b"two")

        protocol.call("gather_writes")
        protocol.call("call_in_batch", say)
        self.assertEqual(calls, [1])
        await self.read_until(far, lambda: far.received == b"one two")

    async def test_lend(self) -> None:
        """Who borrows is told of everything in order, be it lent or not; who takes over from it gets no memory of others."""
        first, second = Recorder(), Recorder()
        far = await self.open(first)
        first.call("lend_to", first)
        said = b"".join(b"%07d " % number for number in range(MEGABYTE // 8))
        far.say(said)
        await self.until(lambda: len(first.received) == len(said))
        self.assertEqual(first.received, said)
        self.assertEqual(first.borrowed > 0, self.lends)
        first.call("deliver_to", second)
        far.say(said)
        await self.until(lambda: len(second.received) == len(said))
        self.assertEqual((second.received, second.borrowed), (said, 0))
        first.call("deliver_to", first)

    async def test_no_copy_from_itself(self) -> None:
        """What the kernel cannot move is left alone, and goes on as ever."""
        protocol, other = Recorder(), Recorder()
        far = await self.open(protocol)
        if not self.splices:
            await self.open(other)
            copy = KernelCopy(other.transport, MEGABYTE, lambda count: None, lambda: None)
            self.assertFalse(protocol.transport.splice_from(copy))
            other.call("abortConnection")
        protocol.call("write", b"as ever")
        await self.read_until(far, lambda: far.received == b"as ever")

    async def test_copy(self) -> None:
        """Where what comes can go into another's memory, exactly what was asked for does, and none while reading is paused."""
        protocol, taken = Recorder(), Taken()
        far = await self.open(protocol)
        moved: list[int] = []
        copy = KernelCopy(protocol.transport, MEGABYTE, moved.append, lambda: taken.ends.append(sum(moved)))
        copying = protocol.transport.copy_into(copy, taken)
        self.assertEqual(copying is not None, self.copies)
        said = b"".join(b"%07d " % number for number in range(MEGABYTE // 8 + 100))
        if copying is None:
            far.say(said)
            await self.until(lambda: len(protocol.received) == len(said))
            return
        protocol.call("pauseProducing")
        far.say(said)
        await self.until(lambda: not protocol.transport.is_quiet)
        await self.turns()
        self.assertEqual((bytes(taken.received), copying.move(7), copying.left), (b"", 7, MEGABYTE - 7))
        protocol.call("resumeProducing")
        await self.until(lambda: len(taken.received + protocol.received) == len(said))
        self.assertEqual((bytes(taken.received), protocol.received), (said[:MEGABYTE], said[MEGABYTE:]))
        self.assertEqual((taken.ends, copying.left, copying.move(7)), ([MEGABYTE], 0, 0))

    async def test_copy_broken_off(self) -> None:
        """A copy that is closed leaves the rest to whoever received before, and one whose source ends is over."""
        if not self.copies:
            return
        for ends in (False, True):
            protocol, taken = Recorder(), Taken()
            far = await self.open(protocol)
            copy = KernelCopy(protocol.transport, MEGABYTE, lambda count: None, lambda: taken.ends.append(0))  # noqa: B023
            copying = protocol.transport.copy_into(copy, taken)
            assert copying is not None
            far.say(b"one")
            await self.until(lambda each=taken: each.received == b"one")  # type: ignore[misc]
            if ends:
                far.finish()
                await self.until(lambda each=protocol: each.lost)  # type: ignore[misc]
            else:
                copying.close()
                far.say(b"two")
                await self.until(lambda each=protocol: each.received == b"two")  # type: ignore[misc]
            self.assertEqual((taken.ends, copying.move(7)), ([], 0))

    # Faults

    async def test_faults(self) -> None:
        """A callback that raises costs its own connection, and no other."""
        neighbor = HalfRecorder()
        neighbor.echoes = True
        near = await self.open(neighbor)
        for fault in (
            "dataReceived",
            "connectionLost",
            "pauseProducing",
            "resumeProducing",
            *(("readConnectionLost",) if self.has_half_close else ()),
            *(("makeConnection",) if self.drops_unmade else ()),
        ):
            protocol = HalfRecorder()
            protocol.fault = fault
            far = await self.open(protocol)
            await self.provoke(fault, protocol, far)
            await self.read_until(far, lambda each=far: each.saw_end or each.saw_reset)  # type: ignore[misc]
            await self.turns()
            self.assertEqual(len(protocol.lost), 1, fault)
            self.assertGreaterEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1, fault)
            before = len(near.received)
            near.say(b"still there?")
            await self.read_until(near, lambda there=before: len(near.received) == there + 12)  # type: ignore[misc]
        self.assertEqual(neighbor.lost, [])
        newcomer = HalfRecorder()
        newcomer.echoes = True
        fresh = await self.open(newcomer)
        fresh.say(b"hello")
        await self.read_until(fresh, lambda: fresh.received == b"hello")

    async def provoke(self, fault: str, protocol: Recorder, far: FarEnd) -> None:
        """Bring about the callback that raises."""
        if fault == "dataReceived":
            far.say(b"x")
        elif fault in ("connectionLost", "readConnectionLost"):
            if fault == "connectionLost":
                protocol.call("loseConnection")
            far.finish()
        elif fault == "pauseProducing":
            protocol.on_data = lambda: protocol.call("write", bytes(32 * MEGABYTE))
            far.say(b"x")
            await self.until(lambda: protocol.flow)
        elif fault == "resumeProducing":
            await self.fill(protocol)
            await self.read_until(far, lambda: "resume" in protocol.flow)
