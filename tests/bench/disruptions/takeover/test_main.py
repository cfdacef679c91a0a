"""The processes of the clients that ask amid takeovers."""

import multiprocessing
import signal

from twisted.trial.unittest import SynchronousTestCase

from bench.disruptions.takeover.__main__ import Shared


class SharedTests(SynchronousTestCase):
    """What each process of the pool begins with."""

    def test_ends_at_once(self) -> None:
        """SIGTERM, by which a pool ends its processes, ends one at once, whatever its parent does then."""
        self.addCleanup(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        signal.signal(signal.SIGTERM, lambda number, frame: None)
        Shared.begin(multiprocessing.Event(), [0])
        self.assertIs(signal.getsignal(signal.SIGTERM), signal.SIG_DFL)
