"""What is missing on the machine is told in one line, or installed."""

import os
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bench.peers import install
from bench.setup.errors import BenchError


class InstallTests(SynchronousTestCase):
    """What is missing on the machine."""

    def setUp(self) -> None:
        """Make a path on which nothing is."""
        self.empty = Path(self.mktemp())
        self.empty.mkdir()
        self.patch(os, "environ", {**os.environ, "PATH": str(self.empty)})

    def test_no_apt(self) -> None:
        """Without apt-get the error names the packages."""
        error = self.assertRaises(BenchError, install.ensure_programs, ["wrk", "h2load"])
        self.assertIn("not installed: nghttp2-client wrk; there is no apt-get here", str(error))

    def test_not_root(self) -> None:
        """Who may not install is told the command that does."""
        (self.empty / "apt-get").write_text("#!/bin/sh\nexit 1\n")
        (self.empty / "apt-get").chmod(0o755)
        self.patch(os, "geteuid", lambda: 1000)
        error = self.assertRaises(BenchError, install.ensure_programs, ["wrk"])
        self.assertIn("run as root, or: sudo apt-get install wrk", str(error))

    def test_asked_for(self) -> None:
        """Programs and packages that make asks for are told together, and what nobody knows is refused."""
        self.patch(install, "OTHER_PACKAGES", {"php-fpm": lambda: False, "here": lambda: True})
        error = self.assertRaises(BenchError, install.main, ["wrk", "php-fpm", "here"])
        self.assertIn("not installed: php-fpm wrk;", str(error))
        error = self.assertRaises(BenchError, install.main, ["wkr"])
        self.assertIn("there is no 'wkr'; there are nginx, ", str(error))

    def test_nothing_missing(self) -> None:
        """Where all is there, nothing is run."""
        (self.empty / "wrk").write_text("#!/bin/sh\nexit 1\n")
        (self.empty / "wrk").chmod(0o755)
        install.ensure_programs(["wrk"])
