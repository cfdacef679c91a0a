"""Tests for ``ingress.tls.binding``: reads, and that what one connection failed by is nothing that another one hears of."""

import contextlib
import socket
from contextlib import redirect_stderr
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

from OpenSSL import SSL, crypto
from OpenSSL._util import lib
from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.transport.epoll.sockets import reset_on_close
from ingress.tls import binding
from ingress.tls.binding import (
    MOST_RECORDS,
    RECORD_BYTES,
    WANT_READ,
    ServerConnection,
    agreed_on,
    be_found,
    forget_errors,
    hear,
    judge_certificates,
    on_server_name,
    put_on_socket,
    receive,
    say_goodbye,
    send,
    step,
    suit_socket,
    take_back,
)
from ingress.tls.contexts import ServerContexts
from ingress.tls.generated_certificate import generate_certificate

NOTHING = (b"", 0, None)
"""What is received where nothing has come."""


def fill(sock: socket.socket) -> int:
    """Have *sock* take no more, by bytes of no connection; return how many."""
    count = 0
    try:
        while True:
            count += sock.send(bytes(1))
    except BlockingIOError:
        return count


def drop(sock: socket.socket, count: int) -> None:
    """Read so many bytes that are of no connection."""
    while count:
        count -= len(sock.recv(count))


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


class JudgingTests(SynchronousTestCase):
    """Certificates of peers, judged by one function for all connections."""

    def test_judged(self) -> None:
        """The function is told whose certificate it is, and what it says decides; where nothing is shown it is not asked."""
        certificate = generate_certificate(datetime.now(UTC))
        contexts = ServerContexts(certificate)
        said = True
        told: list[tuple[SSL.Connection, int, int]] = []

        def judge(connection: SSL.Connection, shown: crypto.X509, error: int, depth: int, good: int) -> bool:
            told.append((connection, depth, good))
            self.assertIsInstance(shown, crypto.X509)
            return said

        for said in (True, False):
            server = contexts.connection_on(None)
            server.set_accept_state()
            be_found(server)
            client = SSL.Connection(SSL.Context(SSL.TLS_CLIENT_METHOD), None)
            client.set_connect_state()
            judge_certificates(client, SSL.VERIFY_PEER, judge)
            step(client)
            server.bio_write(client.bio_read(65536))
            step(server)
            client.bio_write(server.bio_read(65536))
            told.clear()
            if said:
                self.assertEqual(step(client), 0)
            else:
                self.assertRaises(SSL.Error, step, client)
            self.assertEqual({(connection, depth) for connection, depth, _ in told}, {(client, 0)})
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


