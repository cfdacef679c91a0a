"""Tests of connections to endpoints that are made in the epoll set: handshakes with endpoints in disorder."""

from __future__ import annotations

import select
import socket

from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings, TlsSettings, UpstreamTls
from ingress.proxy.transport.epoll.connecting import EpollConnecting
from ingress.tls.handshake_feed import MOST_RECORDS, RECORDS_AT_ONCE
from ingress.tls.upstream import UpstreamContexts
from tests.proxy.transport.epoll.test_epoll_set import LOOPBACK, BatchCase
from tests.proxy.transport.recorder import Recorder


class HandshakeTests(BatchCase):
    """Handshakes with an endpoint that a test plays."""

    def setUp(self) -> None:
        super().setUp()
        self.failures: list[str] = []
        self.addCleanup(self.reactor.advance, 10)
        with socket.create_server((LOOPBACK, 0)) as listener:
            endpoint = Endpoint(LOOPBACK, listener.getsockname()[1], LinkSettings(UpstreamTls(TlsSettings())))
            self.connecting = EpollConnecting(
                self.epoll_set, endpoint, LOOPBACK, Recorder(), self.failures.append, 5, UpstreamContexts()
            )
            self.far = listener.accept()[0]
        self.addCleanup(self.far.close)
        self.epoll_set.doRead()
        self.far.recv(1 << 16)

    @property
    def unread(self) -> int:
        """How many bytes of the endpoint lie in our socket."""
        return len(self.connecting._sock.recv(1 << 20, socket.MSG_PEEK))

    def test_records_of_an_octet(self) -> None:
        """Of what the endpoint says in records of an octet each few are read in a turn, and not too many in all."""
        hello = b"\x02\x00\xff\xff" + bytes(MOST_RECORDS)
        flood = b"".join(b"\x16\x03\x03\x00\x01%c" % octet for octet in hello)
        self.far.sendall(flood)
        for number in range(1, 4):
            self.epoll_set.doRead()
            self.assertEqual(self.unread, len(flood) - 6 * RECORDS_AT_ONCE * number)
        for _ in range(MOST_RECORDS // RECORDS_AT_ONCE):
            self.epoll_set.doRead()
        self.assertEqual(self.failures, ["TLS: too many records in a handshake"])

    def test_part_of_a_record(self) -> None:
        """While a part of a record is here, nobody is told of it over and over; the rest of it is noticed."""
        self.far.sendall(b"\x15\x03\x03\x00")
        self.epoll_set.doRead()
        self.epoll_set.doRead()
        self.assertEqual(select.select([self.epoll_set], [], [], 0)[0], [])
        self.far.sendall(b"\x02\x02\x28")
        self.epoll_set.doRead()
        self.assertEqual(len(self.failures), 1)
        self.assertIn("handshake failure", self.failures[0])
