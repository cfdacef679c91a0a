"""WebSockets inside of a session, towards upstreams that speak HTTP/1.1."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha1

from ingress.http2.incoming import CONNECTION_WINDOW, STREAM_WINDOW
from ingress.proxy.contract.limits import TUNNEL_END_SECONDS
from tests.fakes.http2.frames import (
    CANCEL,
    DATA,
    FLOW_CONTROL_ERROR,
    RST_STREAM,
    WINDOW_UPDATE,
    block,
    data,
    headers,
    reset,
)
from tests.http.strict import read_request
from tests.proxy.h2_playing import MessageCase


class WebSocketTests(MessageCase):
    """Extended CONNECT (RFC 8441)."""

    def ask(self, *more: tuple[bytes, bytes]) -> None:
        """Ask for a WebSocket on stream 1."""
        fields = [
            (b":method", b"CONNECT"),
            (b":protocol", b"websocket"),
            (b":scheme", b"http"),
            (b":path", b"/chat"),
            (b":authority", b"shop.test"),
            (b"sec-websocket-version", b"13"),
            *more,
        ]
        self.client.send(headers(1, block(fields), ended=False))

    def accept(self) -> None:
        """Say yes as a WebSocket server does."""
        request, _ = read_request(self.upstream.received)
        self.upstream.take()
        [key] = request.values(b"sec-websocket-key")
        proof = b64encode(sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        self.upstream.say(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Accept: %b\r\n\r\n" % proof
        )

    def open(self) -> None:
        """Open one."""
        self.stage.serve = lambda: None  # type: ignore[method-assign]
        self.client = self.stage.client()
        self.ask()
        self.accept()

    def test_offered(self) -> None:
        """That it may be used is said in SETTINGS."""
        self.assertEqual(self.client.settings[8], 1)

    def test_open(self) -> None:
        """Upstream is asked to switch; then octets go both ways as DATA."""
        self.open()
        self.assertEqual(self.fields()[b":status"], b"200")
        self.client.send(data(1, b"ping"))
        self.assertEqual(self.upstream.take(), b"ping")
        self.upstream.say(b"pong")
        self.client.look()
        self.assertEqual(self.client.body(1), b"pong")

    def test_ended_by_client(self) -> None:
        """A client that ends its side with its last frame, as browsers do, hears upstream's last frame, too."""
        self.open()
        self.client.send(data(1, b"bye", ended=True))
        self.assertEqual(self.upstream.take(), b"bye")
        self.stage.reactor.pass_time(TUNNEL_END_SECONDS - 2)
        self.assertFalse(self.upstream.closed or self.upstream.saw_end)
        self.upstream.say(b"bye to you")
        self.upstream.finish()
        self.client.look()
        self.assertEqual(self.client.body(1), b"bye to you")
        self.assertEqual([each.ends_stream for each in self.client.of(DATA, 1)][-1], True)
        self.assertEqual(self.client.of(RST_STREAM), [])
        self.assertEqual(self.stage.sessions[-1].streams, {})

    def test_ended_before_answer(self) -> None:
        """Who ends its side before there is a tunnel is told that there will be none; nothing is left of the stream."""
        self.stage.serve = lambda: None  # type: ignore[method-assign]
        self.client = self.stage.client()
        self.ask()
        self.client.send(data(1, b"", ended=True))
        self.client.look()
        self.assertEqual([each.code for each in self.client.of(RST_STREAM, 1)], [CANCEL])
        self.assertTrue(self.upstream.closed)
        self.assertEqual(self.stage.sessions[-1].streams, {})

    def test_ended_amid_refusal(self) -> None:
        """Who ends its side while it is refused still gets all that is said about it."""
        self.stage.serve = lambda: None  # type: ignore[method-assign]
        self.client = self.stage.client()
        self.ask()
        self.upstream.say(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nno")
        self.client.send(data(1, b"", ended=True))
        self.upstream.say(b"!\n")
        self.client.look()
        self.assertEqual((self.client.statuses(1), self.client.body(1)), ([403], b"no!\n"))
        self.assertTrue(self.client.has_ended(1))
        self.assertEqual(self.stage.sessions[-1].streams, {})

    def test_ended_by_client_alone(self) -> None:
        """An upstream that does not end its side for that is left after a while."""
        self.open()
        self.client.send(data(1, b"", ended=True))
        self.stage.reactor.pass_time(TUNNEL_END_SECONDS + 2)
        self.assertTrue(self.upstream.closed or self.upstream.saw_end)
        self.client.look()
        self.assertTrue(self.client.has_ended(1))
        self.assertEqual(self.stage.sessions[-1].streams, {})

    def test_ended_by_upstream(self) -> None:
        """Upstream's end is the end of the stream, and of nothing else."""
        self.open()
        self.upstream.say(b"bye")
        self.upstream.finish()
        self.client.look()
        self.assertEqual(self.client.body(1), b"bye")
        self.assertTrue(self.client.has_ended(1))
        self.assertFalse(self.client.closed)

    def test_reset(self) -> None:
        """RST_STREAM ends the tunnel."""
        self.open()
        self.client.send(reset(1, CANCEL))
        self.assertTrue(self.upstream.closed or self.upstream.saw_end)

    def test_refused(self) -> None:
        """An answer that switches to nothing is passed on as far as it says no, and never as if it were yes."""
        for said, status in (
            (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", 403),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 502),
            (b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 502),
        ):
            self.client = self.stage.client()
            self.ask()
            self.upstream.say(said)
            self.client.look()
            self.assertEqual(self.client.statuses(1), [status])
            self.client.wire.close()

    def test_before_yes(self) -> None:
        """What a client says before the yes does not reach upstream as if it were a request."""
        self.stage.serve = lambda: None  # type: ignore[method-assign]
        self.client = self.stage.client()
        self.ask()
        self.client.send(data(1, b"GET /smuggled HTTP/1.1\r\nHost: shop.test\r\n\r\n"))
        self.assertNotIn(b"smuggled", self.upstream.received)
        self.accept()
        self.assertIn(b"smuggled", self.upstream.received)

    def test_much_before_yes(self) -> None:
        """Before the yes a client may send as much as a window holds; with the yes it gets credit again."""
        self.stage.serve = lambda: None  # type: ignore[method-assign]
        self.client = self.stage.client()
        self.ask()
        for _ in range(STREAM_WINDOW // 16_384):
            self.client.send(data(1, b"x" * 16_384))
        self.client.look()
        self.assertEqual(self.client.of(WINDOW_UPDATE, 1), [])
        self.accept()
        self.assertEqual(len(self.upstream.take()), STREAM_WINDOW)
        self.client.look()
        self.assertEqual(sum(each.increment for each in self.client.of(WINDOW_UPDATE, 1)), STREAM_WINDOW)
        self.client.send(data(1, b"more"))
        self.assertEqual(self.upstream.take(), b"more")

    def test_too_much_before_yes(self) -> None:
        """Who sends more than that loses the stream, and its credit is not lost."""
        self.ask()
        for _ in range(STREAM_WINDOW // 16_384 + 1):
            self.client.send(data(1, b"x" * 16_384))
        self.client.look()
        self.assertEqual([each.code for each in self.client.of(RST_STREAM, 1)], [FLOW_CONTROL_ERROR])
        session = self.stage.session
        self.assertEqual(session.incoming.credit + session.incoming.owed, CONNECTION_WINDOW)
