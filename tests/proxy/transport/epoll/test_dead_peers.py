"""Peers of the epoll set that broke off while nobody reads what they said before."""

from __future__ import annotations

import select
import socket
import struct
from typing import Any, cast

from ingress.proxy.contract.transport import KernelCopy
from tests.proxy.transport.epoll.test_epoll_set import BatchCase
from tests.proxy.transport.recorder import Recorder

PIECE = bytes(1 << 16)
MANY = 1 << 40


def reset(sock: socket.socket) -> None:
    """Break a connection off."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


class DeadPeerTests(BatchCase):
    """Who is gone is noticed, once."""

    def work(self, turns: int = 100) -> int:
        """Let the epoll set work while it has something to do; return how many turns it took."""
        for turn in range(turns):
            if not select.select([self.epoll_set], [], [], 0.02)[0]:
                return turn
            self.epoll_set.doRead()
        return turns

    def test_unread_requests(self) -> None:
        """A client that broke off is gone, also with requests of it unread: nobody could be answered."""
        client = Recorder()
        transport, far = self.connect(client)
        transport.pauseProducing()
        far.send(b"one more")
        reset(far)
        self.work()
        self.assertEqual(len(client.lost), 1)

    def test_unread_requests_at_a_write(self) -> None:
        """So it is when that is found out by an answer."""
        client = Recorder()
        transport, far = self.connect(client)
        transport.pauseProducing()
        far.send(b"one more")
        reset(far)
        transport.write(b"an answer")
        self.reactor.advance(0)
        self.work()
        self.assertEqual(len(client.lost), 1)

    def test_source_of_a_splice(self) -> None:
        """A source that broke off keeps the epoll set from its rest only while the target takes something."""
        source, far_source = self.connect(Recorder())
        target, far_target = self.connect(Recorder())
        self.assertTrue(
            target.splice_from(KernelCopy(cast(Any, source), MANY, lambda count: None, self.fail))
        )
        self.reactor.advance(0)
        far_source.setblocking(False)
        for _ in range(10_000):
            try:
                far_source.send(PIECE)
            except BlockingIOError:
                if not self.work():
                    break
            self.work()
        reset(far_source)
        self.assertLess(self.work(), 100)
        # What is left of it goes, and then it is over.
        while far_target.recv(1 << 20, socket.MSG_DONTWAIT):
            self.work()
            if source.is_over:
                break
        self.assertTrue(source.is_over)
