"""Tests for ``ingress.tls.binding``: reads, and that what one connection failed by is nothing that another one hears of."""

import socket
from datetime import UTC, datetime
from pathlib import Path

from OpenSSL import SSL
from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.transport.epoll.sockets import reset_on_close
from ingress.tls.binding import WANT_READ, agreed_on, forget_errors, receive, step, write_whole_or_again
from ingress.tls.contexts import ServerContexts
from ingress.tls.generated import generate_certificate


class StepTests(SynchronousTestCase):
    """Steps of a handshake in memory, and what was agreed on by it."""

    def test_steps(self) -> None:
        """A step says what is awaited, and when the handshake is over."""
        server = ServerContexts(generate_certificate(datetime.now(UTC)), http2=True).connection_on(None)
        server.set_accept_state()
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        context.set_alpn_protos([b"h2"])
        client = SSL.Connection(context, None)
        client.set_connect_state()
        steps = []
        for side, other in ((client, server), (server, client), (client, server), (server, client)):
            steps.append(step(side))
            other.bio_write(side.bio_read(65536))
        self.assertEqual(steps, [WANT_READ, WANT_READ, 0, 0])
        for side in (client, server):
            self.assertTrue(agreed_on(side, b"h2"))
            self.assertFalse(agreed_on(side, b"h3") or agreed_on(side, b"http/1.1"))

    def test_refused(self) -> None:
        """What is no handshake is raised, as by pyOpenSSL's own method."""
        server = ServerContexts(generate_certificate(datetime.now(UTC))).connection_on(None)
        server.set_accept_state()
        self.assertFalse(agreed_on(server, b"h2"))
        server.bio_write(b"GET / HTTP/1.1\r\n\r\n")
        self.assertRaises(SSL.Error, step, server)
        forget_errors()


class TLSCase(SynchronousTestCase):
    """TLS between sockets."""

    def setUp(self) -> None:
        certificate = generate_certificate(datetime.now(UTC))
        identity = Path(self.mktemp())
        identity.write_bytes(certificate.chain_pem + certificate.key_pem)
        self.context = SSL.Context(SSL.TLS_SERVER_METHOD)
        self.context.use_certificate_chain_file(str(identity))
        self.context.use_privatekey_file(str(identity))
        self.addCleanup(forget_errors)

    def connect(self, near: socket.socket, far: socket.socket) -> tuple[SSL.Connection, SSL.Connection]:
        """Return both sides of a TLS connection over *near* and *far*; the first has nothing to read."""
        self.addCleanup(near.close)
        self.addCleanup(far.close)
        server = SSL.Connection(self.context, near)
        client = SSL.Connection(SSL.Context(SSL.TLS_CLIENT_METHOD), far)
        server.set_accept_state()
        client.set_connect_state()
        near.setblocking(False)
        far.setblocking(False)
        waiting = [client, server]
        while waiting:
            side = waiting.pop(0)
            try:
                side.do_handshake()
            except SSL.WantReadError:
                waiting.append(side)
        return server, client


class ReceiveTests(TLSCase):
    """What is read of a connection."""

    def setUp(self) -> None:
        super().setUp()
        near, self.sock = socket.socketpair()
        self.near, self.far = self.connect(near, self.sock)

    def test_records(self) -> None:
        """A read is the content of one record, however long, and empty when no more has come."""
        self.assertEqual(receive(self.near), b"")
        largest = bytes(range(256)) * 64
        for content in (b"x", largest, b"yz"):
            self.far.send(content)
        self.assertEqual([receive(self.near) for _ in range(4)], [b"x", largest, b"yz", b""])

    def test_part_of_a_record(self) -> None:
        """Of a record that has not come whole nothing is read."""
        self.sock.send(b"\x17\x03\x03\x00\x20")
        self.assertEqual(receive(self.near), b"")

    def test_end(self) -> None:
        """The end of the peer's side raises what pyOpenSSL does."""
        self.far.shutdown()
        self.assertRaises(SSL.ZeroReturnError, receive, self.near)

    def test_lost(self) -> None:
        """A connection that is gone without that does so, too."""
        self.sock.close()
        self.assertRaises(SSL.SysCallError, receive, self.near)

    def test_nonsense(self) -> None:
        """What is no record does so, with OpenSSL's words for it."""
        self.sock.send(b"GET / HTTP/1.1")
        told = self.assertRaises(SSL.Error, receive, self.near)
        self.assertTrue(told.args[0])


class ForgetErrorsTests(TLSCase):
    """A write to a connection that was reset, and then a read of another one that has nothing yet."""

    def setUp(self) -> None:
        super().setUp()
        self.other, _ = self.connect(*self.loopback())
        near, peer = self.loopback()
        self.lost, _ = self.connect(near, peer)
        reset_on_close(peer)
        peer.close()
        # The first error is that of the socket, which is told of the reset; OpenSSL is told of the others.
        with self.assertRaises(SSL.SysCallError):
            self.lost.send(b"?")

    def loopback(self) -> tuple[socket.socket, socket.socket]:
        """Return the ends of a connection that can be reset."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            near = socket.create_connection(listening.getsockname())
            return near, listening.accept()[0]

    def test_forgotten(self) -> None:
        """Another connection is told that it has nothing to read, and of the lost one nothing is told twice."""
        forget_errors()
        self.assertRaises(SSL.WantReadError, self.other.recv, 1)
        told = self.assertRaises(SSL.Error, self.lost.send, b"?")
        self.assertEqual(told.args, ([],))

    def test_kept(self) -> None:
        """Without that, it is told again, be it to whoever asks next: why this is needed at all."""
        told = self.assertRaises(SSL.Error, self.lost.send, b"?")
        self.assertNotEqual(told.args, ([],))


class WriteWholeTests(TLSCase):
    """Writes to a peer that does not read, which are begun and cannot be ended."""

    PIECE = bytes(range(256)) * 400

    def setUp(self) -> None:
        super().setUp()
        self.writing, self.reading = self.connect(*socket.socketpair())
        write_whole_or_again(self.writing)
        self.sent = 0
        with self.assertRaises(SSL.WantWriteError):
            while True:
                self.assertEqual(self.writing.send(self.PIECE), len(self.PIECE))
                self.sent += len(self.PIECE)

    def take(self, received: bytearray) -> None:
        """Read all that is there."""
        try:
            while True:
                received += self.reading.recv(1 << 16)
        except SSL.WantReadError:
            pass

    def test_again(self) -> None:
        """The same bytes are taken in the end, wherever they are by then, and arrive once."""
        received = bytearray()
        total = self.sent + len(self.PIECE)
        again = memoryview(bytes(self.PIECE))
        while len(received) < total:
            self.take(received)
            if self.sent < total:
                try:
                    self.sent += self.writing.send(memoryview(bytearray(again)))
                except SSL.WantWriteError:
                    pass
        self.assertEqual(self.sent, total)
        self.assertEqual(bytes(received), self.PIECE * (total // len(self.PIECE)))

    def test_less(self) -> None:
        """Fewer bytes than were begun with are refused: that is why nothing may come in between."""
        self.take(bytearray())
        with self.assertRaises(SSL.Error) as caught:
            self.writing.send(self.PIECE[:100])
        self.assertNotIsInstance(caught.exception, SSL.WantWriteError)
