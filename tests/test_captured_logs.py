"""Tests for ``tests.captured_logs``."""

from twisted.logger import Logger, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase


class CapturedLogsTests(SynchronousTestCase):
    """What tests get who ask Twisted for it."""

    log = Logger()

    def test_failure_inside(self) -> None:
        """A test that fails inside leaves nobody behind who collects what others log."""
        with self.assertRaises(ZeroDivisionError), capturedLogs() as events:
            self.log.info("inside")
            raise ZeroDivisionError
        self.log.info("behind")
        self.assertEqual(list(map(formatEvent, events)), ["inside"])
