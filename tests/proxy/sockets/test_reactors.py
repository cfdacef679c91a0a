"""The data path on every reactor that a platform may have to offer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

PROJECT = Path(__file__).parents[3]
TESTS = (
    "tests.proxy.sockets.test_streaming.UploadTests.test_chunked",
    "tests.proxy.sockets.test_streaming.DownloadTests.test_connection_after_a_full_buffer",
    "tests.proxy.sockets.downstream.test_downstreams.HalfCloseTests",
    "tests.proxy.sockets.downstream.test_downstreams.VanishTests",
    "tests.proxy.sockets.downstream.test_tls.CertificateTests.test_change",
    "tests.proxy.sockets.test_tunnel.TunnelTests.test_echo",
    # The epoll set is one reader of whatever reactor runs.
    "tests.proxy.transport.test_transport_contract.EpollAcceptedTests",
    "tests.proxy.transport.test_transport_contract.EpollTLSTests",
    "tests.proxy.sockets.test_on_epoll.UploadTestsOnEpoll.test_chunked",
    "tests.proxy.sockets.test_on_epoll.HalfCloseTestsOnEpoll",
    "tests.proxy.sockets.test_on_epoll.TunnelTestsOnEpoll.test_echo",
)
SECONDS = 600


class ReactorTests(SynchronousTestCase):
    """Some tests on real sockets, in processes with other reactors."""

    def run_on(self, name: str) -> None:
        """Run the tests on one reactor."""
        command = [sys.executable, "-m", "twisted.trial", "--reactor", name]
        ended = subprocess.run(
            [*command, "--temp-directory", os.path.abspath(self.mktemp()), *TESTS],
            cwd=PROJECT,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertIn("PASSED", ended.stdout)

    def test_poll(self) -> None:
        """The data path works on ``poll``."""
        self.run_on("poll")

    def test_select(self) -> None:
        """The data path works on ``select``, which every platform has."""
        self.run_on("select")

    def test_asyncio(self) -> None:
        """The data path works on asyncio's event loop."""
        self.run_on("asyncio")
