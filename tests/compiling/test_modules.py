"""Which modules are compiled."""

from itertools import pairwise
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from compiling.modules import LIST, REPOSITORY, by_room, chosen, compiled_files, globs


class ModuleTests(SynchronousTestCase):
    """``modules.txt``, and how it is read."""

    def folder(self, *files: str) -> Path:
        """Return a new folder with empty *files*."""
        folder = Path(self.mktemp())
        for name in files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
        return folder

    def test_lines(self) -> None:
        """Comments and empty lines are left out."""
        self.assertEqual(globs("# why\na/*.py\n\n  !a/b.py\n"), ["a/*.py", "!a/b.py"])

    def test_chosen(self) -> None:
        """Files that a line matches are in, those that a later line with an exclamation mark matches are out."""
        folder = self.folder("a/__init__.py", "a/b.py", "a/c.py", "d/e.py")
        self.assertEqual(chosen(["a/*.py", "!a/c.py", "!**/__init__.py"], folder), ["a/b.py"])

    def test_no_effect(self) -> None:
        """A line without effect, as one about a module that is gone, is an error."""
        folder = self.folder("a/b.py")
        for line in ("c/*.py", "a/*.py", "!c.py"):
            self.assertRaises(ValueError, chosen, ["a/*.py", line], folder)

    def test_by_room(self) -> None:
        """What is deep in a room shares a library with the rest of it."""
        self.assertEqual(
            by_room(["ingress/a/b.py", "ingress/a/c/d.py", "ingress/e/f.py"]),
            {"ingress.a": ["ingress/a/b.py", "ingress/a/c/d.py"], "ingress.e": ["ingress/e/f.py"]},
        )

    def test_ours(self) -> None:
        """The list fits the sources, has the modules that every request passes, and a reason beside each exception."""
        files = compiled_files()
        self.assertLess({"ingress/http/request_head.py", "ingress/routing/table.py"}, set(files))
        self.assertEqual([file for file in files if not (REPOSITORY / file).is_file()], [])
        lines = LIST.read_text("utf-8").splitlines()
        for before, line in pairwise(lines):
            if line.startswith("!"):
                self.assertTrue(before.startswith("# "), line)
