"""``.ci/run`` counts right: its last line and its status are all that some readers look at."""

import os
import subprocess
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

REPOSITORY = Path(__file__).resolve().parent.parent


class RunTests(SynchronousTestCase):
    """``.ci/run`` with a ``make`` that says what the test wants."""

    def ci(self, check: int, test: int, summary: str) -> tuple[int, list[str]]:
        """Status and output of ``.ci/run`` where ``make check`` and ``make test`` end with these statuses."""
        folder = Path(self.mktemp())
        folder.mkdir(parents=True)
        make = folder / "make"
        make.write_text(
            "#!/bin/sh\n"
            f'if [ "$1" = check ]; then echo checked; exit {check}; fi\n'
            f"echo 'Ran some tests'; echo '{summary}'; exit {test}\n"
        )
        make.chmod(0o755)
        environment = {**os.environ, "PATH": f"{folder.resolve()}:{os.environ['PATH']}"}
        done = subprocess.run([REPOSITORY / ".ci" / "run"], env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines()

    def test_all_well(self) -> None:
        """Successes are counted, the output of both commands is shown, and skipped tests are told apart."""
        status, lines = self.ci(0, 0, "PASSED (skips=2, successes=40)")
        self.assertEqual((status, lines[-2:]), (0, ["2 skipped", "40 passed, 0 failed"]))
        self.assertIn("checked", lines)
        self.assertIn("Ran some tests", lines)

    def test_failures_and_errors(self) -> None:
        """Failures and errors count alike."""
        status, lines = self.ci(0, 2, "FAILED (failures=1, errors=2, successes=40)")
        self.assertEqual((status, lines[-1]), (1, "40 passed, 3 failed"))

    def test_check_fails(self) -> None:
        """A failed check is one failure, and the tests run all the same."""
        status, lines = self.ci(2, 0, "PASSED (successes=40)")
        self.assertEqual((status, lines[-1]), (1, "40 passed, 1 failed"))

    def test_no_summary(self) -> None:
        """A suite that breaks before its summary is a failure."""
        status, lines = self.ci(0, 2, "make: *** [test] Error 1")
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed"))

    def test_nothing_ran(self) -> None:
        """A suite without any test is a failure."""
        status, lines = self.ci(0, 0, "PASSED")
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed"))
