"""What signals do when the process is about to be over."""

import signal
import subprocess
import sys
from textwrap import dedent

from twisted.trial.unittest import SynchronousTestCase

SECONDS = 60
PROGRAM = """
    import os, sys
    from twisted.internet.task import Clock
    from ingress.process.lifecycle import act_on_signals

    class Last:
        # Called when the interpreter has given up its handlers already, and clears its modules.
        def __del__(self, kill=os.kill, process=os.getpid(), number=int(sys.argv[1])):
            kill(process, number)

    act_on_signals(Clock(), [], print)
    last = Last()
    sys.exit(3)
"""


class EndTests(SynchronousTestCase):
    """Signals that a process gets at its very end."""

    def test_status(self) -> None:
        """Those that ask for something that goes on make no difference then: the process ends with the status that it has."""
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            program = [sys.executable, "-c", dedent(PROGRAM), str(number.value)]
            found = subprocess.run(program, check=False, timeout=SECONDS, capture_output=True)
            self.assertEqual((found.returncode, found.stderr, found.stdout), (3, b"", b""))


FAILING = """
    import atexit
    from twisted.internet.error import ReactorNotRunning
    from ingress.errors import StartError
    from ingress.process.lifecycle import act_on_signals, end_with

    class Stopped:
        def stop(self):
            raise ReactorNotRunning

    act_on_signals(Stopped(), [], print)
    atexit.register(print, "programs that run for us are ended")
    end_with(Stopped(), StartError("no such file"), lambda: print("at last"))
    print("the reactor has stopped")
"""


class FailedStartTests(SynchronousTestCase):
    """A start that cannot succeed."""

    def test_end(self) -> None:
        """Whatever is to be done when the process ends is done there as well."""
        program = [sys.executable, "-c", dedent(FAILING)]
        found = subprocess.run(program, check=False, timeout=SECONDS, capture_output=True, text=True)
        self.assertEqual((found.returncode, found.stderr), (1, "ingress: no such file\n"))
        self.assertEqual(
            found.stdout.splitlines(),
            ["the reactor has stopped", "programs that run for us are ended", "at last"],
        )
