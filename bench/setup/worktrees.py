"""Another commit of this repository on disk for a while."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from bench.setup.errors import BenchError
from bench.setup.processes import STOP_SIGNALS

GIT_SECONDS = 120
_PREFIX = "bench-compare-"


@frozen
class Checkout:
    """What was checked out, and where."""

    folder: Path
    commit: str
    """Shortened."""
    subject: str


def _git(repository: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(repository), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=GIT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchError(f"git {words[0]} failed: {error}") from None
    if done.returncode:
        raise BenchError(f"git {words[0]} failed: {' '.join(done.stderr.split())[-200:]}")
    return done.stdout.strip()


def _remove_left_behind(repository: Path) -> None:
    """Remove what was left by processes that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdecimal() and not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)
    _git(repository, "worktree", "prune")


def commit_of(repository: Path, reference: str) -> str:
    """Return the commit that *reference* names.  Raises BenchError if there is none."""
    try:
        # Behind this, nothing is an option.
        return _git(
            repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}"
        )
    except BenchError:
        raise BenchError(f"there is no commit {reference!r} here") from None


@contextmanager
def checked_out(repository: Path, reference: str) -> Iterator[Checkout]:
    """Have the commit of *reference* in a temporary folder, which is gone afterwards, however this ends.  Raises BenchError."""
    commit = commit_of(repository, reference)
    _remove_left_behind(repository)
    parent = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    folder = parent / "before"
    try:
        _git(repository, "worktree", "add", "--quiet", "--detach", str(folder), commit)
        yield Checkout(folder, commit[:10], _git(repository, "log", "-1", "--format=%s", commit))
    finally:
        # A second Ctrl-C would leave it behind.
        before = {number: signal.signal(number, signal.SIG_IGN) for number in STOP_SIGNALS}
        try:
            shutil.rmtree(parent, ignore_errors=True)
            _git(repository, "worktree", "prune")
        finally:
            for number, disposition in before.items():
                signal.signal(number, disposition)
