"""A firewall process on a system without the library."""

import sys
from ctypes import CDLL
from unittest.mock import patch

from ingress.firewall.main import run


def no_library(name: str | None) -> CDLL:
    """Find nothing."""
    raise OSError(f"{name}: cannot open shared object file")


if __name__ == "__main__":
    with patch("ctypes.CDLL", no_library):
        sys.exit(run(sys.argv[1:]))
