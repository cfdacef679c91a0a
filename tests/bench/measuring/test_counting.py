"""What counters of instructions say, and how it is read."""

import os
import subprocess
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bench.measuring.counting import Callgrind, HardwareCounter, instructions_in_profile, instructions_of_perf
from bench.setup.errors import BenchError

PROFILE = """\
# callgrind format
version: 1
desc: Trigger: dump
events: Ir
summary: 69381177
fl=(4) ???
0 10
totals: 70190711
"""


class CallgrindTests(SynchronousTestCase):
    """valgrind's tool."""

    def test_sum(self) -> None:
        """What all threads ran is the sum at the end of a profile."""
        self.assertEqual(instructions_in_profile(PROFILE), 70190711)

    def test_no_sum(self) -> None:
        """A profile that breaks off is told in one line."""
        error = self.assertRaises(BenchError, instructions_in_profile, PROFILE.replace("totals", "to"))
        self.assertEqual(str(error), "callgrind wrote a profile without a sum")

    def test_command(self) -> None:
        """The program is started below valgrind, which does not count before it is told to."""
        words = Callgrind(Path("/folder")).command(["nginx", "-c", "one"])
        self.assertEqual((words[0], words[-3:]), ("valgrind", ["nginx", "-c", "one"]))
        self.assertIn("--instr-atstart=no", words)
        self.assertIn("--callgrind-out-file=/folder/callgrind.%p", words)

    def test_unknown_process(self) -> None:
        """Whoever does not run below valgrind cannot be counted, which is told in one line."""
        counter = Callgrind(Path(self.mktemp()))
        self.patch(
            subprocess, "run", lambda *words, **more: subprocess.CompletedProcess([], 1, "", "no FIFO\n")
        )
        error = self.assertRaises(BenchError, counter.begin, os.getpid())
        self.assertEqual(str(error), "valgrind did not instrumentation on: no FIFO")


class HardwareTests(SynchronousTestCase):
    """The processor, by ``perf stat``."""

    def test_count(self) -> None:
        """The count stands in the first field of the line of the event."""
        said = "1234567,,instructions:u,998000,100.00,,\n"
        self.assertEqual(instructions_of_perf(said), 1234567)

    def test_not_supported(self) -> None:
        """A machine that hides its counters is told in one line."""
        error = self.assertRaises(
            BenchError, instructions_of_perf, "<not supported>,,instructions:u,0,100.00,,\n"
        )
        self.assertEqual(str(error), "perf counts no instructions:u: <not supported>")

    def test_nothing(self) -> None:
        """So is what perf says instead of a count."""
        error = self.assertRaises(BenchError, instructions_of_perf, "Error:\nno permission\n")
        self.assertIn("Error: no permission", str(error))

    def test_command(self) -> None:
        """The program is started as it is."""
        self.assertEqual(HardwareCounter().command(["nginx"]), ["nginx"])
