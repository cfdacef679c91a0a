"""``python -m bench.compiler``: see that what is measured can be compiled here, before that is begun."""

import sys

from bench.ending import status_of
from bench.install import ensure_compiler


def main() -> int:
    """Install what is missing.  Raises BenchError."""
    ensure_compiler()
    return 0


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
