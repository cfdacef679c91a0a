"""Tests for ``examples.demo.tour``."""

import shlex
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from examples.demo.tour import Ports, stops, tour


class TourTests(SynchronousTestCase):
    """The text that the demo prints."""

    def test_every_stop_is_shown(self) -> None:
        """Each command stands on a line of its own, below a comment that says what it shows."""
        ports = Ports(1080, 1443, 1025)
        lines = tour(ports, "here/demo").splitlines()
        for stop in stops(ports, "here/demo"):
            at = lines.index(stop.command)
            self.assertEqual(lines[at - 1], f"# {stop.title}")

    def test_commands_are_shell(self) -> None:
        """Each command is one curl call that a shell reads without expanding anything."""
        for stop in stops(Ports(), "examples/demo"):
            words = shlex.split(stop.command)
            self.assertEqual(words[0], "curl")
            unquoted = shlex.split(stop.command, posix=False)
            for word in unquoted:
                if not word.startswith("'"):
                    self.assertFalse(set("?*&;$()[]{}<>|~!") & set(word), stop.command)

    def test_ports(self) -> None:
        """No command names a port or a directory but those that were given."""
        text = tour(Ports(1080, 1443, 1025), "elsewhere")
        for default in ("8080", "8443", "10254", "examples/demo"):
            self.assertNotIn(default, text)
        self.assertIn("--cacert elsewhere/ca.crt --resolve secure.demo.localhost:1443:127.0.0.1", text)

    def test_invitation(self) -> None:
        """The end invites to edit the manifests."""
        self.assertIn("edit examples/demo/*.yaml", tour(Ports(), "examples/demo"))

    def test_readme(self) -> None:
        """The README shows commands of the tour, as they are printed."""
        readme = Path(__file__).parents[2] / "README.md"
        lines = readme.read_text(encoding="utf-8").splitlines()
        shown = [line.removeprefix("    $ ") for line in lines if line.startswith("    $ curl")]
        self.assertGreater(len(shown), 5)
        self.assertEqual(set(shown) - {stop.command for stop in stops(Ports(), "examples/demo")}, set())
