"""``python -m bench.beforehand``: see that what ``make bench`` needs is here before minutes are spent on compiling."""

import sys

from bench.__main__ import ALL_PROGRAMS
from bench.peers.install import ensure_compiler, ensure_lua, ensure_programs, search_system_folders
from bench.setup.ending import status_of


def main() -> None:
    """Install what is missing.  Raises BenchError."""
    search_system_folders()
    ensure_programs(ALL_PROGRAMS)
    ensure_lua()
    ensure_compiler()


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
