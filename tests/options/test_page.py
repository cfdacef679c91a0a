"""The page of all options."""

import os
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ingress.options.table import OPTIONS
from scripts.arguments_page import arguments_page
from scripts.config_map_page import config_map_page
from scripts.options_page import options_page

PROJECT = Path(__file__).parent.parent.parent


class OptionsPageTests(SynchronousTestCase):
    """``options_page``."""

    def test_in_step(self) -> None:
        """``docs/options.md`` is what ``python -m scripts.options_page`` prints."""
        printed = subprocess.run(
            [sys.executable, "-m", "scripts.options_page"],
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            check=True,
            timeout=60,
        )
        self.assertEqual(printed.stdout.decode(), (PROJECT / "docs" / "options.md").read_text("utf-8"))

    def test_every_option(self) -> None:
        """Every option has one row of three cells, with its value and its default."""
        rows = [line for line in options_page().splitlines() if line.startswith("| `--")]
        self.assertEqual(len(rows), len(OPTIONS) + 2)
        for row in rows:
            self.assertEqual(row.replace("\\|", "").count("|"), 4, row)
        page = "\n".join(rows)
        self.assertIn("| `--http=DESCRIPTION` | `tcp:80` |", page)
        self.assertIn("| `--service-upstream` |  |", page)
        self.assertIn(" Repeatable. |", page)


class ConfigMapPageTests(SynchronousTestCase):
    """``config_map_page``."""

    def test_in_step(self) -> None:
        """``docs/configmap.md`` is what ``python -m scripts.config_map_page`` prints."""
        page = PROJECT / "docs" / "configmap.md"
        self.assertEqual(page.read_text("utf-8"), config_map_page())

    def test_every_key(self) -> None:
        """Each key that ingress-nginx documents stands there."""
        keys = (PROJECT / "tests" / "options" / "documented_keys.txt").read_text("utf-8").split()
        page = config_map_page()
        self.assertEqual([key for key in keys if f"`{key}`" not in page], [])


class ArgumentsPageTests(SynchronousTestCase):
    """``arguments_page``."""

    def test_in_step(self) -> None:
        """``docs/arguments.md`` is what ``python -m scripts.arguments_page`` prints."""
        page = PROJECT / "docs" / "arguments.md"
        self.assertEqual(page.read_text("utf-8"), arguments_page())

    def test_every_argument(self) -> None:
        """Each argument that ingress-nginx takes has one row of four cells."""
        names = (PROJECT / "tests" / "options" / "documented_arguments.txt").read_text("utf-8").split()
        rows = arguments_page().partition("| Argument |")[2].splitlines()[2:]
        self.assertEqual([row.split("`")[1] for row in rows], names)
        for row in rows:
            self.assertEqual(row.replace("\\|", "").count("|"), 5, row)
