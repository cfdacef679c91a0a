"""Tests for ``ingress.proxy.transport.twisted_transports``: what needs no socket of its own."""

import socket

from twisted.internet.address import IPv4Address, IPv6Address, UNIXAddress
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.network.listeners import port_of
from ingress.proxy.contract.addresses import peer_address
from ingress.proxy.contract.transport import Transport
from ingress.proxy.listening.listeners import bound_to
from ingress.proxy.transport.socket_facts import in_kernel
from tests.fakes.transports import MemoryReactor, Peer
from tests.proxy.transport.recorder import Recorder


class SendingTests(SynchronousTestCase):
    """Transports that send at once."""

    def connect(self, window: int | None = None) -> tuple[Peer, Transport]:
        """Connect a transport to a peer."""
        recorder = Recorder()
        return MemoryReactor().connect(recorder, window=window), recorder.transport

    def test_at_once(self) -> None:
        """What is written is sent before the reactor turns."""
        peer, transport = self.connect()
        transport.write(b"now")
        self.assertEqual(peer.take(), b"now")

    def test_order(self) -> None:
        """What the socket does not take is sent later, and nothing overtakes it."""
        peer, transport = self.connect(window=3)
        for number in range(10):
            transport.write(b"%d%d" % (number, number))
        self.assertEqual(peer.received, b"001")
        peer.widen(4)
        transport.write(b"end")
        peer.widen()
        self.assertEqual(peer.received, b"".join(b"%d%d" % (number, number) for number in range(10)) + b"end")

    def test_after_the_end(self) -> None:
        """Writing after the end of our side, or to nobody, is harmless."""
        peer, transport = self.connect()
        transport.loseWriteConnection()
        peer.widen()
        transport.write(b"late")
        self.assertEqual((peer.received, peer.saw_end), (b"", True))
        peer.reset()
        transport.write(b"later")
        self.assertEqual(peer.received, b"")

    def test_close_waits_for_the_rest(self) -> None:
        """A regular close comes after everything that was written."""
        peer, transport = self.connect(window=0)
        transport.write(b"last words")
        transport.loseConnection()
        peer.widen(4)
        self.assertFalse(peer.saw_end)
        peer.widen()
        self.assertEqual((peer.received, peer.saw_end, peer.saw_reset), (b"last words", True, False))


class AddressTests(SynchronousTestCase):
    """Addresses of peers."""

    def test_forms(self) -> None:
        """IPv4 has its own notation even on an IPv6 socket."""
        for address, expected in (
            (IPv4Address("TCP", "192.0.2.1", 1), b"192.0.2.1"),
            (IPv6Address("TCP", "::ffff:192.0.2.1", 1), b"192.0.2.1"),
            (IPv6Address("TCP", "2001:db8::1", 1), b"2001:db8::1"),
            (UNIXAddress("/run/socket"), b"unknown"),
        ):
            self.assertEqual(peer_address(address), expected)


class PortTests(SynchronousTestCase):
    """The port in a listener's description."""

    def test_port(self) -> None:
        """The port of a TCP description is found, and none in any other."""
        for description, expected in (
            ("tcp:443", 443),
            ("tcp6:8443", 8443),
            ("tcp:port=443:interface=127.0.0.1", 443),
            ("tcp:interface=127.0.0.1:port=8443", 8443),
            ("tcp:443:interface=192.0.2.1", 443),
            ("unix:/run/socket", None),
            ("systemd:domain=INET:index=0", None),
        ):
            self.assertEqual(port_of(description), expected, description)


class BoundToTests(SynchronousTestCase):
    """Where a listener's description listens."""

    def test_description(self) -> None:
        """Address and port are found; what stands for all addresses, or is a name, is empty."""
        for description, expected in (
            ("tcp:443", ("", 443)),
            ("tcp:443:interface=127.0.0.1", ("127.0.0.1", 443)),
            ("tcp:interface=192.0.2.1:port=80", ("192.0.2.1", 80)),
            ("tcp:443:interface=0.0.0.0", ("", 443)),
            ("tcp:443:interface=\\:\\:", ("", 443)),
            ("tcp:443:interface=\\:\\:1", ("::1", 443)),
            ("tcp6:443:interface=fd00\\:\\:1:backlog=5", ("fd00::1", 443)),
            ("tcp:443:interface=localhost", ("127.0.0.1", 443)),
            ("tcp:443:interface=node.example", ("", 443)),
            ("tcp:0", None),
            ("unix:/run/socket", None),
            ("systemd:name=http", None),
        ):
            self.assertEqual(bound_to(description), expected, description)


class InKernelTests(SynchronousTestCase):
    """What the kernel has for a peer."""

    def test_full(self) -> None:
        """It is what the peer has no room for, and changes with what is taken."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            near = socket.create_connection(server.getsockname())
            self.addCleanup(near.close)
            far, _ = server.accept()
        self.addCleanup(far.close)
        self.assertEqual(in_kernel(near), 0)
        near.setblocking(False)
        sent = 0
        while True:
            try:
                sent += near.send(bytes(65_536))
            except BlockingIOError:
                break
        before = in_kernel(near)
        self.assertGreater(before, 0)
        taken = 0
        while taken < sent:
            taken += len(far.recv(65_536))
        self.assertLess(in_kernel(near), before)

    def test_unknown(self) -> None:
        """What is no socket, or none any more, has nothing."""
        sock = socket.socket()
        sock.close()
        self.assertEqual((in_kernel(sock), in_kernel(None)), (0, 0))
