"""The log on standard output, when nobody takes it."""

from __future__ import annotations

import http.client
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event, active_count
from time import monotonic

from twisted.logger import Logger, LogPublisher, textFileLogObserver
from twisted.trial.unittest import SynchronousTestCase, TestCase

from ingress.process.logs import log_output
from ingress.process.logs.log_output import LogOutput
from tests.fakes.processes import ROOT, TWISTD, free_port

LINE = "x" * 99 + "\n"


class LogOutputTests(SynchronousTestCase):
    """``LogOutput``, at one end of a pipe."""

    def setUp(self) -> None:
        self.reading, self.writing = os.pipe()
        self.addCleanup(os.close, self.reading)
        self.output = LogOutput(self.writing, 50_000)

    def be_patient(self) -> None:
        """Have ``drain`` wait for a thread that gets no processor."""
        self.patch(log_output, "DRAIN_SECONDS", 20.0)

    def until(self, condition: Callable[[], object]) -> None:
        """Wait for the thread."""
        deadline = monotonic() + 60.0
        while not condition():
            self.assertLess(monotonic(), deadline)
            Event().wait(0.002)

    def test_written(self) -> None:
        """What is written arrives in order, and is there when ``drain`` is over."""
        self.be_patient()
        for number in range(100):
            self.output.write(f"{number}\n")
        self.output.drain()
        told = os.read(self.reading, 65_536).decode().split()
        self.assertEqual(told, [str(number) for number in range(100)])
        self.assertEqual(self.output.dropped(), 0)

    def test_held(self) -> None:
        """An output that is held writes nothing, and has no thread, before it begins; then all is there."""
        self.be_patient()
        output = LogOutput(self.writing, 50_000, is_held=True)
        threads = active_count()
        output.write("one\n")
        output.write("two\n")
        self.assertEqual(active_count(), threads)
        output.begin()
        output.drain()
        self.assertEqual(os.read(self.reading, 100), b"one\ntwo\n")

    def test_never_begun(self) -> None:
        """One that never begins has written everything once it is drained."""
        self.be_patient()
        output = LogOutput(self.writing, 50_000, is_held=True)
        output.write("one\n")
        output.drain()
        self.assertEqual(os.read(self.reading, 100), b"one\n")

    def test_nobody_reads(self) -> None:
        """When nobody reads nothing waits; lines are dropped and counted, and the log says how many."""
        began = monotonic()
        for _ in range(50_000):
            self.output.write(LINE)
        # Five megabytes: a write that waited for the pipe would not have come back.
        self.assertLess(monotonic() - began, 10.0)
        dropped = self.output.dropped()
        self.assertGreater(dropped, 40_000)
        read = b""
        while read.count(LINE.encode()) < 50_000 - dropped:
            read += os.read(self.reading, 1 << 20)
        self.until(lambda: ": 0 bytes wait" in repr(self.output))
        self.output.write("again\n")
        while not read.endswith(b"\nagain\n"):
            read += os.read(self.reading, 1 << 20)
        told = re.findall(rb"^([\d,]+) lines? of the log (?:is|are) missing here", read, re.MULTILINE)
        self.assertEqual(sum(int(one.replace(b",", b"")) for one in told), dropped)

    def test_drain_does_not_last(self) -> None:
        """The end of the process waits for a moment, not for who reads nothing."""
        for _ in range(1000):
            self.output.write(LINE)
        began = monotonic()
        self.output.drain()
        self.assertLess(monotonic() - began, 10.0)

    def test_closed(self) -> None:
        """Where nobody can ever read, lines are counted as dropped, and no thread ends."""
        os.close(self.writing)
        for number in range(1, 4):
            self.output.write(LINE)
            self.until(lambda number=number: self.output.dropped() == number)  # type: ignore[misc]

    def test_torn_line(self) -> None:
        """A line that was written in part is ended before the next one."""
        taken: list[bytes] = []
        room = [4, 0, 100]

        def write(descriptor: int, octets: memoryview) -> int:
            if not room[0]:
                del room[0]
                raise OSError(28, "No space left on device")
            count = min(len(octets), room[0])
            if room[0] < 100:
                del room[0]
            taken.append(bytes(octets[:count]))
            return count

        self.patch(os, "write", write)
        self.assertFalse(self.output.write_batch(b"0123456789\n"))
        self.assertTrue(self.output.write_batch(b"next\n"))
        self.assertTrue(self.output.write_batch(b"last\n"))
        self.assertEqual(b"".join(taken), b"0123\nnext\nlast\n")

    def test_as_a_log_file(self) -> None:
        """Twisted's log takes it for a text file."""
        self.be_patient()
        publisher = LogPublisher(textFileLogObserver(self.output))  # type: ignore[arg-type]  # it has what is used
        Logger("test", observer=publisher).info("h\u00e4llo {name}", name="you")
        self.output.drain()
        self.assertIn("[test#info] h\u00e4llo you", os.read(self.reading, 65_536).decode())
        self.assertFalse(self.output.isatty())
        self.assertEqual(self.output.fileno(), self.writing)
        self.assertFalse(isinstance(self.output, io.IOBase))


class ProcessTests(TestCase):
    """``twistd ingress`` with a standard output that is full from the start."""

    timeout = 60

    async def test_serves(self) -> None:
        """It starts, answers and ends."""
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        os.set_blocking(writing, False)
        try:
            while True:
                os.write(writing, b"x" * 4096)
        except BlockingIOError:
            pass  # It is full.
        os.set_blocking(writing, True)
        folder = Path(self.mktemp())
        folder.mkdir()
        port, other, admin = free_port(), free_port(), free_port()
        at_home = ":interface=127.0.0.1"
        options = [
            f"--manifests={folder.resolve()}",
            f"--http=tcp:{port}{at_home}",
            f"--https=tcp:{other}{at_home}",
            f"--admin=tcp:{admin}{at_home}",
            "--shutdown-delay=0",
        ]
        command = [sys.executable, "-c", TWISTD, "--nodaemon", "--pidfile=", "ingress", *options]
        process = subprocess.Popen(command, stdout=writing, cwd=ROOT)
        os.close(writing)
        self.addCleanup(process.kill)
        deadline = monotonic() + 90
        status = 0
        while not status and monotonic() < deadline:
            self.assertIsNone(process.poll())
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                connection.request("GET", "/", headers={"Host": "nobody.test"})
                status = connection.getresponse().status
                connection.close()
            except ConnectionRefusedError:
                Event().wait(0.05)
        self.assertEqual(status, 404)
        process.terminate()
        self.assertEqual(process.wait(60), 0)
