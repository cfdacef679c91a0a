"""Tests for ``ingress.process.logs.file_output``."""

import os
import sys
from pathlib import Path
from threading import Thread

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.errors import StartError
from ingress.process.logs.file_output import AccessOutput, LinesLostError, write_all
from tests.properties import examples

FULL = OSError(28, "No space left on device")


class Disk:
    """Stands for ``os.write``: takes as many bytes as there is *room* for, and then none."""

    def __init__(self) -> None:
        self.room = sys.maxsize
        self.taken = b""

    def write(self, descriptor: int, octets: bytes) -> int:
        """Take what there is room for."""
        if not self.room:
            raise FULL
        count = min(len(octets), self.room)
        self.room -= count
        self.taken += bytes(octets[:count])
        return count


class AccessOutputTests(SynchronousTestCase):
    """A file, and what becomes of lines that it does not take."""

    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.output = AccessOutput(str(self.path))
        self.addCleanup(lambda: os.close(self.output.descriptor))

    def full_after(self, room: int) -> Disk:
        """Let there be so much room from now on."""
        disk = Disk()
        disk.room = room
        self.patch(os, "write", disk.write)
        return disk

    @settings(max_examples=examples(300), deadline=None)
    @given(
        st.lists(
            st.tuples(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.integers(0, 40)), max_size=8
        )
    )
    def test_histories(self, batches: list[tuple[list[int], int]]) -> None:
        """However often a disk is full, each line is there once and whole, or counted as lost; at the end all fits."""
        disk = Disk()
        original, os.write = os.write, disk.write  # type: ignore[assignment]
        try:
            output = AccessOutput(self.path.as_posix())
            self.addCleanup(os.close, output.descriptor)
            sent: list[bytes] = []
            lost = 0
            for lengths, room in [*batches, ([3], sys.maxsize)]:
                lines = [b"%d%b" % (len(sent) + at, b"x" * length) for at, length in enumerate(lengths)]
                sent += lines
                disk.room = room
                try:
                    output.write(b"".join(line + b"\n" for line in lines))
                except LinesLostError as error:
                    lost += error.lines
        finally:
            os.write = original
        there = disk.taken.decode().encode().split(b"\n")
        self.assertEqual(there.pop(), b"")
        self.assertEqual([line for line in sent if line in there], there)
        self.assertEqual(len(there) + lost, len(sent))

    def test_reopen(self) -> None:
        """Lines go to the file of that name, also from another directory, and its old self is closed."""
        moved = self.path.with_name("moved")
        self.output.write(b"one\n")
        self.path.rename(moved)
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir("/")
        before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
        with capturedLogs():
            self.output.reopen()
        after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
        os.chdir(here)
        self.output.write(b"two\n")
        self.assertEqual((moved.read_bytes(), self.path.read_bytes()), (b"one\n", b"two\n"))
        self.assertEqual(before, after)

    def test_reopen_in_vain(self) -> None:
        """Where the directory is gone, lines go where they went, and the log says so."""
        self.path.unlink()
        self.path.mkdir()
        with capturedLogs() as events:
            self.output.reopen()
        self.assertIn("cannot be opened anew, and is written where it was", formatEvent(events[0]) or "")
        self.output.write(b"one\n")

    def test_reopen_within_a_line(self) -> None:
        """A line that is written in part ends where it began, or is lost; it never begins the new file."""
        disk = self.full_after(6)
        self.assertRaises(LinesLostError, self.output.write, b"one\ntwo\nthree\n")
        self.assertEqual(disk.taken, b"one\ntw")
        with capturedLogs():
            lost = self.assertRaises(LinesLostError, self.output.reopen)
        self.assertEqual(lost.lines, 1)
        # What comes next goes to the new file, which this disk does not tell from the old one.
        disk.room, disk.taken = 100, b""
        self.output.write(b"four\n")
        self.assertEqual(disk.taken, b"four\n")

    def test_standard_output(self) -> None:
        """Without a file it is standard output, which stays what it is."""
        output = AccessOutput(None)
        output.reopen()
        self.assertEqual(output.descriptor, 1)

    def test_no_standard_output(self) -> None:
        """A process whose standard output was closed needs a file."""
        self.patch(sys, "__stdout__", None)
        error = self.assertRaises(StartError, AccessOutput, None)
        self.assertIn("--access-log", str(error))

    def test_nobody_reads(self) -> None:
        """A named pipe that nobody reads is refused instead of waited for."""
        os.mkfifo(pipe := self.mktemp())
        self.assertIn("No such device", str(self.assertRaises(StartError, AccessOutput, pipe)))


