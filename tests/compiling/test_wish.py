"""Whether a wheel is compiled, and what a build asks for because of that."""

import io
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from compiling.backend import get_requires_for_build_wheel, requirements_to_compile
from compiling.extensions import extensions
from compiling.modules import REPOSITORY
from compiling.wish import SWITCH, CannotCompileError, is_asked, is_compiled, need_compiler


class WishTests(SynchronousTestCase):
    """The environment decides, and then what there is."""

    def said(self) -> io.StringIO:
        """Return where standard error goes from now on."""
        output = io.StringIO()
        self.patch(sys, "stderr", output)
        return output

    def without_compiler(self) -> None:
        """Take away what a path leads to, and what the environment names."""
        empty = Path(self.mktemp())
        empty.mkdir()
        self.patch_environment("PATH", str(empty))
        self.patch_environment("CC", str(empty / "cc"))

    def patch_environment(self, name: str, value: str) -> None:
        """Set a variable until the test ends."""
        import os

        self.patch(os, "environ", {**os.environ, name: value})

    def test_asked(self) -> None:
        """1 and 0 are wishes, nothing is none, and anything else is an error that names the variable."""
        self.assertEqual([is_asked({SWITCH: text}) for text in ("1", "0", "")], [True, False, None])
        self.assertIsNone(is_asked({}))
        error = self.assertRaises(ValueError, is_asked, {SWITCH: "yes"})
        self.assertIn(SWITCH, str(error))

    def test_no_compiler(self) -> None:
        """Without a compiler a wheel is plain, and one line says so; whoever asked for a compiled one gets an error."""
        self.without_compiler()
        self.assertRaises(CannotCompileError, need_compiler)
        output = self.said()
        self.assertFalse(is_compiled({}))
        self.assertRegex(
            output.getvalue(), r"\Atxingress: plain Python, nothing is compiled: no C compiler.*\n\Z"
        )
        self.assertRaises(CannotCompileError, is_compiled, {SWITCH: "1"})

    def test_unwanted(self) -> None:
        """Who asks for plain Python gets it without a word, and nothing is looked for."""
        self.without_compiler()
        output = self.said()
        self.assertFalse(is_compiled({SWITCH: "0"}))
        self.assertEqual(output.getvalue(), "")

    def test_requirements(self) -> None:
        """Compiling asks for the compiler and for all that is imported, whose types count; a plain wheel asks for none of it."""
        needed = requirements_to_compile((REPOSITORY / "setup.cfg").read_text("utf-8"))
        self.assertLess({"mypy", "mypy-zope", "twisted", "attrs"}, {line.split(" ")[0] for line in needed})
        self.patch_environment(SWITCH, "0")
        self.assertEqual([line for line in get_requires_for_build_wheel() if "mypy" in line], [])

    def test_metadata(self) -> None:
        """Commands that make no wheel compile nothing, whatever is asked for: metadata, sources, editable installations."""
        self.patch_environment(SWITCH, "1")
        for command in ("egg_info", "dist_info", "sdist", "editable_wheel"):
            self.assertEqual(extensions(["setup.py", command]), [])
