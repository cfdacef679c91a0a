"""Plays the table against a server: ``python -m tests.http2.conformance 127.0.0.1:8080``.

Plain connections with prior knowledge, or TLS with ``--tls NAME``.  By default a server is
granted what the RFC grants; ``--strict`` asks for what the proxy is asked for in its tests.
``/`` has to be answered with a body of five octets or more, to GET, HEAD and POST.
"""

from __future__ import annotations

import argparse
import sys

from tests.fakes.http2.client import Http2Client, SocketWire
from tests.http2.conformance.judge import PATIENCE, judge
from tests.http2.conformance.rows import Row, WrongError
from tests.http2.conformance.table import MORE, ROWS


def main() -> int:
    """Play all rows, tell of those that fail, and return 1 if any does."""
    options = argparse.ArgumentParser(prog="python -m tests.http2.conformance", description=main.__doc__)
    options.add_argument("server", help="address and port")
    options.add_argument("--tls", metavar="NAME", help="speak TLS, and name this server")
    options.add_argument("--authority", default="shop.test", help="of the requests")
    options.add_argument("--strict", action="store_true", help="grant nothing")
    options.add_argument("--more", action="store_true", help="play the rules beyond the well-known cases")
    options.add_argument("--only", default="", metavar="TEXT", help="play rows with this in their names")
    options.add_argument("--seconds", type=float, default=PATIENCE, help="patience with each row")
    chosen = options.parse_args()
    rows = [row for row in (MORE if chosen.more else ROWS) if chosen.only in row.name]
    passed = sum(_passes(row, chosen) for row in rows)
    sys.stdout.write(f"{passed} of {len(rows)} pass\n")
    return int(passed < len(rows))


def _passes(row: Row, chosen: argparse.Namespace) -> bool:
    host, _, port = chosen.server.rpartition(":")
    wire = SocketWire(host, int(port), chosen.tls)
    scheme = b"https" if chosen.tls else b"http"
    try:
        judge(row, Http2Client(wire, chosen.authority.encode(), scheme), chosen.strict, chosen.seconds)
    except WrongError as wrong:
        sys.stdout.write(f"{row.section}: {row.what}\n    {wrong}\n")
        return False
    finally:
        wire.close()
    return True


if __name__ == "__main__":
    sys.exit(main())
