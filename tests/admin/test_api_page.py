"""The page of all pages."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ingress.admin.table import PAGES
from scripts.api_page import api_page

PAGE = Path(__file__).parents[2] / "docs" / "api.md"


class ApiPageTests(SynchronousTestCase):
    """``docs/api.md``."""

    def test_in_step(self) -> None:
        """It is what ``python -m scripts.api_page`` prints."""
        self.assertEqual(api_page(), PAGE.read_text("utf-8"))

    def test_every_page(self) -> None:
        """Every page has its row, and each of its parameters, too."""
        for row in PAGES:
            self.assertIn(f"`{row.path}`", api_page())
            for parameter in row.parameters or ():
                self.assertIn(f"| `{parameter.name}` | ", api_page())
