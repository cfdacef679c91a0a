"""What carries connections, as far as it is told to listen."""

import os
import socket

from twisted.internet.defer import Deferred

from ingress.errors import StartError
from ingress.proxy.listening.networks import EpollNetwork
from tests.proxy.playing import ProxyCase


class EpollNetworkTests(ProxyCase):
    """The epoll set, asked to listen."""

    def test_refused(self) -> None:
        """A socket that cannot be listened on is closed at once, whoever keeps what went wrong."""
        network = EpollNetwork(self.stage.reactor)
        with socket.create_server(("127.0.0.1", 0)) as server:
            connected = socket.create_connection(server.getsockname())
            descriptor = connected.fileno()
            listening = network.listen("tcp:80", self.stage.site, None, sock=connected)
            failure = self.failureResultOf(Deferred.fromCoroutine(listening), StartError)
            with self.assertRaises(OSError):
                os.fstat(descriptor)
        self.assertIn("Invalid argument", str(failure.value))
