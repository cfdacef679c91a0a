"""Tests for listeners on UNIX sockets: whose name a path is."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from twisted.internet import reactor as real_reactor  # noqa: TID251 - real sockets need the real reactor
from twisted.internet.protocol import Factory, Protocol
from twisted.trial.unittest import TestCase

from ingress.errors import StartError
from ingress.proxy.listening.listeners import listen


class PathTests(TestCase):
    """``unix:``."""

    def setUp(self) -> None:
        # The name of a socket is short, and that of a test's directory is not.
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "a.sock"

    async def listen(self, arguments: str = "", path: str = "") -> Any:
        """Listen there; return the port."""
        port: Any = await listen(
            real_reactor, f"unix:{path or self.path}{arguments}", Factory.forProtocol(Protocol)
        )
        self.addCleanup(port.stopListening)
        return port

    def somebody(self) -> socket.socket:
        """Have somebody else listen there."""
        sock = socket.socket(socket.AF_UNIX)
        self.addCleanup(sock.close)
        sock.bind(str(self.path))
        sock.listen(1)
        return sock

    def answers(self) -> bool:
        """Whether somebody listens there."""
        with socket.socket(socket.AF_UNIX) as asking:
            return asking.connect_ex(str(self.path)) == 0

    def files(self) -> list[str]:
        """What is in the folder."""
        return sorted(os.listdir(self.path.parent))

    async def test_left_over(self) -> None:
        """What a process of our own number has left behind, as process 1 of a container does, is replaced, and the lock counts for nothing."""
        self.somebody().close()
        self.path.with_name("a.sock.lock").symlink_to(str(os.getpid()))
        port = await self.listen(":mode=600")
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o600)
        self.assertTrue(self.answers())
        await port.stopListening()
        self.assertEqual(self.files(), ["a.sock.lock"])

    async def test_somebody_listens(self) -> None:
        """The socket of who listens there stays, also of who is behind with accepting, and nothing is left beside it."""
        sock = self.somebody()
        for _ in range(2):
            with self.assertRaisesRegex(StartError, f"cannot listen on unix:{self.path}: .*in use"):
                await self.listen()
            sock.listen(0)
        self.assertEqual(self.files(), ["a.sock"])
        sock.setblocking(False)
        sock.accept()

    async def test_other_file(self) -> None:
        """A file that is no socket stays."""
        self.path.write_text("kept")
        with self.assertRaisesRegex(StartError, "in use"):
            await self.listen()
        self.assertEqual((self.path.read_text(), self.files()), ("kept", ["a.sock"]))

    async def test_name_is_another_ones(self) -> None:
        """Whoever listens by the name at the end keeps it; one that is gone is no fault."""
        port = await self.listen()
        self.path.unlink()
        other = await self.listen()
        await port.stopListening()
        self.assertTrue(self.answers())
        self.path.unlink()
        await other.stopListening()
        self.assertEqual(self.files(), [])

    async def test_no_path(self) -> None:
        """A name that is in no file system leaves nothing there."""
        name = f"\0txingress-{os.getpid()}"
        port = await self.listen(path=name)
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(name)
        await port.stopListening()
        self.assertEqual(self.files(), [])