class ServerConnectionTests(TLSCase):
    """``ServerConnection`` on a socket, beside one that pyOpenSSL has made."""

    def begin(self) -> tuple[ServerConnection, SSL.Connection]:
        """Return the server side, and the client."""
        near, far = socket.socketpair()
        for sock in (near, far):
            sock.setblocking(False)
            self.addCleanup(sock.close)
        server, client = (
            ServerConnection(self.context, near),
            SSL.Connection(SSL.Context(SSL.TLS_CLIENT_METHOD), far),
        )
        put_on_socket(server, near)
        server.set_accept_state()
        client.set_connect_state()
        client.set_tlsext_host_name(b"app.test")
        return server, client

    def shake(self, server: SSL.Connection, client: SSL.Connection) -> None:
        """Take the steps of both sides."""
        self.assertEqual(
            [step(side) for side in (client, server, client, server)], [WANT_READ, WANT_READ, 0, 0]
        )

    def test_whole(self) -> None:
        """It has every attribute that one of pyOpenSSL's has, of the same value where they are not its own."""
        near, far = socket.socketpair()
        with near, far:
            theirs, ours = SSL.Connection(self.context, near), ServerConnection(self.context, near)
        for name, value in vars(theirs).items():
            self.assertIs(type(getattr(ours, name)), type(value), name)
        self.assertEqual([ours._context, ours._socket], [self.context, near])

    def test_in_memory(self) -> None:
        """Without a socket it is as pyOpenSSL makes it."""
        self.assertEqual(ServerConnection(self.context, None).bio_write(b"hello"), 5)

    def test_hears(self) -> None:
        """It takes a step by what it hears, tells what it says, and goes on with the socket."""
        server, client = self.begin()
        sock = server._socket
        assert sock is not None
        for awaited in (WANT_READ, 0):
            with contextlib.suppress(SSL.WantReadError):
                client.do_handshake()
            heard = sock.recv(1 << 16)
            found, said, fault = hear(server, heard)
            self.assertEqual((found, fault), (awaited, None))
            sock.send(said)
        put_on_socket(server, sock)
        client.send(b"request")
        self.assertEqual(receive(server, MOST_RECORDS), (b"request", 1, None))
        server.send(b"answer")
        self.assertEqual(client.recv(100), b"answer")

    def test_hears_nothing(self) -> None:
        """Without octets it waits for some, and says nothing."""
        server, _ = self.begin()
        self.assertEqual(hear(server, b""), (WANT_READ, b"", None))

    def test_hears_nonsense(self) -> None:
        """How a handshake fails is returned, with the alert that says so."""
        server, _ = self.begin()
        _, said, fault = hear(server, b"\x16\x03\x01\x00\x04\x02\0\0\0")
        self.assertIsInstance(fault, SSL.Error)
        self.assertEqual((said[0], len(said)), (21, 7))
        assert fault is not None
        self.assertIsNone(fault.__traceback__)

    def test_says_much(self) -> None:
        """What is said may be more than a record."""
        pem = generate_certificate(datetime.now(UTC)).chain_pem
        for _ in range(60):
            self.context.add_extra_chain_cert(crypto.load_certificate(crypto.FILETYPE_PEM, pem))
        server, client = self.begin()
        with contextlib.suppress(SSL.WantReadError):
            client.do_handshake()
        assert server._socket is not None
        _, said, _ = hear(server, server._socket.recv(1 << 16))
        self.assertGreater(len(said), RECORD_BYTES)

    def test_server_name(self) -> None:
        """The callback is told of the connection that takes the step, which is in no table, and of none of another thread's."""
        told: list[SSL.Connection] = []
        on_server_name(self.context, lambda connection: told.append(connection))
        server, client = self.begin()
        self.shake(server, client)
        self.assertEqual(told, [server])
        self.assertNotIn(server._ssl, SSL.Connection._reverse_mapping)
        other, client = self.begin()
        be_found(other)
        self.patch(binding, "_stepping", server)
        self.assertRaises(SSL.WantReadError, client.do_handshake)
        self.assertRaises(SSL.WantReadError, other.do_handshake)
        self.assertEqual(told, [server, other])

    def test_refused(self) -> None:
        """A handshake that nobody is found for is refused."""
        on_server_name(self.context, lambda connection: None)
        server, client = self.begin()
        step(client)
        with redirect_stderr(StringIO()) as said:
            self.assertRaises(SSL.Error, server.recv, 1)
        self.assertIn("KeyError", said.getvalue())

    def test_verified(self) -> None:
        """Whoever is to be found is asked about the client's certificate."""
        asked: list[SSL.Connection] = []

        def judge(connection: SSL.Connection, *_: object) -> bool:
            asked.append(connection)
            return True

        server, client = self.begin()
        be_found(server)
        server.set_verify(SSL.VERIFY_PEER, judge)
        client.set_context(self.context)
        self.shake(server, client)
        self.assertEqual(set(asked), {server})


