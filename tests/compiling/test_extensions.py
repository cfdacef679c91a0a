"""What is kept of the last translation."""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from compiling.extensions import forget_other_sources


class KeptTests(SynchronousTestCase):
    """The folder that is kept."""

    def test_other_sources(self) -> None:
        """What mypyc knows of each room is kept as long as no source has changed, come or gone, nor what is compiled; the C code always is."""
        package, folder = Path(self.mktemp()), Path(self.mktemp())
        package.mkdir(parents=True)
        module, other = package / "module.py", package / "other.py"
        module.write_text("A = 1")

        def is_kept(files: tuple[str, ...] = ("module.py",)) -> bool:
            (folder / "mypy").mkdir(parents=True, exist_ok=True)
            (folder / "module.c").write_text("")
            forget_other_sources(folder, package, files)
            self.assertTrue((folder / "module.c").exists())
            return (folder / "mypy").exists()

        self.assertFalse(is_kept())
        self.assertTrue(is_kept())
        module.write_text("A = 2")
        self.assertFalse(is_kept())
        self.assertTrue(is_kept())
        other.write_text("")
        self.assertFalse(is_kept())
        other.unlink()
        self.assertFalse(is_kept())
        self.assertTrue(is_kept())
        self.assertFalse(is_kept(()))
