"""The file at which a process can be taken over: whose it is, who may open it, and what is left of it."""

import os
import socket
import stat
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ingress.errors import StartError
from ingress.takeover.socket_file import SocketFile

NO_PROCESS = 2**22 + 1
"""More than the id of any process."""


class SocketFileTests(SynchronousTestCase):
    """In a folder of its own."""

    def setUp(self) -> None:
        # A name that is as long as the name of a socket may be in the worst place.
        self.folder = Path(self.mktemp()).resolve()
        self.folder.mkdir(parents=True)
        self.number = os.open(self.folder, os.O_PATH)
        self.addCleanup(os.close, self.number)
        self.path = f"/proc/self/fd/{self.number}/takeover.sock"
        self.addCleanup(os.umask, os.umask(0))

    def refused(self, path: str) -> str:
        """Return why nobody can connect, or listen, at *path*."""
        with self.assertRaises(StartError) as caught:
            file = SocketFile(path)
            file.connect()
            file.prepare().close()
        return str(caught.exception).removeprefix(f"--takeover {path}: ")

    def serving(self) -> tuple[SocketFile, socket.socket]:
        """Return a file where somebody listens."""
        file = SocketFile(self.path)
        sock = file.prepare()
        self.addCleanup(sock.close)
        file.publish()
        return file, sock

    def test_mode(self) -> None:
        """From the first moment nobody else may open it, whatever the umask is."""
        file = SocketFile(self.path)
        sock = file.prepare()
        self.addCleanup(sock.close)
        [name] = os.listdir(self.folder)
        self.assertEqual(stat.S_IMODE(os.stat(self.folder / name).st_mode), 0o600)
        file.publish()
        self.assertEqual(os.listdir(self.folder), ["takeover.sock"])
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)

    def test_nobody(self) -> None:
        """Where there is no file, or one that is left over, nobody serves; it is replaced, not removed first."""
        self.assertIsNone(SocketFile(self.path).connect())
        _, sock = self.serving()
        sock.close()
        left_over = os.stat(self.path).st_ino
        self.assertIsNone(SocketFile(self.path).connect())
        self.assertEqual(os.stat(self.path).st_ino, left_over)
        _, sock = self.serving()
        connection = SocketFile(self.path).connect()
        assert connection is not None
        connection.close()

    def test_replaced(self) -> None:
        """Who listens next takes the name, and the one before removes nothing that is not its own."""
        first, _ = self.serving()
        second, _ = self.serving()
        first.remove()
        self.assertTrue(os.path.exists(self.path))
        second.remove()
        self.assertEqual(os.listdir(self.folder), [])

    def test_given_up(self) -> None:
        """Who never was found leaves nothing behind."""
        file = SocketFile(self.path)
        file.prepare().close()
        file.remove()
        self.assertEqual(os.listdir(self.folder), [])

    def draft(self, process: int) -> socket.socket:
        """Return the draft of a process, which listens."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(sock.close)
        sock.bind(f"/proc/self/fd/{self.number}/.{process}.new")
        sock.listen()
        return sock

    def test_killed_before(self) -> None:
        """What is left of processes that were killed before they were found is removed by the next one that listens; nothing else."""
        self.draft(NO_PROCESS).close()
        self.draft(os.getppid()).close()
        # As of a container beside ours.
        self.draft(NO_PROCESS + 1)
        (self.folder / f".{NO_PROCESS + 2}.new").write_text("notes")
        self.serving()
        left = [f".{one}.new" for one in (os.getppid(), NO_PROCESS + 1, NO_PROCESS + 2)]
        self.assertEqual(sorted(os.listdir(self.folder)), sorted((*left, "takeover.sock")))

    def test_no_socket(self) -> None:
        """What is no socket stays as it is, and is told."""
        place = self.folder / "takeover.sock"
        place.mkdir()
        self.assertEqual(self.refused(self.path), "is no socket")
        place.rmdir()
        place.write_text("notes")
        self.assertEqual(self.refused(self.path), "is no socket")
        place.unlink()
        place.symlink_to("elsewhere")
        self.assertEqual(self.refused(self.path), "is no socket")

    def test_folder(self) -> None:
        """A folder that there is not is named."""
        path = f"{self.path}/deeper/t.sock"
        self.assertEqual(self.refused(path), f"there is no folder {self.path}/deeper")

    def test_too_long(self) -> None:
        """A name that no socket can have is refused with the bound."""
        path = f"{self.path}{'x' * 100}"
        self.assertEqual(
            self.refused(path), "is longer than the 107 bytes that the name of a socket may have"
        )

    def test_longest(self) -> None:
        """One that is just short enough works, though the draft of it is longer."""
        self.path += "x" * (107 - len(self.path))
        self.serving()
        connection = SocketFile(self.path).connect()
        assert connection is not None
        connection.close()

    def test_another_language(self) -> None:
        """A socket of another type is not spoken to."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
            other.bind(self.path)
            other.listen()
            self.assertEqual(self.refused(self.path), "something else than a controller listens there")

    def test_another_user(self) -> None:
        """A socket that belongs to somebody else is not connected to."""
        if os.geteuid():
            return
        self.serving()
        os.chown(self.path, 12345, 12345)
        self.assertEqual(self.refused(self.path), "belongs to another user (12345)")
