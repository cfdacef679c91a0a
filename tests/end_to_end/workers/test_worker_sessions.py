"""TLS sessions with several worker processes."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import ssl
from pathlib import Path

from tests.end_to_end.end_to_end_case import PATIENCE
from tests.end_to_end.workers.workers_case import WorkersCase, sockets

SECONDS = 30.0
REQUEST = b"GET / HTTP/1.1\r\nHost: nobody.test\r\n\r\n"


def opened_by(process: Path) -> set[str]:
    """Return what the descriptors of *process*, a folder of ``/proc``, are open on; some may be closed meanwhile."""
    found = set()
    for one in (process / "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.add(os.readlink(one))
    return found


class SessionTests(WorkersCase):
    """Which sessions are resumed by whom."""

    def handshake(self, context: ssl.SSLContext, session: ssl.SSLSession | None = None) -> ssl.SSLSocket:
        """Return a connection that has had an answer of the controller's own, and stays open."""
        plain = socket.create_connection(("127.0.0.1", self.https), SECONDS)
        secure = context.wrap_socket(plain, server_hostname="nobody.test", session=session)
        self.addCleanup(secure.close)
        secure.sendall(REQUEST)
        self.assertIn(b" 404 ", secure.recv(65536))
        return secure

    async def handshakes(self, context: ssl.SSLContext, session: ssl.SSLSession | None) -> set[bytes]:
        """Resume *session* until each worker has had a connection; return the certificates that were shown."""
        workers = self.workers
        self.assertEqual(len(workers), 2)
        before = [sockets(pid) for pid in workers]
        shown = set()
        deadline = self.reactor.seconds() + PATIENCE
        # A worker that a busy machine gives no processor leaves all connections to the other one.
        while self.reactor.seconds() < deadline:
            secure = self.handshake(context, session)
            self.assertTrue(secure.session_reused)
            shown.add(secure.getpeercert(binary_form=True) or b"")
            if all(sockets(pid) > count for pid, count in zip(workers, before, strict=True)):
                return shown
            await self.turn(0.02)
        raise AssertionError("a worker had no connection")

    async def test_resumed(self) -> None:
        """A session is resumed by each worker, and by those that follow them when they have died."""
        controller = self.start_workers()
        await self.until_ready(controller)
        begun = []
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.minimum_version = context.maximum_version = version
            begun.append((context, self.handshake(context)))
        for context, secure in begun:
            shown = await self.handshakes(context, secure.session)
            self.assertEqual(len(shown), 1)
        before = self.workers
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        await self.until(lambda: len(self.workers) == 2 and not set(before) & set(self.workers))
        await self.until_ready(controller)
        for context, secure in begun:
            await self.handshakes(context, secure.session)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)

    async def test_nowhere_else(self) -> None:
        """What workers have in common reached them by being forked alone: no arguments, environment or files of their own."""
        controller = self.start_workers()
        await self.until_ready(controller)
        for pid in (self.fork_server, *self.workers):
            process, parent = Path(f"/proc/{pid}"), Path(f"/proc/{controller.pid}")
            for name in ("cmdline", "environ"):
                self.assertEqual((process / name).read_bytes(), (parent / name).read_bytes())
            opened, ours = opened_by(process), opened_by(parent)
            found = {one for one in opened - ours if not one.startswith(("socket:", "anon_inode:", "pipe:"))}
            self.assertLessEqual({Path(one).name for one in found}, {"access.log"})
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
