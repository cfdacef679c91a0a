"""``.ci/run`` counts right: its last lines and its status are all that some readers look at."""

import os
import subprocess
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

REPOSITORY = Path(__file__).resolve().parent.parent
WELL = "PASSED (skips=1, successes=30)"


class RunTests(SynchronousTestCase):
    """``.ci/run`` with a ``make`` that says what the test wants."""

    def ci(
        self, check: int, test: int, summary: str, compiled: int = 0, compiled_summary: str = WELL
    ) -> tuple[int, list[str]]:
        """Status and output of ``.ci/run`` where ``make check``, ``make test`` and ``make test-compiled`` end with these statuses."""
        folder = Path(self.mktemp())
        folder.mkdir(parents=True)
        make = folder / "make"
        make.write_text(
            "#!/bin/sh\n"
            f'if [ "$1" = check ]; then echo checked; exit {check}; fi\n'
            f'if [ "$1" = test-compiled ]; then echo compiled; echo "{compiled_summary}"; exit {compiled}; fi\n'
            f"echo 'Ran some tests'; echo '{summary}'; exit {test}\n"
        )
        make.chmod(0o755)
        environment = {**os.environ, "PATH": f"{folder.resolve()}:{os.environ['PATH']}"}
        done = subprocess.run([REPOSITORY / ".ci" / "run"], env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines()

    def test_all_well(self) -> None:
        """Successes of both suites are counted, the output of all commands is shown, and skipped tests are told apart."""
        status, lines = self.ci(0, 0, "PASSED (skips=2, successes=40)")
        self.assertEqual((status, lines[-2:]), (0, ["3 skipped", "70 passed, 0 failed"]))
        self.assertIn("checked", lines)
        self.assertIn("Ran some tests", lines)
        self.assertIn("compiled", lines)

    def test_failures_and_errors(self) -> None:
        """Failures and errors count alike, whichever suite has them."""
        summary = "FAILED (failures=1, errors=2, successes=40)"
        status, lines = self.ci(0, 2, summary)
        self.assertEqual((status, lines[-1]), (1, "70 passed, 3 failed"))
        status, lines = self.ci(0, 0, WELL, 2, summary)
        self.assertEqual((status, lines[-1]), (1, "70 passed, 3 failed"))
        status, lines = self.ci(0, 2, summary, 2, summary)
        self.assertEqual((status, lines[-1]), (1, "80 passed, 6 failed"))

    def test_check_fails(self) -> None:
        """A failed check is one failure, and the tests run all the same."""
        status, lines = self.ci(2, 0, "PASSED (successes=40)")
        self.assertEqual((status, lines[-1]), (1, "70 passed, 1 failed"))

    def test_no_summary(self) -> None:
        """A suite that breaks before its summary is a failure, such as one that could not be compiled."""
        status, lines = self.ci(0, 2, "make: *** [test] Error 1")
        self.assertEqual((status, lines[-1]), (1, "30 passed, 1 failed"))
        status, lines = self.ci(0, 0, WELL, 2, "make: *** [compiled] Error 1")
        self.assertEqual((status, lines[-1]), (1, "30 passed, 1 failed"))

    def test_nothing_ran(self) -> None:
        """A suite without any test is a failure, also beside one that has some."""
        status, lines = self.ci(0, 0, "PASSED")
        self.assertEqual((status, lines[-1]), (1, "30 passed, 1 failed"))
        status, lines = self.ci(0, 0, WELL, 0, "PASSED (skips=3)")
        self.assertEqual((status, lines[-1]), (1, "30 passed, 1 failed"))

    def test_told_again(self) -> None:
        """What failed is shown once more before the last line: only that, and of all commands."""
        ruler, thinner = "=" * 79, "-" * 79
        told = f"{ruler}\n[FAIL]\nwaited in vain\n\ntests.test_a.A.test_b\n{ruler}\n[SKIPPED]\nno browser\n{thinner}\nRan 2 tests\n"
        status, lines = self.ci(
            2, 2, f"{told}\nFAILED (skips=1, failures=1)", 2, "make: *** [compiled] Error 1"
        )
        self.assertEqual(
            lines[lines.index("make check failed: its last lines") :],
            [
                "make check failed: its last lines",
                "checked",
                "make test failed: 1 of its tests",
                "[FAIL]",
                "waited in vain",
                "",
                "tests.test_a.A.test_b",
                "make test-compiled failed: it names no test",
                "compiled",
                "make: *** [compiled] Error 1",
                "1 skipped",
                "0 passed, 3 failed",
            ],
        )
        self.assertEqual(status, 1)
