"""Become a program that finds files of its own below /etc and other folders, while those of the machine stay as they are.

A program of its own, started in a mount namespace of its own:
``unshare --mount -- python -m conformance.ingress_nginx.mounted ROOM ETC [FOLDER...] -- COMMAND``.  ROOM is an empty folder; what ETC
holds lies over /etc; each FOLDER is empty, and there.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def mount(kind: str, *words: str) -> None:
    subprocess.run(["mount", "-t", kind, kind, *words], check=True)


def overlay(room: Path, name: str, folder: str, content: Path | None = None) -> None:
    """Lay what is in *content*, and all that is written from now on, over a folder."""
    upper, work = room / name / "upper", room / name / "work"
    work.mkdir(parents=True)
    if content is None:
        upper.mkdir()
    else:
        shutil.copytree(content, upper, symlinks=True)
    mount("overlay", "-o", f"lowerdir={folder},upperdir={upper},workdir={work}", folder)


def main(arguments: Sequence[str]) -> None:
    at = arguments.index("--")
    room, etc, *folders = (Path(word) for word in arguments[:at])
    mount("tmpfs", str(room))
    overlay(room, "etc", "/etc", etc)
    for number, folder in enumerate(folders):
        if not folder.is_dir():
            # A folder that the machine has not gets its place in a layer of its own, and so leaves nothing behind.
            overlay(room, f"layer-{number}", str(folder.parent))
            folder.mkdir()
        mount("tmpfs", str(folder))
    command = list(arguments[at + 1 :])
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
