"""Plays table and floods over sockets: ``python -m tests.http2``, at a controller that it starts.

With ``--server`` they are played at whoever listens there, with ``--pid`` beside it what the
process costs is told, too.  Rows are judged strictly only where the controller is ours.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from attrs import define

from tests.fakes.http2.client import Http2Client, SocketWire
from tests.http2.conformance.judge import judge
from tests.http2.conformance.rows import WrongError
from tests.http2.conformance.table import MORE, ROWS
from tests.http2.flooding import flood_server
from tests.http2.floods import FLOODS
from tests.http2.running import Controller, backend, controller

MOST_KIB = 4096
"""A hundred answers that wait to be sent are among the floods."""
MOST_SECONDS = 0.5
"""On one slow CPU, with what a process does meanwhile."""


@define
class Target:
    """Who is tested, and how it is reached."""

    host: str
    port: int
    tls: str | None
    authority: bytes
    process: Controller | None
    is_strict: bool

    def connect(self) -> Http2Client:
        """Open a connection; nothing is said yet."""
        scheme = b"https" if self.tls else b"http"
        return Http2Client(SocketWire(self.host, self.port, self.tls), self.authority, scheme)

    def play_table(self) -> int:
        """Play all rows; return how many fail."""
        failures = 0
        for name, rows in (("well-known", ROWS), ("more", MORE)):
            passed = 0
            for row in rows:
                client = self.connect()
                try:
                    judge(row, client, self.is_strict)
                    passed += 1
                except WrongError as wrong:
                    _tell(f"  {row.section}: {row.what}: {wrong}")
                finally:
                    client.wire.close()
            _tell(f"{name} rows: {passed} of {len(rows)} pass")
            failures += len(rows) - passed
        return failures

    def play_floods(self) -> int:
        """Play all floods; return how many are not borne."""
        kib: Callable[[], int] = lambda: self.process.resident_kib if self.process else 0  # noqa: E731
        cpu: Callable[[], float] = lambda: self.process.cpu_seconds if self.process else 0.0  # noqa: E731
        failures = 0
        for flood in FLOODS:
            damage = flood_server(flood, self.connect, kib, cpu)
            is_fine = damage.is_bearable(flood, MOST_KIB, MOST_SECONDS)
            failures += not is_fine
            ended = "closed" if damage.is_closed else "OPEN"
            _tell(
                f"  {'ok' if is_fine else 'BAD':4}{flood.name:46}{damage.pieces:7} pieces, code {damage.code}, {ended}, "
                f"{damage.kib:+} KiB, {damage.cpu_seconds:.2f} s"
            )
        _tell(f"floods: {len(FLOODS) - failures} of {len(FLOODS)} borne")
        return failures


def main() -> int:
    """Play all that is asked for; return 1 if anything fails."""
    options = argparse.ArgumentParser(prog="python -m tests.http2", description=main.__doc__)
    options.add_argument("--server", metavar="ADDRESS:PORT", help="play at this server")
    options.add_argument("--tls", metavar="NAME", help="speak TLS to it, and name this server")
    options.add_argument("--authority", default="shop.test", help="of the requests to it")
    options.add_argument("--pid", type=int, default=0, help="its process")
    chosen = options.parse_args()
    if chosen.server:
        host, _, port = chosen.server.rpartition(":")
        process = Controller(chosen.pid, 0, 0) if chosen.pid else None
        target = Target(host, int(port), chosen.tls, chosen.authority.encode(), process, False)
        return int(target.play_table() + target.play_floods() > 0)
    failures = 0
    with backend() as behind, controller(behind) as process:
        for port, tls in ((process.http, None), (process.https, "shop.test")):
            _tell(f"{'TLS' if tls else 'prior knowledge'}:")
            target = Target("127.0.0.1", port, tls, b"shop.test", process, True)
            failures += target.play_table() + target.play_floods()
        _tell(f"upstream connections: at most {behind.most_open} at once, {behind.total} in all")
    return int(failures > 0)


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
