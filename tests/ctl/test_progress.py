"""Progress: for a person who waits, and nobody else."""

from datetime import UTC, datetime
from io import StringIO
from unittest.mock import patch

from ingress.ctl.inputs.files.choices import How
from ingress.ctl.inputs.files.manifests import read_manifests
from ingress.ctl.progress import progress
from ingress.options.option import DEFAULTS
from tests.ctl.inputs.files.files_case import FilesCase, an_ingress


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True


class ProgressTests(FilesCase):
    """What is shown while files are read."""

    def shown(self, stream: StringIO, *seconds: float) -> str:
        """Return what *stream* gets of progress that is told at *seconds* after the beginning."""
        times = iter((0.0, *seconds))
        with progress(stream, lambda: next(times)) as tell:
            for count, _ in enumerate(seconds):
                tell("reading", count, 2000)
        return stream.getvalue()

    def test_what_is_soon_done_shows_nothing(self) -> None:
        """Within half a second nothing is written."""
        self.assertEqual(self.shown(_Terminal(), 0.1, 0.49), "")

    def test_one_line_that_is_gone_at_the_end(self) -> None:
        """After that one line is written anew, a few times a second, and cleared."""
        clear = "\r\x1b[K"
        self.assertEqual(
            self.shown(_Terminal(), 0.4, 0.6, 0.65, 0.8),
            f"{clear}reading: 1 of 2,000{clear}reading: 3 of 2,000{clear}",
        )

    def test_it_is_gone_after_a_mistake(self) -> None:
        """Whatever ends the work, the line of a mistake has its own line."""
        stream = _Terminal()
        times = iter((0.0, 1.0))

        def fail() -> None:
            with progress(stream, lambda: next(times)) as tell:
                tell("reading", 1, 0)
                raise ValueError

        self.assertRaises(ValueError, fail)
        self.assertTrue(stream.getvalue().endswith("reading: 1\r\x1b[K"))

    def test_elsewhere_than_at_a_terminal(self) -> None:
        """A file, a pipe and a terminal that cannot clear a line get nothing, however long it takes."""
        self.assertEqual(self.shown(StringIO(), 1, 2, 3), "")
        with patch.dict("os.environ", {"TERM": "dumb"}):
            self.assertEqual(self.shown(_Terminal(), 1, 2, 3), "")

    def test_files_are_told_of(self) -> None:
        """Reading tells of the files that it looks for, and of those that it reads."""
        for number in range(3):
            self.manifest(an_ingress(f"i{number}"), f"{number}.yaml")
        told: list[tuple[str, int, int]] = []
        how = How(progress=lambda what, count, of: told.append((what, count, of)))
        read_manifests([str(self.folder)], DEFAULTS, datetime.now(UTC), how)
        self.assertEqual(told[:3], [("looking for files", count, 0) for count in (1, 2, 3)])
        self.assertEqual(told[3:], [("reading", count, 3) for count in (0, 1, 2)])