class SendTests(TLSCase):
    """What is sent over a connection, and its end."""

    def setUp(self) -> None:
        super().setUp()
        self.near_sock, self.sock = socket.socketpair()
        self.near, self.far = self.connect(self.near_sock, self.sock)

    def test_sent(self) -> None:
        """Bytes and views are sent; what is taken of them is told."""
        self.assertEqual(send(self.near, b"bytes"), 5)
        self.assertEqual(send(self.near, memoryview(b"a view")[2:]), 4)
        self.assertEqual(receive(self.far, 4), (b"bytesview", 2, None))

    def test_full(self) -> None:
        """A socket that takes no more raises what pyOpenSSL does."""
        suit_socket(self.near)
        with self.assertRaises(SSL.WantWriteError):
            while send(self.near, bytes(16384)):
                pass

    def test_goodbye(self) -> None:
        """The other side is told of the end; where there is none, nobody is, and nothing is left to be told of."""
        self.assertTrue(say_goodbye(self.near))
        self.assertIsInstance(receive(self.far, 1)[2], SSL.ZeroReturnError)
        self.assertTrue(say_goodbye(SSL.Connection(self.context, None)))
        self.assertEqual(lib.ERR_peek_error(), 0)

    def test_goodbye_has_to_wait(self) -> None:
        """A socket that takes no more has the end wait."""
        self.assertEqual(receive(self.far, 1), NOTHING)
        in_the_way = fill(self.near_sock)
        self.assertFalse(say_goodbye(self.near))
        self.assertEqual(lib.ERR_peek_error(), 0)
        drop(self.sock, in_the_way)
        self.assertTrue(say_goodbye(self.near))
        self.assertIsInstance(receive(self.far, 1)[2], SSL.ZeroReturnError)


class ReceiveTests(TLSCase):
    """What is read of a connection."""

    def setUp(self) -> None:
        super().setUp()
        near, self.sock = socket.socketpair()
        self.near, self.far = self.connect(near, self.sock)

    def test_records(self) -> None:
        """A read is the content of as many records as it is to be, if so many have come, however long they are."""
        self.assertEqual(receive(self.near, 3), NOTHING)
        largest = bytes(range(256)) * 64
        for content in (b"x", largest, largest, b"yz", b"!"):
            self.far.send(content)
        told = [receive(self.near, most) for most in (1, 2, 1, MOST_RECORDS, 1)]
        self.assertEqual(
            told, [(b"x", 1, None), (largest * 2, 2, None), (b"yz", 1, None), (b"!", 1, None), NOTHING]
        )

    def test_lent(self) -> None:
        """More than a record is lent where that is asked for, and as long as it is, nothing else is read into the same memory."""
        largest = bytes(range(256)) * 64
        for content in (b"x", largest, b"1", largest, b"2", largest, b"3"):
            self.far.send(content)
        self.addCleanup(take_back)
        self.assertEqual(receive(self.near, 1, lends=True)[0], b"x")
        lent, records, _ = receive(self.near, 2, lends=True)
        assert isinstance(lent, memoryview)
        self.assertEqual(receive(self.near, 2, lends=True), (largest + b"2", 2, None))
        self.assertEqual((bytes(lent), records), (largest + b"1", 2))
        take_back()
        self.assertIsInstance(receive(self.near, 2, lends=True)[0], memoryview)

    def test_part_of_a_record(self) -> None:
        """Of a record that has not come whole nothing is read."""
        self.far.send(b"before")
        self.sock.send(b"\x17\x03\x03\x00\x20")
        self.assertEqual(receive(self.near, 2), (b"before", 1, None))
        self.assertEqual(receive(self.near, 2), NOTHING)

    def test_end(self) -> None:
        """The end of the peer's side is told as pyOpenSSL does, behind what came before, and again; no frame is kept by that."""
        self.far.send(b"goodbye")
        self.far.shutdown()
        content, records, fault = receive(self.near, 2)
        self.assertEqual((content, records), (b"goodbye", 1))
        assert isinstance(fault, SSL.ZeroReturnError)
        self.assertIsNone(fault.__traceback__)
        self.assertIsInstance(receive(self.near, 2)[2], SSL.ZeroReturnError)

    def test_lost(self) -> None:
        """A connection that is gone without that is told of so, too."""
        self.sock.close()
        self.assertIsInstance(receive(self.near, 1)[2], SSL.SysCallError)

    def test_nonsense(self) -> None:
        """What is no record is, with OpenSSL's words for it."""
        self.sock.send(b"GET / HTTP/1.1")
        content, records, fault = receive(self.near, 1)
        self.assertEqual((content, records), (b"", 0))
        assert fault is not None
        self.assertTrue(fault.args[0])


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
        suit_socket(self.writing)
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
