"""Tests for the sockets of ports with pages."""

import socket
from typing import Any

from twisted.internet import reactor as real_reactor  # noqa: TID251 - real sockets need the real reactor
from twisted.internet.protocol import Factory, Protocol
from twisted.trial.unittest import TestCase

from ingress.admin.port.connections import AdminPort
from ingress.proxy.listening.listeners import listen

MANY = 200


class AdminPortTests(TestCase):
    """``AdminPort``."""

    async def test_many_wait(self) -> None:
        """Behind many who connected first there is room for a probe, which need not try again."""
        factory = Factory.forProtocol(Protocol)
        port: Any = await listen(real_reactor, "tcp:0:interface=127.0.0.1", factory, AdminPort)
        self.addCleanup(port.stopListening)
        # The reactor has no turn meanwhile, so nobody is accepted.
        for _ in range(MANY):
            sock = socket.create_connection(("127.0.0.1", port.getHost().port), 0.5)
            self.addCleanup(sock.close)
