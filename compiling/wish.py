"""Whether to compile: what the environment asks for, and whether there is a compiler that can.

``TXINGRESS_USE_MYPYC=1`` compiles or fails, ``TXINGRESS_USE_MYPYC=0`` does not compile.  Without it a wheel is compiled
where that is possible, and is plain Python elsewhere, with one line that says why.
"""

import platform
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

SWITCH = "TXINGRESS_USE_MYPYC"


class CannotCompileError(Exception):
    """Nothing can be compiled here; its text says why."""


def is_asked(environment: Mapping[str, str]) -> bool | None:
    """Return what *environment* asks for; None where it leaves that open.  Raises ValueError for what it may not say."""
    text = environment.get(SWITCH, "")
    if text not in ("", "0", "1"):
        raise ValueError(f"{SWITCH} is {text!r}; it can be 0 or 1")
    return None if not text else text == "1"


def need_compiler() -> None:
    """Compile three lines, as extensions are.  Raises ``CannotCompileError``."""
    if platform.python_implementation() != "CPython":
        raise CannotCompileError(f"{platform.python_implementation()} runs no extensions of CPython")
    # Patched by setuptools, whose version of distutils this is.
    import setuptools  # noqa: F401, I001
    from distutils.ccompiler import new_compiler
    from distutils.errors import CCompilerError, DistutilsError
    from distutils.sysconfig import customize_compiler
    from sysconfig import get_path

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "tried.c")
        source.write_text(
            "#include <Python.h>\nint tried(void);\nint tried(void) { return PY_MAJOR_VERSION; }\n"
        )
        compiler = new_compiler()
        customize_compiler(compiler)
        try:
            found = compiler.compile(
                [str(source)], output_dir=folder, include_dirs=[get_path("include"), get_path("platinclude")]
            )
            compiler.link_shared_object(found, str(Path(folder, "tried.so")))
        except (CCompilerError, DistutilsError, OSError) as error:
            raise CannotCompileError(f"no C compiler with the headers of Python: {error}") from None


def is_compiled(environment: Mapping[str, str]) -> bool:
    """Return whether a wheel that is made here is compiled; where it is not, and nobody asked for that, say why.

    Raises ``CannotCompileError`` where it has to be and cannot.
    """
    asked = is_asked(environment)
    if asked is False:
        return False
    try:
        need_compiler()
    except CannotCompileError as reason:
        if asked:
            raise
        say_plain(str(reason))
        return False
    return True


def say_plain(reason: str) -> None:
    """Tell whoever builds that the wheel will be plain Python, and the *reason*, in one line."""
    print(f"txingress: plain Python, nothing is compiled: {' '.join(reason.split())}", file=sys.stderr)
