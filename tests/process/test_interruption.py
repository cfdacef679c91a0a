"""Breaking off what blocks on a socket; ``tests.cluster.api.test_api_client`` and ``tests.tracing`` have whole requests."""

import socket
import ssl

from twisted.trial.unittest import SynchronousTestCase

from ingress.process.interruption import Interruption
from tests.cluster.api_server_case import LIMIT_SECONDS, ApiServerTestCase, in_thread


class InterruptionTests(SynchronousTestCase):
    """Shutting down the socket in use."""

    def setUp(self) -> None:
        self.interruption = Interruption()
        self.ours, self.theirs = socket.socketpair()
        for one in (self.ours, self.theirs):
            one.settimeout(1.0)
            self.addCleanup(one.close)

    def assert_shut(self) -> None:
        """Both directions are at their end."""
        self.assertEqual((self.ours.recv(1), self.theirs.recv(1)), (b"", b""))

    def test_socket_in_use(self) -> None:
        """The socket that was shown is shut down."""
        self.interruption.show(self.ours)
        self.assertFalse(self.interruption.is_interrupted)
        self.interruption.interrupt()
        self.assertTrue(self.interruption.is_interrupted)
        self.assert_shut()

    def test_socket_that_comes_later(self) -> None:
        """A socket that is shown after the interruption is shut down at once."""
        self.interruption.interrupt()
        self.interruption.show(self.ours)
        self.assert_shut()

    def test_closed_socket(self) -> None:
        """A socket that is closed already, or none at all, does no harm."""
        self.interruption.show(self.ours)
        self.ours.close()
        self.interruption.interrupt()
        self.interruption.show(None)
        self.assertEqual(self.theirs.recv(1), b"")

    def test_another_request(self) -> None:
        """What is shown once another request has begun is left alone, until that is broken off."""
        self.interruption.interrupt()
        self.interruption.begin()
        self.interruption.show(self.ours)
        self.ours.send(b"a")
        self.assertEqual(self.theirs.recv(1), b"a")
        self.interruption.interrupt()
        self.assert_shut()


class TLSSocketTests(ApiServerTestCase):
    """Sockets with TLS."""

    tls = True

    async def test_stays_a_tls_socket(self) -> None:
        """After the interruption the socket still decrypts: no ciphertext is taken for an answer."""

        def connect() -> ssl.SSLSocket:
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            return context.wrap_socket(
                socket.create_connection(("127.0.0.1", self.server.port), LIMIT_SECONDS)
            )

        connected = await in_thread(connect)
        self.addCleanup(connected.close)
        interruption = Interruption()
        interruption.show(connected)
        interruption.interrupt()
        self.assertIsNotNone(connected.version())
