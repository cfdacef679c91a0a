"""The extensions of a wheel: one library for each room, made by mypyc, and a small module for each module in it.

One for each room, and not one for all: rooms compile side by side, and a change compiles one anew.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from compiling.modules import by_room, compiled_files
from compiling.wish import is_asked, is_compiled, say_plain

if TYPE_CHECKING:
    from setuptools import Extension

COMMANDS = frozenset(("build", "build_ext", "bdist_wheel"))
"""Commands of setuptools that make a wheel or its parts; all others ask for metadata, or make what is plain."""
LIBRARY = "compiled"
"""What the library of a room is called, before ``__mypyc``."""
OPTIMIZATION = "2"
FOLDER = "TXINGRESS_BUILD_FOLDER"
"""The variable with the folder for what is made on the way; ``build`` without."""


def extensions(arguments: Sequence[str]) -> list["Extension"]:
    """Return what is to be compiled for the command line *arguments*: nothing where the environment, or the lack of a compiler, says so.

    Raises ``CannotCompileError``, or ends the process, where something has to be compiled and cannot.
    """
    if COMMANDS.isdisjoint(arguments) or not is_compiled(os.environ):
        return []
    try:
        import mypyc  # noqa: F401
    except ImportError as error:
        if is_asked(os.environ):
            raise
        say_plain(f"{error.msg} (pip brings it, unless it is told to use no isolation)")
        return []
    return translated(os.environ.get(FOLDER, "build"))


def translated(folder: str) -> list["Extension"]:
    """Translate all that is compiled to C below *folder*, and return what is to be made of that; ends the process if it cannot be."""
    from mypyc.build import mypycify

    files = compiled_files()
    groups: list[tuple[list[str], str | None]] = [
        (some, f"{room}.{LIBRARY}") for room, some in by_room(files).items()
    ]
    made = mypycify(
        ["--config-file=pyproject.toml", f"--cache-dir={folder}/mypy", *files],
        opt_level=OPTIMIZATION,
        debug_level="0",
        separate=groups,
        target_dir=folder,
    )
    for extension in made:
        # What a newer compiler warns of is no reason to fail.
        extension.extra_compile_args = [one for one in extension.extra_compile_args if one != "-Werror"]
    return cast("list[Extension]", made)
