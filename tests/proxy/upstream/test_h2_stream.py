"""Tests for ``ingress.proxy.upstream.h2_stream``: what an endpoint gets, what is made of its answer, and who waits for whom."""

from __future__ import annotations

from ingress.http2.client import ANSWER_WINDOW, FIRST_WINDOW, GREETING
from tests.fakes.http2.frames import (
    DATA,
    HEADERS,
    INTERNAL_ERROR,
    NO_ERROR,
    WINDOW_UPDATE,
    block,
    data,
    headers,
    reset,
    window_update,
)
from tests.proxy.h2_upstream_case import BEGUN, CALL, HEAD, POST, Http2UpstreamCase, codes
from tests.proxy.playing import GET, body_of, fields_of


class RequestTests(Http2UpstreamCase):
    """What an endpoint gets."""

    def test_fields(self) -> None:
        """A request has its pseudo fields, its own fields in lower case, and what a proxy adds."""
        down = self.stage.open()
        down.say(b"GET /a?b HTTP/1.1\r\nHost: shop.test:80\r\nAccept: */*\r\nConnection: X\r\nX: y\r\n\r\n")
        fields = self.server().fields(1)
        self.assertTrue(self.server().of(HEADERS)[0].ends_stream)
        for name, value in (
            (b":method", b"GET"),
            (b":scheme", b"http"),
            (b":path", b"/a?b"),
            (b":authority", b"shop.test:80"),
            (b"accept", b"*/*"),
            (b"x-forwarded-for", b"198.51.100.7"),
            (b"x-forwarded-host", b"shop.test:80"),
        ):
            self.assertEqual(fields[name], value)
        for absent in (b"host", b"connection", b"x", b"transfer-encoding"):
            self.assertNotIn(absent, fields)

    def test_lengths(self) -> None:
        """A body of known length and one of unknown length go as they are, without framing."""
        down = self.stage.open()
        down.say(POST)
        server = self.server()
        self.assertEqual((server.fields(1)[b"content-length"], server.body(1)), (b"2", b"hi"))
        server.answer(1)
        down.take()
        down.say(BEGUN, b"1\r\n!\r\n0\r\n\r\n")
        server.look()
        self.assertNotIn(b"content-length", server.fields(3))
        self.assertEqual(server.body(3), b"hi!")
        self.assertTrue(server.of(DATA, 3)[-1].ends_stream)

    def test_upgrade_is_ignored(self) -> None:
        """An upgrade of HTTP/1.1 is not asked for here, and the request is answered as any other (RFC 9110 section 7.8)."""
        down = self.stage.open()
        down.say(GET.replace(b"\r\n\r\n", b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"))
        self.assertNotIn(b"upgrade", self.server().fields(1))
        self.server().answer(1)
        self.assert_status(down.take(), 200)

    def test_web_socket_of_http2(self) -> None:
        """A WebSocket over HTTP/2 needs an endpoint that speaks HTTP/1.1."""
        client = self.client()
        fields = [(b":method", b"CONNECT"), (b":protocol", b"websocket"), (b":scheme", b"http")]
        fields += [(b":path", b"/"), (b":authority", b"shop.test")]
        client.send(headers(1, block(fields), ended=False))
        client.look()
        self.assertEqual(client.statuses(1), [501])
        self.assert_upstreams(0)

    def test_one_connection(self) -> None:
        """Requests share a connection, whose streams are numbered as RFC 9113 asks."""
        peers = [self.stage.open() for _ in range(3)]
        for peer in peers:
            peer.say(GET)
        self.assert_upstreams(1)
        server = self.server()
        self.assertEqual([each.stream for each in server.requests()], [1, 3, 5])
        for stream in (5, 1, 3):
            server.answer(stream, b"%d" % stream)
        self.assertEqual(
            [body_of(peer.take()) for peer in peers], [b"1\r\n%d\r\n0\r\n\r\n" % n for n in (1, 3, 5)]
        )

    def test_one_write(self) -> None:
        """The first request leaves with the greeting, in one write."""
        self.stage.open().say(POST)
        self.assertEqual(self.upstream().largest_write, len(self.upstream().received))
        self.assertTrue(self.upstream().received.startswith(GREETING))


class AnswerTests(Http2UpstreamCase):
    """What downstream gets."""

    def test_whole(self) -> None:
        """An answer of known length stays one, with its fields."""
        down = self.stage.open()
        down.say(GET)
        self.server().answer(
            1, more=[(b"content-length", b"2"), (b"x", b"y"), (b"date", b"d"), (b"server", b"s")]
        )
        self.assertEqual(
            down.take(), b"HTTP/1.1 200 OK\r\nx: y\r\ndate: d\r\nserver: s\r\ncontent-length: 2\r\n\r\nok"
        )
        self.assert_ended(200)

    def test_unknown_length(self) -> None:
        """One without a length is chunked, and its trailers come behind it."""
        down = self.stage.open()
        down.say(GET)
        self.server().send(headers(1, HEAD, ended=False), data(1, b"a"))
        self.assertTrue(down.take().endswith(b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n"))
        self.server().send(data(1, b"b"), headers(1, block([(b"x-sum", b"1"), (b"host", b"evil")])))
        self.assertEqual(down.take(), b"1\r\nb\r\n0\r\nx-sum: 1\r\n\r\n")
        self.assert_ended(200)

    def test_interim(self) -> None:
        """1xx heads go on."""
        down = self.stage.open()
        down.say(GET)
        self.server().send(headers(1, block([(b":status", b"103"), (b"link", b"</a>")]), ended=False))
        self.assertEqual(down.take(), b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n")
        self.server().answer(1)
        self.assert_status(down.take(), 200)

    def test_head(self) -> None:
        """What answers HEAD has a length and no body."""
        down = self.stage.open()
        down.say(GET.replace(b"GET", b"HEAD"))
        self.server().send(headers(1, block([(b":status", b"200"), (b"content-length", b"5")])))
        answered = down.take()
        self.assertEqual((fields_of(answered)[b"content-length"], body_of(answered)), (b"5", b""))

    def test_early(self) -> None:
        """An answer before the request has ended goes on; the rest of the request does not."""
        down = self.stage.open()
        down.say(BEGUN)
        server = self.server()
        server.answer(1, b"no", b"413")
        self.assert_status(down.take(), 413)
        self.assertEqual(codes(server), [(1, NO_ERROR)])
        self.assert_ended(413)

    def test_grpc(self) -> None:
        """Over HTTP/2 on both sides, messages go both ways, and the trailers say how it ended."""
        client = self.client()
        client.send(client.request(1, ended=False, method=b"POST", more=CALL), data(1, b"ping"))
        server = self.server()
        self.assertEqual(server.fields(1)[b"te"], b"trailers")
        self.assertEqual(server.body(1), b"ping")
        server.send(
            headers(1, block([(b":status", b"200"), (b"content-type", b"application/grpc")]), ended=False)
        )
        for message in (b"one", b"two"):
            client.send(data(1, message))
            server.look()
            self.assertTrue(server.body(1).endswith(message))
            server.send(data(1, message))
            client.look()
            self.assertTrue(client.body(1).endswith(message))
        client.send(data(1, b"", ended=True))
        server.send(headers(1, block([(b"grpc-status", b"0"), (b"grpc-message", b"fine")])))
        client.look()
        self.assertEqual(client.heads(1)[-1], [(b"grpc-status", b"0"), (b"grpc-message", b"fine")])
        self.assertTrue(client.has_ended(1))
        self.assert_ended(200)

    def test_one_message(self) -> None:
        """A call whose only message comes with it goes on as it came: a head, and a body that ends the stream."""
        client = self.client()
        client.send(client.request(1, ended=False, method=b"POST", more=CALL), data(1, b"ping", ended=True))
        (sent,) = self.server().of(DATA, 1)
        self.assertEqual((sent.payload, sent.ends_stream), (b"ping", True))

    def test_trailers_only(self) -> None:
        """An answer that is all trailers stays one field block."""
        client = self.client()
        client.send(client.request(1, ended=False, method=b"POST", more=CALL), data(1, b"ping", ended=True))
        self.server().send(headers(1, block([(b":status", b"200"), (b"grpc-status", b"5")])))
        client.look()
        (head,) = client.heads(1)
        self.assertEqual(dict(head)[b"grpc-status"], b"5")
        self.assertEqual(client.of(DATA), [])
        self.assertTrue(client.has_ended(1))

    def test_own_error(self) -> None:
        """What an endpoint breaks off is told to a gRPC client in its words."""
        client = self.client()
        client.send(client.request(1, ended=False, method=b"POST", more=CALL), data(1, b"ping", ended=True))
        self.server().send(reset(1, INTERNAL_ERROR))
        client.look()
        (head,) = client.heads(1)
        self.assertEqual((dict(head)[b":status"], dict(head)[b"grpc-status"]), (b"200", b"14"))
        self.assert_ended(502)


class BackPressureTests(Http2UpstreamCase):
    """Who takes nothing stops the other side, and nobody else."""

    def test_request(self) -> None:
        """A body that the endpoint's window does not take stays with the client."""
        down = self.stage.open()
        down.say(b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 500000\r\n\r\n" + bytes(100_000))
        server = self.server()
        self.assertEqual(len(server.body(1)), 65535)
        down.say(bytes(200_000), bytes(200_000))
        self.assertGreater(down.unread, 200_000)
        other = self.stage.open()
        other.say(GET)
        server.answer(3)
        self.assert_status(other.take(), 200)
        while len(server.body(1)) < 500_000:
            server.send(window_update(1, 50_000), window_update(0, 50_000))
            server.look()
        server.answer(1)
        self.assert_status(down.take(), 200)
        self.assertEqual(server.body(1), bytes(500_000))

    def test_answer(self) -> None:
        """A client that takes nothing leaves its stream without credit, and the others with theirs."""
        down, other = self.stage.open(window=1000), self.stage.open()
        down.say(GET)
        other.say(GET)
        server = self.server()
        server.look()
        server.send(headers(1, HEAD, ended=False), headers(3, HEAD, ended=False))
        given = {1: FIRST_WINDOW, 3: FIRST_WINDOW}
        sent = dict.fromkeys(given, 0)
        for _ in range(200):
            for stream in given:
                if given[stream] - sent[stream] >= 16000:
                    server.send(data(stream, bytes(16000)))
                    sent[stream] += 16000
            server.look()
            for update in server.of(WINDOW_UPDATE):
                if update.stream:
                    given[update.stream] += update.increment
            server.frames.clear()
        self.assertEqual(sent[3], 200 * 16000)
        self.assertLess(sent[1], 3 * ANSWER_WINDOW)
        down.widen()
        server.look()
        self.assertGreater(sum(each.increment for each in server.of(WINDOW_UPDATE, 1)), 0)
        server.send(data(1, b"", ended=True), data(3, b"", ended=True))
        self.assert_ended(200, 200)

    def test_full_transport(self) -> None:
        """A connection that takes nothing stops all that send on it, until it does again."""
        self.connector.window = 20_000
        peers = [self.stage.open() for _ in range(2)]
        for peer in peers:
            peer.say(b"PUT / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 60000\r\n\r\n" + bytes(60_000))
        self.upstream().widen(1 << 30)
        server = self.server()
        server.send(window_update(0, 1 << 20))
        for stream, peer in ((1, peers[0]), (3, peers[1])):
            server.look()
            self.assertEqual(len(server.body(stream)), 60_000)
            server.answer(stream)
            self.assert_status(peer.take(), 200)
