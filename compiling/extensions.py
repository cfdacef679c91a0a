"""The extensions of a wheel: one library for each room, made by mypyc, and a small module for each module in it.

One for each room, and not one for all: rooms compile side by side, and a change compiles one anew.
"""

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from compiling.modules import REPOSITORY, by_room, compiled_files
from compiling.wish import is_asked, is_compiled, say_plain

if TYPE_CHECKING:
    from setuptools import Extension

COMMANDS = frozenset(("build", "build_ext", "bdist_wheel"))
"""Commands of setuptools that make a wheel or its parts; all others ask for metadata, or make what is plain."""
LIBRARY = "compiled"
"""What the library of a room is called, before ``__mypyc``."""
OPTIMIZATION = "2"
HIDDEN = "-fvisibility=hidden"
"""A library shows nothing but how it is loaded: so calls within it are direct, and may be inlined, and what it knows is found without a table."""
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


def forget_other_sources(folder: Path, package: Path, files: Sequence[str]) -> None:
    """Let all rooms below *folder* be translated anew if any source of *package* has changed, or which *files* are compiled.

    Those whose C is the same are not compiled anew.

    Where mypyc has one room from its cache and translates another, it calls constructors by C functions that are not there,
    namely those of classes that stay Python's.
    """
    digest = hashlib.sha256("\0".join(files).encode())
    for path in sorted(package.rglob("*.py")):
        digest.update(b"%b\0%b" % (str(path).encode(), hashlib.sha256(path.read_bytes()).digest()))
    sources = folder / "sources"
    if not sources.exists() or sources.read_text() != digest.hexdigest():
        shutil.rmtree(folder / "mypy", ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        sources.write_text(digest.hexdigest())


def translated(folder: str) -> list["Extension"]:
    """Translate all that is compiled to C below *folder*, and return what is to be made of that; ends the process if it cannot be."""
    from mypyc.build import mypycify

    files = compiled_files()
    forget_other_sources(Path(folder), REPOSITORY / "ingress", files)
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
        extension.extra_compile_args = [
            *(one for one in extension.extra_compile_args if one != "-Werror"),
            HIDDEN,
        ]
    return cast("list[Extension]", made)
