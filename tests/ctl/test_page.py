"""The page of ``ingressctl``."""

from ingress.ctl.main import COMMANDS
from scripts.ingressctl_page import PAGE, PAGES, ingressctl_page
from tests.ctl.ctl_case import CtlCase


class PageTests(CtlCase):
    """``docs/ingressctl.md``, and whatever else shows output."""

    def test_in_step(self) -> None:
        """What a page shows as output is what the commands print now; ``make docs`` pastes it."""
        for page in PAGES:
            text = page.read_text("utf-8")
            self.assertEqual(ingressctl_page(text), text, page.name)

    def test_every_command(self) -> None:
        """Each command has a row in the page's table."""
        text = PAGE.read_text("utf-8")
        self.assertEqual([name for name in COMMANDS if f"| `ingressctl {name}" not in text], [])

    def test_what_stands_there_is_replaced(self) -> None:
        """Output is cut where the command says so, and a status can be shown."""
        page = "```console\n$ ingressctl lnit\nold\n$ echo $?\n0\n$ ingressctl --help | head -1\n```\n"
        pasted = ingressctl_page(page)
        self.assertNotIn("old", pasted)
        self.assertIn("did you mean lint?\n$ echo $?\n2\n", pasted)
        self.assertIn("head -1\nUsage: ingressctl [OPTIONS] COMMAND [ARGS]...\n…\n```\n", pasted)

    def test_nothing_else_is_run(self) -> None:
        """A page cannot have another program run."""
        self.assertRaises(ValueError, ingressctl_page, "```console\n$ rm -rf /\n```\n")
