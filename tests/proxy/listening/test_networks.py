"""What carries connections, as far as it is told to listen."""

import errno
import os
import socket
from typing import Any
from unittest.mock import Mock

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs

from ingress.errors import StartError
from ingress.proxy.listening.networks import EpollNetwork, network_for
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

    def test_no_splice(self) -> None:
        """Where the system refuses to move bytes inside the kernel, it is told, and bodies are copied rather than broken off."""
        refused = OSError(errno.EPERM, os.strerror(errno.EPERM))
        self.patch(os, "splice", Mock(side_effect=refused))
        events, network = self.started()
        self.assertFalse(network.epoll_set.can_splice)
        self.assertEqual([event["why"] for event in events], ["Operation not permitted"])

    def test_splice(self) -> None:
        """Where it does not, bodies take that way, and nothing is told."""
        events, network = self.started()
        self.assertEqual((network.epoll_set.can_splice, events), (True, []))

    def started(self) -> tuple[list[dict[str, Any]], EpollNetwork]:
        """Return what is told at its start, and the network that this system has."""
        reactor = Mock()
        network = network_for(reactor, True)
        assert isinstance(network, EpollNetwork)
        with capturedLogs() as events:
            network.start()
        network.epoll_set.stop()
        return list(events), network
