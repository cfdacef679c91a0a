"""Which processes are at work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event
from time import monotonic

from twisted.trial.unittest import SynchronousTestCase

from tests.fakes.at_work import has_ended, is_at_work

PATIENCE = 60.0
"""Seconds within which processes do what they are to do; generous, because the machine may be busy."""
WAITING = "input()"
SPINNING = "while True: pass"
IN_A_THREAD = (
    f"import threading; threading.Thread(target=exec, args=({SPINNING!r},), daemon=True).start(); {WAITING}"
)
BELOW = "import subprocess, sys; subprocess.run([sys.executable, '-c', {!r}])"


class AtWorkTests(SynchronousTestCase):
    """Processes with threads and children."""

    if not Path("/proc/self/task").exists():
        skip = "needs the /proc of Linux"

    def begin(self, program: str) -> int:
        """Start a *program*, which ends with the test, with all that it has started."""
        process = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, start_new_session=True
        )
        assert process.stdin is not None
        self.addCleanup(process.wait)
        self.addCleanup(os.killpg, process.pid, signal.SIGKILL)
        self.addCleanup(process.stdin.close)
        return process.pid

    def becomes(self, pid: int, expected: bool) -> None:
        """Look until ten looks in a row say so."""
        deadline, alike = monotonic() + PATIENCE, 0
        while alike < 10:
            self.assertLess(monotonic(), deadline)
            alike = alike + 1 if is_at_work(pid) is expected else 0
            Event().wait(0.005)

    def test_spinning(self) -> None:
        """One that spins is at work, however many others want the processor; so is one that waits for such a thread or child."""
        for program in (SPINNING, IN_A_THREAD, BELOW.format(SPINNING), BELOW.format(BELOW.format(SPINNING))):
            self.becomes(self.begin(program), expected=True)

    def test_waiting(self) -> None:
        """One that waits is not, nor is one whose children all wait, nor one that has ended."""
        for program in (WAITING, BELOW.format(WAITING)):
            self.becomes(self.begin(program), expected=False)
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        self.assertFalse(is_at_work(ended.pid))

    def test_ended(self) -> None:
        """One that has ended has, before anybody has looked and behind that."""
        self.assertFalse(has_ended(self.begin(WAITING)))
        ended = subprocess.Popen([sys.executable, "-c", ""])
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        self.assertTrue(has_ended(ended.pid))
        ended.wait()
        self.assertTrue(has_ended(ended.pid))
