"""Sockets of UDP: their addresses, and which of them an answer comes from."""

from __future__ import annotations

import socket
import struct
from typing import Any

from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from ingress.errors import StartError
from ingress.proxy.transport.datagrams import (
    ReactorSockets,
    UnreadDatagrams,
    answer_from,
    connect_datagrams,
    is_everywhere,
    take_datagrams,
)
from ingress.proxy.transport.epoll.epoll_set import ERROR, READ
from tests.fakes.datagrams import FakeSocket

PKTINFO_4 = (socket.IPPROTO_IP, 8)
PKTINFO_6 = (socket.IPPROTO_IPV6, socket.IPV6_PKTINFO)


class AnswerFromTests(SynchronousTestCase):
    """``answer_from``."""

    def test_ipv4(self) -> None:
        """The address that was asked is that of the answer; the way is the kernel's affair."""
        ours, head = socket.inet_aton("10.0.0.1"), socket.inet_aton("10.0.0.255")
        said = [(*PKTINFO_4, struct.pack("=i4s4s", 3, ours, head))]
        self.assertEqual(answer_from(said), ((*PKTINFO_4, struct.pack("=i4s4s", 0, ours, bytes(4))),))

    def test_ipv6(self) -> None:
        """So it is over IPv6, but that an address of the link is one of its interface."""
        for address, interface in (("2001:db8::1", 0), ("fe80::1", 3)):
            ours = socket.inet_pton(socket.AF_INET6, address)
            said = [(*PKTINFO_6, struct.pack("=16si", ours, 3))]
            self.assertEqual(answer_from(said), ((*PKTINFO_6, struct.pack("=16si", ours, interface)),))

    def test_nothing(self) -> None:
        """Where nothing of that is said, or what is said is cut off, the kernel chooses."""
        for said in ([], [(socket.SOL_SOCKET, 1, b"x" * 12)], [(*PKTINFO_4, b"x" * 11)], [(*PKTINFO_6, b"")]):
            self.assertEqual(answer_from(said), ())


class UnreadTests(SynchronousTestCase):
    """``UnreadDatagrams``, on a socket of the kernel."""

    def test_full(self) -> None:
        """Whatever was sent and cannot be read was dropped, and is told once; so is what is dropped later."""
        with (
            take_datagrams("udp:0:interface=127.0.0.1") as sock,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client,
        ):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            unread = UnreadDatagrams(sock)
            self.assertEqual(unread.further(), 0)
            for _ in range(2):
                for _ in range(100):
                    client.sendto(b"?", sock.getsockname())
                told = unread.further()
                self.assertEqual(unread.further(), 0)
                read = 0
                with self.assertRaises(BlockingIOError):
                    while sock.recv(9):
                        read += 1
                self.assertEqual((told + read, bool(told)), (100, True))
            for _ in range(100):
                client.sendto(b"?", sock.getsockname())
            # Whoever has it next counts what comes from then on.
            self.assertEqual(UnreadDatagrams(sock).further(), 0)

    def test_nobody_says(self) -> None:
        """Where the system does not say, as of a socket that is closed, there are none, also from there on."""
        sock = FakeSocket()
        sock.unread = 5
        unread = UnreadDatagrams(sock)  # type: ignore[arg-type]
        sock.unread = (1 << 32) - 1
        self.assertEqual(unread.further(), (1 << 32) - 6)
        sock.unread = 3
        self.assertEqual(unread.further(), 4)
        sock.close()
        self.assertEqual([unread.further(), unread.further()], [0, 0])


class TakeDatagramsTests(SynchronousTestCase):
    """``take_datagrams``."""

    def test_descriptions(self) -> None:
        """A description of one address has it, others have all of their family."""
        for description, family, address in (
            ("udp:0", socket.AF_INET, "0.0.0.0"),
            ("udp:0:interface=127.0.0.1", socket.AF_INET, "127.0.0.1"),
            ("udp6:0", socket.AF_INET6, "::"),
            ("udp6:0:interface=\\:\\:1", socket.AF_INET6, "::1"),
            ("udp:0:interface=\\:\\:1", socket.AF_INET6, "::1"),
        ):
            with take_datagrams(description) as sock:
                self.assertEqual((sock.family, sock.getsockname()[0]), (family, address))
                self.assertEqual(
                    (sock.getblocking(), is_everywhere(sock)), (False, address in ("0.0.0.0", "::"))
                )

    def test_faults(self) -> None:
        """What cannot be had is told, with its description."""
        with take_datagrams("udp:0:interface=127.0.0.1") as sock:
            port = sock.getsockname()[1]
            for description, why in (
                (f"udp:{port}:interface=127.0.0.1", "Address already in use"),
                ("udp:53:interface=192.0.2.1", "Cannot assign requested address"),
                ("udp:70000", "port must be 0-65535"),
                ("tcp:53", "names no port of UDP"),
                ("udp6:0:interface=127.0.0.1", ""),
            ):
                error = self.assertRaises(StartError, take_datagrams, description)
                self.assertIn(f"cannot listen on {description}: ", str(error))
                self.assertIn(why, str(error))

    def test_connected(self) -> None:
        """A socket that cannot be connected is closed."""
        self.assertRaises(OSError, connect_datagrams, "255.255.255.255", 53)
        with connect_datagrams("::1", 53) as sock:
            self.assertEqual(sock.getpeername()[:2], ("::1", 53))


class FakeReactor:
    """Keeps its readers."""

    def __init__(self) -> None:
        self.readers: list[Any] = []

    def addReader(self, reader: Any) -> None:
        self.readers.append(reader)

    def removeReader(self, reader: Any) -> None:
        if reader in self.readers:
            self.readers.remove(reader)


class Told:
    """A descriptor that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[int] = []
        self.failures: list[Failure] = []
        self.bug: Exception | None = None

    def ready(self, events: int) -> None:
        self.events.append(events)
        if self.bug is not None:
            raise self.bug

    def failed(self, failure: Failure) -> None:
        self.failures.append(failure)


class ReactorSocketsTests(SynchronousTestCase):
    """``ReactorSockets``: a reactor of Twisted's tells of datagrams and errors."""

    def setUp(self) -> None:
        self.reactor = FakeReactor()
        self.sockets = ReactorSockets(self.reactor)
        self.told = Told()
        self.sockets.add(self.told, 7, READ)
        (self.reader,) = self.reactor.readers

    def test_told(self) -> None:
        """What there is to read is told, until that is over."""
        self.assertEqual((self.reader.fileno(), self.reader.logPrefix()), (7, "UDP"))
        self.reader.doRead()
        self.assertEqual(self.told.events, [READ])
        self.sockets.remove(7)
        self.sockets.remove(7)
        self.assertEqual(self.reactor.readers, [])

    def test_error(self) -> None:
        """An error, which a reactor takes for the end of a connection, is told, and what follows is awaited again."""
        self.reactor.readers.clear()
        self.reader.connectionLost(Failure(OSError()))
        self.assertEqual((self.told.events, self.reactor.readers), ([ERROR], [self.reader]))
        self.sockets.remove(7)
        self.reader.connectionLost(Failure(OSError()))
        self.assertEqual((self.told.events, self.reactor.readers), ([ERROR], []))

    def test_bug(self) -> None:
        """A bug is logged, and costs the descriptor that has it."""
        self.told.bug = ZeroDivisionError()
        self.reader.doRead()
        self.assertEqual(len(self.told.failures), 1)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
