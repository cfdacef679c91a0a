"""The processes of a run end with it."""

import signal
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from conformance.processes import Processes


class EndingTests(SynchronousTestCase):
    """How they are ended."""

    def folder(self) -> Path:
        folder = Path(self.mktemp())
        folder.mkdir()
        return folder

    def test_ended_by_the_signal_that_is_said(self) -> None:
        """What heeds no other word, as unshare does that waits for its child, is not waited for."""
        with Processes(self.folder()) as processes:
            deaf = processes.start("deaf", ["sh", "-c", "trap '' TERM; exec sleep 60"], end=signal.SIGKILL)
            usual = processes.start("usual", ["sleep", "60"])
            processes.end(deaf)
            self.assertEqual((deaf.returncode, usual.poll()), (-signal.SIGKILL, None))
        self.assertEqual(usual.returncode, -signal.SIGTERM)
