"""``python -m bench.beforehand``: see that what ``make bench`` needs is here before minutes are spent on compiling."""

import sys

from bench.__main__ import ALL_PROGRAMS
from bench.ending import status_of
from bench.install import ensure_compiler, ensure_lua, ensure_programs, search_system_folders


def main() -> None:
    """Install what is missing.  Raises BenchError."""
    search_system_folders()
    ensure_programs(ALL_PROGRAMS)
    ensure_lua()
    ensure_compiler()


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
