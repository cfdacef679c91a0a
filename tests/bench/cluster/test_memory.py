"""The benchmark of memory: its figures, and the program that has OpenSSL alone."""

import socket
import ssl
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bench.cluster.memory import HEAD, Figure
from bench.reports.tables import text_table
from bench.setup.certificate import write_key_pair
from bench.setup.processes import HOST, free_ports, pause

REPOSITORY = Path(__file__).parents[3]


class FigureTests(SynchronousTestCase):
    """Figures beside their goals."""

    def test_verdicts(self) -> None:
        """What is as much as its goal has met it, what is more has not, however little, and what has no goal has no verdict."""
        rows = [Figure("a", "MiB", each, goal).row() for each, goal in ((45, 45), (45.001, 45), (7, None))]
        self.assertEqual([row[2:] for row in rows], [["≤ 45", "yes"], ["≤ 45", "no"], ["-", "-"]])

    def test_table(self) -> None:
        """Large figures have no decimals, and all have their unit."""
        printed = text_table(
            [HEAD, Figure("one", "KiB each", 1.4639, 1.5).row(), Figure("all", "MiB", 112.4).row()]
        )
        self.assertEqual(
            printed.splitlines(),
            [
                "               measured   goal  met",
                "one, KiB each      1.46  ≤ 1.5  yes",
                "all, MiB            112      -    -",
            ],
        )


class AloneTests(SynchronousTestCase):
    """What says how much of a connection is OpenSSL's."""

    def test_handshakes(self) -> None:
        """It shakes hands with one client after the other, by HTTP/2."""
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        pair = write_key_pair(folder, ("app.test",))
        (port,) = free_ports(1)
        command = [sys.executable, "-m", "bench.cluster.memory", "--tls-alone", str(port)]
        running = subprocess.Popen([*command, str(pair.certificate_path), str(pair.key_path)], cwd=REPOSITORY)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        context = ssl.create_default_context(cafile=str(pair.certificate_path))
        context.set_alpn_protocols(["h2"])
        for _ in range(2):
            with (
                self.connected(running, port) as connection,
                context.wrap_socket(connection, server_hostname="app.test") as client,
            ):
                self.assertEqual(client.selected_alpn_protocol(), "h2")

    def connected(self, running: "subprocess.Popen[bytes]", port: int) -> socket.socket:
        """Return a connection to *port*, once the program listens there."""
        while running.poll() is None:
            try:
                return socket.create_connection((HOST, port), 20)
            except OSError:
                pause(0.05)
        raise AssertionError(f"it ended with {running.returncode}")