class WriteAllTests(SynchronousTestCase):
    """``write_all``."""

    def setUp(self) -> None:
        self.reading, self.writing = os.pipe()
        self.addCleanup(os.close, self.reading)

    def test_descriptor(self) -> None:
        """All of a batch goes to the descriptor."""
        self.addCleanup(os.close, self.writing)
        write_all(self.writing, b"a line\n" * 100)
        self.assertEqual(os.read(self.reading, 10_000), b"a line\n" * 100)

    def test_full_pipe(self) -> None:
        """A full pipe that is set not to wait is waited for; nothing is lost or torn."""
        os.set_blocking(self.writing, False)
        octets = bytes(range(256)) * 2048
        taken = bytearray()

        def read() -> None:
            while piece := os.read(self.reading, 100_000):
                taken.extend(piece)

        thread = Thread(target=read)
        thread.start()
        write_all(self.writing, octets)
        os.close(self.writing)
        thread.join(10)
        self.assertEqual(bytes(taken), octets)

    def test_short_writes(self) -> None:
        """A descriptor that takes a batch in parts gets all the parts."""
        self.addCleanup(os.close, self.writing)
        taken = bytearray()

        def write(descriptor: int, octets: memoryview) -> int:
            taken.extend(octets[:3])
            return min(3, len(octets))

        self.patch(os, "write", write)
        write_all(1, b"0123456789")
        self.assertEqual(bytes(taken), b"0123456789")

    def test_closed_pipe(self) -> None:
        """A pipe that nobody will ever read from is an error, and not a signal that ends the process."""
        reading, writing = os.pipe()
        os.close(reading)
        self.addCleanup(os.close, writing)
        self.addCleanup(os.close, self.writing)
        self.assertRaises(OSError, write_all, writing, b"a line\n")


class SharedPipeTests(SynchronousTestCase):
    """Several processes that write to one pipe."""

    def setUp(self) -> None:
        self.reading, self.writing = os.pipe()
        self.addCleanup(os.close, self.reading)
        self.addCleanup(os.close, self.writing)
        self.writes: list[bytes] = []
        self.patch(os, "write", self.write)

    def write(self, descriptor: int, octets: bytes) -> int:
        """Take everything."""
        self.writes.append(bytes(octets))
        return len(octets)

    def test_whole_lines(self) -> None:
        """Each write has whole lines and no more than a pipe takes at once; a line that is longer goes by itself."""
        lines = [b"x" * length + b"\n" for length in (10, 4000, 90, 4095, 5000, 1, 2, 4096, 30)]
        write_all(self.writing, b"".join(lines), 4096)
        self.assertEqual(b"".join(self.writes), b"".join(lines))
        for written in self.writes:
            self.assertTrue(written.endswith(b"\n"))
            self.assertTrue(len(written) <= 4096 or written.count(b"\n") == 1, len(written))
        self.assertEqual(len(self.writes), 7)

    def test_alone(self) -> None:
        """Who writes alone writes at once."""
        write_all(self.writing, b"x\n" * 5000)
        self.assertEqual(len(self.writes), 1)

    def test_outputs(self) -> None:
        """A shared output goes by that where it is a pipe, and not where it is a file, to which each write goes whole."""
        path = self.mktemp()
        os.mkfifo(path)
        reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reading)
        for made, count in ((path, 3), (self.mktemp(), 1)):
            self.writes.clear()
            output = AccessOutput(made, is_shared=True)
            self.addCleanup(output.close)
            output.write(b"x" * 99 + b"\n" + b"y" * 4000 + b"\n" + b"z" * 4000 + b"\n")
            self.assertEqual(len(self.writes), count)
