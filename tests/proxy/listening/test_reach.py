"""What this process listens on is no endpoint."""

import os
import socket

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.network.listeners import Listener
from ingress.process.systemd.sockets import HandedOver
from ingress.proxy.listening.reach import endpoint_rules
from ingress.settings import Settings


class EndpointRulesTests(SynchronousTestCase):
    """The settings as rules."""

    def test_listeners(self) -> None:
        """Every listener counts: HTTP, HTTPS, the admin port, and that of the probes."""
        settings = Settings(
            http=("tcp:80",), https=("tcp:443:interface=192.0.2.1",), admin="tcp:10254", probes="tcp:10255"
        )
        found = endpoint_rules(settings.listeners, (), tuple, allows_local=False)
        self.assertEqual(found.listeners, (("", 80), ("192.0.2.1", 443), ("", 10254), ("", 10255)))

    def test_listeners_of_objects(self) -> None:
        """So does every listener that an object asks for, as long as it does."""
        found = endpoint_rules(("tcp:80",), (), tuple, allows_local=False)
        asked = Listener("tcp:8001:interface=192.0.2.1")
        self.assertIsNone(found.port_fault("192.0.2.1", 8001, ()))
        self.assertIsNotNone(found.beside([Listener("tcp:80"), asked]).port_fault("192.0.2.1", 8001, ()))
        self.assertIs(found.beside([Listener("tcp:80")]), found)

    def test_handed_over(self) -> None:
        """So does a socket that was open before the process, wherever that listens."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            handed_over = HandedOver((os.dup(server.fileno()),), ("http",))
            found = endpoint_rules(
                ("systemd:name=http", "systemd:name=none"),
                (),
                tuple,
                allows_local=True,
                handed_over=handed_over,
            )
            self.assertEqual(found.listeners, (server.getsockname(),))
            taken = handed_over.take("systemd:name=http")
            assert taken is not None
            taken.close()
