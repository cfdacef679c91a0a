"""Connections of a takeover, with what nobody should send."""

import os
import socket
from typing import Any

from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase

from ingress.takeover.messages import Message, Word, encoded
from ingress.takeover.wire import Door, Wire


class WireTests(SynchronousTestCase):
    """``Wire``, with the test at the other end."""

    def setUp(self) -> None:
        ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(self.theirs.close)
        self.heard: list[tuple[Message, Any]] = []
        self.misread: list[str] = []
        self.wire = Wire(
            MemoryReactorClock(),
            ours,
            lambda message, sockets: self.heard.append((message, sockets)),
            self.misread.append,
            lambda: None,
        )
        self.addCleanup(self.wire.close)

    def test_no_socket(self) -> None:
        """Descriptors that are no sockets are no part of a takeover; they are closed, and so are sockets beside them."""
        before = len(os.listdir("/dev/fd"))
        nothing = os.open(os.devnull, os.O_RDONLY)
        self.addCleanup(os.close, nothing)
        given = [self.theirs.fileno(), nothing, nothing]
        socket.send_fds(self.theirs, [encoded(Message(Word.SOCKETS, names=("a", "b", "c")))], given)
        self.wire.doRead()
        self.assertEqual(self.heard, [])
        self.assertEqual(self.misread, ["what came with its message is no socket"])
        self.assertEqual(len(os.listdir("/dev/fd")), before + 1)


class DoorTests(SynchronousTestCase):
    """``Door``, where no descriptor is left."""

    def test_no_room(self) -> None:
        """It looks again after a second, and not at once and again, and takes who waits then."""

        class Full:
            """A socket at which somebody waits."""

            def __init__(self) -> None:
                self.is_full = True

            def setblocking(self, blocks: bool) -> None:
                """Nothing blocks here."""

            def accept(self) -> tuple[str, str]:
                if self.is_full:
                    raise OSError(24, os.strerror(24))
                return "visitor", ""

            def close(self) -> None:
                """Nothing is left open."""

        reactor, full = MemoryReactorClock(), Full()
        came: list[object] = []
        untyped: Any = full
        door = Door(reactor, untyped, came.append)
        door.doRead()
        self.assertEqual(reactor.getReaders(), [])
        full.is_full = False
        reactor.advance(1.0)
        self.assertEqual(reactor.getReaders(), [door])
        door.doRead()
        self.assertEqual(came, ["visitor"])
        door.close()
        self.assertEqual(reactor.getReaders(), [])
