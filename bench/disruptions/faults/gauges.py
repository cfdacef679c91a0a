"""What the kernel knows of a proxy beyond time and memory: open files, threads, and what went to disk."""

import os
import stat
from pathlib import Path

from bench.measuring.gauges import process_tree

_PROC = Path("/proc")
_ESTABLISHED = "01"


def open_files(pid: int) -> int:
    """How many descriptors the tree of *pid* has open."""
    return sum(len(_entries(_PROC / str(process) / "fd")) for process in process_tree(pid))


def threads(pid: int) -> int:
    """How many threads the tree of *pid* has."""
    return sum(len(_entries(_PROC / str(process) / "task")) for process in process_tree(pid))


def written_bytes(pid: int) -> int:
    """How many bytes the tree of *pid* has caused to be written to disk."""
    total = 0
    for process in process_tree(pid):
        try:
            lines = (_PROC / str(process) / "io").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("write_bytes:"))
    return total


def regular_file_bytes(pid: int) -> int:
    """The size of all regular files that the tree of *pid* has open for writing, those without a name too.

    It sees also what is on a file system in memory, of which the kernel counts nothing as written.
    """
    total = 0
    for process in process_tree(pid):
        for name in _entries(_PROC / str(process) / "fd"):
            path = _PROC / str(process) / "fd" / name
            try:
                found = path.stat()
                if stat.S_ISREG(found.st_mode) and os.lstat(path).st_mode & stat.S_IWUSR:
                    total += found.st_size
            except OSError:
                continue  # closed meanwhile
    return total


def established(port: int, table: str | None = None) -> int:
    """How many connections to *port* of this machine are established, on the side that accepted them.

    *table* is the text of ``/proc/net/tcp``; without one it is read.
    """
    lines = (table if table is not None else (_PROC / "net" / "tcp").read_text()).splitlines()[1:]
    found = 0
    for line in lines:
        _, local, _, state, *_ = line.split()
        found += int(local.partition(":")[2], 16) == port and state == _ESTABLISHED
    return found


def _entries(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
