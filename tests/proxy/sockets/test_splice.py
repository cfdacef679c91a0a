"""Large bodies that the kernel moves from socket to socket."""

from __future__ import annotations

import contextlib
import os
import socket

from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.contract.transport import KernelCopy
from ingress.proxy.transport.epoll.pipes import Pipe, Pipes
from ingress.proxy.transport.epoll.splice import Splice
from tests.fakes.bodies import MEGABYTE, digest_of
from tests.fakes.peers.upstreams import OK, UpstreamWire
from tests.proxy.sockets import test_streaming as test_sockets_streaming
from tests.proxy.sockets.downstream import test_downstreams as test_sockets_downstreams
from tests.proxy.sockets.sockets_case import SocketsCase
from tests.proxy.sockets.upstream import test_upstreams as test_sockets_upstreams

SIZE = 8 * MEGABYTE


class SplicedDownloadTests(SocketsCase):
    """Answers that never come into the process."""

    use_epoll = True
    can_splice = True

    async def test_body(self) -> None:
        """A large body arrives whole, and nearly none of it passes through the process."""
        moved = 0
        splice = os.splice

        def counted(source: int, target: int, count: int, *, flags: int) -> int:
            nonlocal moved
            went = splice(source, target, count, flags=flags)
            moved += went
            return went

        self.patch(os, "splice", counted)
        self.upstream.on_request = lambda wire: wire.stream(SIZE, False)
        client = await self.connect()
        client.get()
        await self.whole(client)
        self.assertEqual((client.answers[0].size, client.answers[0].digest), (SIZE, digest_of(SIZE)))
        # Into a pipe, and out of it.
        self.assertGreater(moved, 2 * (SIZE - SIZE // 8))
        self.assertIn(b" 200 %d " % SIZE, await self.log_line())

    async def log_line(self) -> bytes:
        await self.until(lambda: self.lines)
        return self.lines[0]

    async def test_next_request(self) -> None:
        """What follows a spliced body belongs to the next answer, on both connections."""
        self.upstream.on_request = lambda wire: wire.stream(SIZE, False)
        client = await self.connect()
        for _ in range(2):
            client.get()
            await self.whole(client)
        self.upstream.on_request = lambda wire: wire.write(OK)
        client.get()
        await self.whole(client)
        self.assertEqual([answer.size for answer in client.answers], [SIZE, SIZE, 2])
        self.assertEqual(len(self.upstream.wires), 1)

    async def test_surplus(self) -> None:
        """What upstream says behind the length that it announced is nobody's answer, and its connection is not used again."""

        def too_much(wire: UpstreamWire) -> None:
            self.upstream.on_request = lambda wire: wire.write(OK)
            wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % SIZE + bytes(SIZE))
            wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nevil!")

        self.upstream.on_request = too_much
        client = await self.connect()
        client.get()
        client.get()
        await self.until(lambda: len(client.answers) == 2 and client.answers[1].whole)
        self.assertEqual([answer.size for answer in client.answers], [SIZE, 2])
        self.assertEqual(len(self.upstream.wires), 2)

    async def test_cut(self) -> None:
        """Downstream sees that a spliced body was cut short."""

        def cut(wire: UpstreamWire) -> None:
            wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % SIZE + bytes(MEGABYTE))
            wire.transport.loseConnection()

        self.upstream.on_request = cut
        client = await self.connect()
        client.get()
        await self.end_of(client)
        self.assertFalse(client.answers and client.answers[0].whole)

    async def test_reader_that_stopped(self) -> None:
        """A reader that takes nothing stops upstream, and gets the rest when it goes on."""
        producers = []
        self.upstream.on_request = lambda wire: producers.append(wire.stream(8 * SIZE, False))
        client = await self.connect()
        client.transport.pauseProducing()
        client.get()
        await self.until(lambda: producers and producers[0].is_paused)
        await self.turns(50)
        self.assertLess(producers[0].sent, 8 * SIZE)
        self.assertLess(self.queued(), MEGABYTE // 2)
        client.transport.resumeProducing()
        await self.whole(client)
        self.assertEqual(client.answers[0].digest, digest_of(8 * SIZE))


class SplicedUploadTests(test_sockets_streaming.UploadTests):
    """Request bodies of known length."""

    use_epoll = True
    can_splice = True


class SplicedVanishTests(test_sockets_downstreams.VanishTests):
    """Peers that go away while a body is spliced."""

    use_epoll = True
    can_splice = True


class SplicedCutTests(test_sockets_upstreams.CutTests):
    """Answers that are not what their heads say."""

    use_epoll = True
    can_splice = True


class _End:
    """One end of a splice: a socket, and what the splice told of it."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.is_sending = False
        self.failures: list[OSError | None] = []
        self.is_over = False

    def fileno(self) -> int:
        return self.sock.fileno()

    def update(self) -> None:
        """Nothing is to be asked of an epoll set here."""

    def splice_over(self, splice: Splice) -> None:
        self.is_over = True

    def splice_ended(self) -> None:
        """Never: these splices end with their count."""

    def splice_failed(self, problem: OSError | None) -> None:
        self.failures.append(problem)

    def send_failed(self, problem: OSError) -> None:
        self.failures.append(problem)


class SpliceTests(SynchronousTestCase):
    """``Splice``, between two pairs of sockets."""

    def setUp(self) -> None:
        self.writer, source = socket.socketpair()
        target, self.reader = socket.socketpair()
        for sock in (self.writer, source, target, self.reader):
            self.addCleanup(sock.close)
        self.source, self.target = _End(source), _End(target)
        self.moved: list[int] = []
        self.ended = 0
        self.taken: list[Pipe] = []
        self.pipes = Pipes()
        self.addCleanup(self.pipes.close)

    def splice(self, count: int) -> Splice:
        def end() -> None:
            self.ended += 1

        pipe = self.pipes.take()
        assert pipe is not None
        self.taken.append(pipe)
        copy = KernelCopy(None, count, self.moved.append, end)  # type: ignore[arg-type]
        splice = Splice(self.source, self.target, copy, pipe)
        self.addCleanup(splice.close)
        return splice

    def fill(self, splice: Splice) -> None:
        """Bring more than the target takes."""
        self.writer.setblocking(False)
        piece = os.urandom(1 << 16)
        for _ in range(200):
            with contextlib.suppress(BlockingIOError):
                self.writer.send(piece)
            splice.pump()

    def test_exactly(self) -> None:
        """Exactly the bytes asked for are moved; what follows stays where it is."""
        splice = self.splice(5)
        self.writer.send(b"hello, and more")
        splice.pump()
        self.assertEqual(self.reader.recv(100), b"hello")
        self.assertEqual(self.source.sock.recv(100), b", and more")
        self.assertEqual((sum(self.moved), self.ended, self.source.is_over), (5, 1, True))

    def test_pieces(self) -> None:
        """A body that comes in pieces is moved piece by piece, and asks to read in between."""
        splice = self.splice(6)
        splice.pump()
        self.assertTrue(splice.wants_read)
        for piece in (b"abc", b"def"):
            self.writer.send(piece)
            splice.pump()
            self.assertEqual(self.reader.recv(100), piece)
        self.assertEqual(self.ended, 1)

    def test_own_bytes_first(self) -> None:
        """Nothing is moved while bytes of the process itself still wait."""
        splice = self.splice(3)
        self.writer.send(b"abc")
        self.target.is_sending = True
        splice.pump()
        self.reader.setblocking(False)
        self.assertRaises(BlockingIOError, self.reader.recv, 10)
        self.target.is_sending = False
        splice.pump()
        self.assertEqual(self.reader.recv(10), b"abc")

    def test_full_target(self) -> None:
        """A target that takes no more makes it wait for the target, and not read on."""
        splice = self.splice(1 << 24)
        self.fill(splice)
        self.assertTrue(splice.wants_write)
        self.assertFalse(splice.wants_read)

    def test_early_end(self) -> None:
        """A source that ends too soon is told to be at fault."""
        splice = self.splice(10)
        self.writer.close()
        splice.pump()
        self.assertEqual((self.source.failures, self.target.failures, self.ended), ([None], [], 0))

    def test_lost_target(self) -> None:
        """A target that is gone is told to be at fault."""
        splice = self.splice(10)
        self.reader.close()
        self.writer.send(b"abc")
        splice.pump()
        self.assertEqual((self.source.failures, len(self.target.failures)), ([], 1))
        self.assertTrue(splice.is_over)

    def test_pipes_are_used_again(self) -> None:
        """A pipe serves the next splice, but not one that was left with something in it."""
        first = self.splice(1)
        self.writer.send(b"a")
        first.pump()
        second = self.splice(1 << 24)
        self.assertEqual(self.reader.recv(10), b"a")
        self.assertIs(self.taken[0], self.taken[1])
        self.fill(second)
        second.close()
        for sock in (self.source.sock, self.reader):
            sock.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while sock.recv(1 << 20):
                    pass
        third = self.splice(1)
        self.assertIsNot(self.taken[1], self.taken[2])
        self.writer.send(b"c")
        third.pump()
        self.assertEqual(self.reader.recv(10), b"c")
