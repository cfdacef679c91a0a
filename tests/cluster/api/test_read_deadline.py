"""Tests of answers that come steadily and have no end: what they are waited for, from the head to the last byte."""

from collections.abc import Callable
from pathlib import Path
from time import monotonic

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api import api_client
from ingress.cluster.api.api_client import ApiAccess, ApiConnection, ApiRequest, ApiResponse
from ingress.cluster.api.api_status import SLOW, UNREACHABLE
from ingress.cluster.api.credentials import CredentialSource
from ingress.cluster.api.read_deadline import ReadDeadline
from ingress.errors import KubernetesError
from tests.cluster.api_server_case import PATIENCE_SECONDS
from tests.fakes.peers.dripping import Dripping

SECONDS = 0.3
LONG_SECONDS = 1.5 * PATIENCE_SECONDS
"""So long is nothing waited for, on a busy machine too."""
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: test
contexts: [{{name: test, context: {{cluster: test, user: test}}}}]
clusters: [{{name: test, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: test, user: {{token: x}}}}]
"""
LONG = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def read_all(response: ApiResponse) -> object:
    return response.read_all(SECONDS)


def read_chunks(response: ApiResponse) -> None:
    with response.within(SECONDS):
        while response.read_chunk():
            pass


class DrippingTests(SynchronousTestCase):
    """An API server that says something again and again, much more often than it may be silent."""

    def error(
        self,
        began: bytes,
        more: bytes,
        read: Callable[[ApiResponse], object] = read_all,
        head_seconds: float = PATIENCE_SECONDS,
    ) -> KubernetesError:
        """Return how a request fails that waits so long for a head."""
        with Dripping(began, more) as peer:
            path = Path(self.mktemp())
            path.write_text(KUBECONFIG.format(port=peer.port))
            access = ApiAccess(CredentialSource(str(path), None, None, environ={}))
            access.load()
            connection = ApiConnection(access)
            self.addCleanup(connection.close)
            began_at = monotonic()

            def ask() -> None:
                response = connection.send(
                    ApiRequest("GET", "/api/v1/services", timeouts=(head_seconds, head_seconds))
                )
                try:
                    read(response)
                finally:
                    response.close()

            error: KubernetesError = self.assertRaises(KubernetesError, ask)
            self.assertLess(monotonic() - began_at, LONG_SECONDS)
        return error

    def test_head(self) -> None:
        """A head that never ends is no answer, nor are provisional ones without end."""
        for more in (b"H", b"HTTP/1.1 100 Continue\r\n\r\n"):
            error = self.error(b"", more, head_seconds=SECONDS)
            self.assertEqual((error.status, error.reason), (0, UNREACHABLE))
            self.assertEqual(error.message, "no answer in time")

    def test_refusal(self) -> None:
        """A refusal counts without its words, if these do not come."""
        self.patch(api_client, "_REFUSAL_SECONDS", SECONDS)
        error = self.error(LONG % b"503 Service Unavailable", b" ")
        self.assertEqual((error.status, error.reason), (503, "Service Unavailable"))

    def test_body(self) -> None:
        """A body takes as long as whoever reads it says."""
        for began, more, read in (
            (LONG % b"200 OK", b" ", read_all),
            (LONG % b"200 OK", b" ", read_chunks),
            (CHUNKED, b"0", read_all),
            (CHUNKED, b"0", read_chunks),
        ):
            error = self.error(began, more, read)
            self.assertEqual((error.status, error.reason), (0, SLOW))
            self.assertEqual(error.message, "the answer is too slow")


class ReadDeadlineTests(SynchronousTestCase):
    """How much time is left."""

    def test_left(self) -> None:
        """Without bounds there is no end, and after bounded reading there is none again."""
        now = 10.0
        deadline = ReadDeadline(lambda: now)
        self.assertIsNone(deadline.left())
        with deadline.within(5.0):
            now = 12.0
            self.assertEqual(deadline.left(), 3.0)
            with deadline.within(1.0):
                self.assertEqual(deadline.left(), 1.0)
            self.assertEqual(deadline.left(), 3.0)
        self.assertIsNone(deadline.left())
