"""``docs/problems.md`` explains every reason code."""

import re
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.problems import Reason

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "problems.md"


class ProblemsPageTests(SynchronousTestCase):
    """The page has one row for each reason, in the order of the enumeration."""

    def test_every_reason_has_its_row(self) -> None:
        """Each reason has one row, and no row is left of a reason that is gone."""
        rows = re.findall(r"^\| `(\w+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
        self.assertEqual(rows, [reason.value for reason in Reason])

    def test_every_row_is_filled(self) -> None:
        """Each row says what it means, what still works, and what to do."""
        for line in PAGE.read_text("utf-8").splitlines():
            if line.startswith("| `"):
                cells = [cell.strip() for cell in line.strip("|").split(" | ")]
                self.assertEqual(len(cells), 4, line)
                self.assertTrue(all(len(cell) > 5 for cell in cells), line)
