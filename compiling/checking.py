"""``python -m compiling.checking FOLDER``: say what mypyc does not take, as ``make check`` does; nothing is compiled.

*FOLDER* keeps what was found the last time, and the C code.
"""

import sys

from compiling.extensions import translated


def main() -> int:
    """Translate; what cannot be is told on standard output and ends the process with status 1."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m compiling.checking FOLDER")
    translated(sys.argv[1])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
