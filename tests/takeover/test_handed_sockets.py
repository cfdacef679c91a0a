"""Sockets that were got, and the listeners that ask for them."""

import socket

from twisted.trial.unittest import SynchronousTestCase

from ingress.takeover.handed_sockets import HandedSockets, listening_only
from tests.fakes.processes import free_port


class HandedSocketsTests(SynchronousTestCase):
    """By description, or by address and port."""

    def listening(
        self, address: str = "127.0.0.1", family: int = socket.AF_INET, port: int = 0
    ) -> socket.socket:
        sock = socket.socket(family)
        self.addCleanup(sock.close)
        # Or else a port that is held for us could not be had.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((address, port))
        sock.listen()
        return sock

    def test_by_description(self) -> None:
        """The same description gets its socket, once."""
        sockets, sock = HandedSockets(), self.listening()
        sockets.add("haproxy:tcp:80", sock)
        self.assertIsNone(sockets.take("tcp:80"))
        self.assertIs(sockets.take("haproxy:tcp:80"), sock)
        self.assertIsNone(sockets.take("haproxy:tcp:80"))

    def test_by_address(self) -> None:
        """Another description of the same address and port gets it, too; of another one it does not."""
        sock = self.listening()
        port = sock.getsockname()[1]
        sockets = HandedSockets()
        sockets.add("tcp:old", sock)
        for other in (
            f"tcp:{port}",
            f"tcp6:{port}",
            f"tcp:{port + 1}:interface=127.0.0.1",
            "tcp:0",
            "nonsense",
        ):
            self.assertIsNone(sockets.take(other), other)
        self.assertIs(sockets.take(f"tcp:port={port}:interface=127.0.0.1"), sock)

    def test_all_addresses(self) -> None:
        """A port of all addresses is that of its family alone."""
        sock = self.listening("")
        port = sock.getsockname()[1]
        sockets = HandedSockets()
        sockets.add("old", sock)
        self.assertIsNone(sockets.take(f"tcp6:{port}"))
        self.assertIs(sockets.take(f"tcp:{port}"), sock)

    def test_what_does_not_listen(self) -> None:
        """A socket that does not listen is closed."""
        sock = socket.socket()
        sockets = HandedSockets()
        sockets.add("tcp:80", sock)
        self.assertEqual(sock.fileno(), -1)
        self.assertIsNone(sockets.take("tcp:80"))

    def test_datagrams(self) -> None:
        """A socket of UDP is handed over, too, and is never one of TCP, whose port may be the same."""
        # None that the system gives away: another process may have such a one for UDP.
        port = free_port()
        tcp = self.listening(port=port)
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(udp.close)
        udp.bind(("127.0.0.1", port))
        descriptors = {f"tcp:{port}": tcp.fileno(), f"udp:{port}": udp.fileno()}
        self.assertEqual(listening_only(descriptors), descriptors)
        for wanted, other in ((tcp, udp), (udp, tcp)):
            sockets = HandedSockets()
            sockets.add("old", other)
            kind = "tcp" if wanted is tcp else "udp"
            self.assertIsNone(sockets.take(f"{kind}:{port}:interface=127.0.0.1"))
            sockets.add("older", wanted)
            self.assertIsNone(sockets.take(f"{kind}6:{port}:interface=127.0.0.1"))
            self.assertIs(sockets.take(f"{kind}:{port}:interface=127.0.0.1"), wanted)

    def test_rest(self) -> None:
        """Those that nobody asked for are closed."""
        sockets, sock = HandedSockets(), self.listening()
        sockets.add("tcp:80", sock)
        sockets.close()
        self.assertEqual(sock.fileno(), -1)
