"""``python -m bench.disruptions.faults.flood``: connect and close, as fast as one process can; says how often that failed."""

import argparse
import os
import socket
from time import monotonic

from bench.setup.processes import HOST

_SECONDS = 10.0
_NICENESS = 5


def main() -> None:
    """Connect *count* times to *port*."""
    parser = argparse.ArgumentParser(prog="python -m bench.disruptions.faults.flood", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    known = parser.parse_args()
    os.nice(_NICENESS)  # the client whose latency is measured runs beside this one
    failed = 0
    began = monotonic()
    for _ in range(known.count):
        try:
            socket.create_connection((HOST, known.port), timeout=_SECONDS).close()
        except OSError:
            failed += 1
    print(known.count - failed, failed, monotonic() - began)


if __name__ == "__main__":
    main()
