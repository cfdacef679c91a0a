"""The output of the access log that was chosen last."""

from pathlib import Path

from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.process.logs.access_log_output import AccessOutputs, output_to


class ChoosingTests(SynchronousTestCase):
    """``AccessOutputs``."""

    def setUp(self) -> None:
        self.one, self.other = Path(self.mktemp()), Path(self.mktemp())
        self.outputs = AccessOutputs(str(self.one), output_to)
        self.addCleanup(lambda: self.outputs._output.close())

    def test_chosen(self) -> None:
        """Another output has the lines from the next time on that it is opened anew, and only another one is told of."""
        self.assertFalse(self.outputs.choose(str(self.one)))
        self.outputs.write(b"1\n")
        self.assertTrue(self.outputs.choose(str(self.other)))
        self.outputs.write(b"2\n")
        self.outputs.reopen()
        self.outputs.write(b"3\n")
        self.assertEqual((self.one.read_bytes(), self.other.read_bytes()), (b"1\n2\n", b"3\n"))

    def test_reopened(self) -> None:
        """Where nothing else was chosen, the same is opened anew."""
        self.one.rename(self.other)
        with capturedLogs():
            self.outputs.reopen()
        self.outputs.write(b"1\n")
        self.assertEqual((self.one.read_bytes(), self.other.read_bytes()), (b"1\n", b""))

    def test_impossible(self) -> None:
        """What cannot be opened leaves the output as it was, and the log says why."""
        self.outputs.choose(str(self.other / "missing"))
        with capturedLogs() as events:
            self.outputs.reopen()
        self.assertIn("is written where it was: --access-log", formatEvent(events[0]) or "")
        self.outputs.write(b"1\n")
        self.assertEqual(self.one.read_bytes(), b"1\n")
