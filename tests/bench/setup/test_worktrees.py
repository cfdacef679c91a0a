"""Another commit on disk for a while."""

import os
import subprocess
import tempfile
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bench.setup.errors import BenchError
from bench.setup.worktrees import checked_out

AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.test")


class CheckoutTests(SynchronousTestCase):
    """With a small repository."""

    def setUp(self) -> None:
        """Make two commits, and a folder for temporary ones."""
        self.repository = Path(self.mktemp()).absolute()
        self.repository.mkdir()
        self.git("init", "--quiet")
        for text in ("one", "two"):
            (self.repository / "file").write_text(text)
            self.git("add", "file")
            self.git(*AUTHOR, "commit", "--quiet", "--message", text)
        self.temporary = Path(self.mktemp()).absolute()
        self.temporary.mkdir()
        self.patch(tempfile, "tempdir", str(self.temporary))

    def git(self, *words: str) -> str:
        """What git says."""
        command = ["git", "-C", str(self.repository), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def assert_nothing_left(self) -> None:
        """Fail if a worktree or a folder is left."""
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 1)
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_earlier(self) -> None:
        """The files are those of the commit, the working tree stays as it is, and nothing is left."""
        (self.repository / "file").write_text("three")
        with checked_out(self.repository, "HEAD~1") as found:
            self.assertEqual((found.folder / "file").read_text(), "one")
            self.assertEqual(found.subject, "one")
        self.assertEqual((self.repository / "file").read_text(), "three")
        self.assert_nothing_left()

    def test_interrupted(self) -> None:
        """Nothing is left either when what is done meanwhile is interrupted, or told to end."""
        for error in (KeyboardInterrupt, SystemExit, BenchError):
            with self.assertRaises(error), checked_out(self.repository, "HEAD~1"):
                raise error
            self.assert_nothing_left()

    def test_killed(self) -> None:
        """What a process left that was killed is removed by the next one; what belongs to one that lives stays."""
        dead = self.temporary / "bench-compare-999999999-x"
        alive = self.temporary / f"bench-compare-{os.getpid()}-x"
        dead.mkdir()
        alive.mkdir()
        self.git("worktree", "add", "--quiet", "--detach", str(dead / "before"), "HEAD~1")
        with checked_out(self.repository, "HEAD"):
            self.assertFalse(dead.exists())
        self.assertEqual(list(self.temporary.iterdir()), [alive])
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 1)

    def test_no_commit(self) -> None:
        """What names no commit is refused in one line, an option of git among it."""
        for reference in ("HEAD~7", "nothing", "--help"):
            with self.assertRaises(BenchError) as raised, checked_out(self.repository, reference):
                self.fail("it was checked out")
            self.assertEqual(str(raised.exception), f"there is no commit {reference!r} here")
        self.assert_nothing_left()
