"""Tests of the layer of TLS on Twisted's transports: clients in disorder."""

import socket
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any, cast

from OpenSSL import SSL
from twisted.internet import tcp
from twisted.internet.error import ConnectionLost
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import MemoryReactor, StringTransportWithDisconnection
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.transport.tls_layer import READ_BYTES, TLSLayer
from ingress.proxy.transport.twisted_transports import DirectServer
from ingress.tls.contexts import ServerContexts
from ingress.tls.generated_certificate import generate_certificate

GOODBYE = b"\x15\x03\x03\x00\x02\x01\x00"
"""The alert close_notify (RFC 5246 section 7.2.1), in the clear."""


class Waits(Protocol):
    """Is told how its connection has ended."""

    reason: Failure | None = None

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The connection is gone."""
        self.reason = reason


class GoodbyeTests(SynchronousTestCase):
    """A client that says goodbye amid the handshake."""

    def test_ends(self) -> None:
        """It ends the connection, as one that closes it does, and is no bug that the log would tell of."""
        for version in (SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION):
            contexts = ServerContexts(generate_certificate(datetime.now(UTC)))
            factory: Any = TLSMemoryBIOFactory(contexts, False, Factory.forProtocol(Waits), Clock())
            factory.protocol = TLSLayer
            layer = factory.buildProtocol(None)
            transport = StringTransportWithDisconnection()
            transport.protocol = layer
            layer.makeConnection(transport)
            waits = layer.wrappedProtocol
            context = SSL.Context(SSL.TLS_CLIENT_METHOD)
            context.set_max_proto_version(version)
            client = SSL.Connection(context, None)
            client.set_connect_state()
            self.assertRaises(SSL.WantReadError, client.do_handshake)
            layer.dataReceived(client.bio_read(1 << 16))
            layer.dataReceived(GOODBYE)
            self.assertFalse(transport.connected)
            self.assertIs(waits.reason.check(ConnectionLost), ConnectionLost)


class ReadTests(SynchronousTestCase):
    """How much is read at once."""

    def test_few(self) -> None:
        """One turn decrypts a few KiB, though more has come, which may be records that each take as long as a request."""
        contexts = ServerContexts(generate_certificate(datetime.now(UTC)))
        factory: Any = TLSMemoryBIOFactory(contexts, False, Factory.forProtocol(Waits), Clock())
        taken: list[int] = []

        class Counting(TLSLayer):
            """Takes nothing."""

            def dataReceived(self, bytes: bytes) -> None:
                taken.append(len(bytes))

        factory.protocol = Counting
        near, far = socket.socketpair()
        for sock in (near, far):
            sock.setblocking(False)
            self.addCleanup(sock.close)
        layer, port = factory.buildProtocol(None), tcp.Port(0, factory, reactor=MemoryReactor())
        transport = DirectServer(near, layer, ("127.0.0.1", 1), port, 1, MemoryReactor())
        layer.makeConnection(transport)
        sent = far.send(bytes(1 << 16))
        self.assertGreater(sent, 2 * READ_BYTES)
        transport.doRead()
        transport.doRead()
        self.assertEqual(taken, [READ_BYTES, READ_BYTES])

    def test_rest_of_a_record(self) -> None:
        """Of a record that has begun all is read at once, and a few KiB behind it, however it was cut."""
        sizes = [1, 20, 16 * 1024, 0, 16 * 1024, 3]
        records = b"".join(b"\x17\x03\x03" + size.to_bytes(2) + bytes(size) for size in sizes)
        ends = [0, *accumulate(5 + size for size in sizes)]
        for step in (1, 3, 4, 5, 1000, READ_BYTES, 20_000):
            layer = TLSLayer(cast(Any, None), cast(Any, None))
            for at in range(step, len(records), step):
                whole = max(end for end in ends if end <= at)
                rest = next(end for end in ends if end >= at) - at if at - whole >= 5 or at == whole else 0
                self.assertEqual(layer._rest_of_record(records[at - step : at]), rest, (step, at))

    def test_bulk(self) -> None:
        """What comes in large records is read by the record, and what follows in small ones by a few KiB again."""
        contexts = ServerContexts(generate_certificate(datetime.now(UTC)))
        factory: Any = TLSMemoryBIOFactory(contexts, False, Factory.forProtocol(Protocol), Clock())
        factory.protocol = TLSLayer
        layer = factory.buildProtocol(None)
        transport = StringTransportWithDisconnection()
        transport.protocol = layer
        layer.makeConnection(transport)
        client = SSL.Connection(SSL.Context(SSL.TLS_CLIENT_METHOD), None)
        client.set_connect_state()
        self.assertRaises(SSL.WantReadError, client.do_handshake)
        layer.dataReceived(client.bio_read(1 << 16))
        client.bio_write(transport.value())
        client.do_handshake()
        layer.dataReceived(client.bio_read(1 << 16))
        read: Any = transport
        self.assertEqual(read.bufferSize, READ_BYTES)
        client.send(bytes(16 * 1024))
        record = client.bio_read(1 << 16)
        layer.dataReceived(record[:READ_BYTES])
        self.assertEqual(read.bufferSize, len(record))
        layer.dataReceived(record[READ_BYTES:])
        self.assertEqual(read.bufferSize, READ_BYTES)
