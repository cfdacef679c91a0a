"""Tests for ``ingress.proxy.http2.upstream_stream`` and ``upstream_session``: exchanges with endpoints that speak HTTP/2."""

from __future__ import annotations

from unittest.mock import patch

from twisted.internet.error import ConnectionLost
from twisted.python.failure import Failure

from ingress.http2.client import ANSWER_WINDOW, FIRST_WINDOW, GREETING
from ingress.model.limits import AskedTimeouts
from ingress.model.retries import RetryRule
from ingress.proxy.exchange import Exchange
from ingress.proxy.limits import UPSTREAM_IDLE_SECONDS
from tests.fakes.http2_frames import (
    CANCEL,
    DATA,
    GOAWAY,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    INTERNAL_ERROR,
    MAX_CONCURRENT_STREAMS,
    NO_ERROR,
    PROTOCOL_ERROR,
    REFUSED_STREAM,
    RST_STREAM,
    WINDOW_UPDATE,
    block,
    data,
    goaway,
    headers,
    reset,
    settings,
    window_update,
)
from tests.fakes.http2_server import Http2Server, answer
from tests.proxy.http2_case import ONE, TWO, Http2UpstreamCase
from tests.proxy.playing import GET, body_of, fields_of

HEAD = block([(b":status", b"200")])
POST = b"POST /add HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 2\r\n\r\nhi"
BEGUN = b"POST /add HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"
CALL = [(b"content-type", b"application/grpc"), (b"te", b"trailers")]


def codes(server: Http2Server) -> list[tuple[int, int]]:
    """Return the streams that were reset, and why."""
    server.look()
    return [(each.stream, each.code) for each in server.of(RST_STREAM)]


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


class TimeTests(Http2UpstreamCase):
    """How long an endpoint may take."""

    def test_silent(self) -> None:
        """An endpoint that does not answer in time costs its request, and its connection no new ones."""
        self.stage.publish((ONE,), timeouts=AskedTimeouts(read_seconds=5.0))
        down = self.stage.open()
        down.say(GET)
        server = self.server()
        server.look()
        self.reactor.pass_time(7)
        self.assert_status(down.take(), 504)
        self.assertEqual(codes(server), [(1, CANCEL)])
        down.say(GET)
        self.assert_upstreams(2)
        self.assertIsNotNone(server.end)
        self.server().answer(1)
        self.assert_status(down.take(), 200)
        self.assertTrue(self.upstream(0).saw_end)

    def test_one_is_silent(self) -> None:
        """While others are answered, the connection stays in use."""
        self.stage.publish((ONE,), timeouts=AskedTimeouts(read_seconds=5.0))
        down, other = self.stage.open(), self.stage.open()
        down.say(GET)
        server = self.server()
        for stream in (3, 5, 7):
            self.reactor.pass_time(2)
            other.say(GET)
            server.answer(stream)
        self.assert_status(down.take(), 504)
        self.assert_upstreams(1)
        other.say(GET)
        server.look()
        self.assertEqual(len(server.requests()), 5)

    def test_short_patience(self) -> None:
        """Nor is a connection given up for a single request where a second of silence is too long."""
        self.stage.publish((ONE,), timeouts=AskedTimeouts(read_seconds=1.0))
        down, other = self.stage.open(), self.stage.open()
        down.say(GET)
        server = self.server()
        self.reactor.pass_time(1)
        other.say(GET)
        server.answer(3)
        self.reactor.pass_time(1)
        self.assert_status(down.take(), 504)
        self.assertIsNone(server.end)

    def test_slow_answer(self) -> None:
        """The time begins anew with each piece."""
        self.stage.publish((ONE,), timeouts=AskedTimeouts(read_seconds=5.0))
        down = self.stage.open()
        down.say(GET)
        self.server().send(headers(1, HEAD, ended=False))
        for _ in range(5):
            self.reactor.pass_time(3)
            self.server().send(data(1, b"x"))
        self.server().send(data(1, b"", ended=True))
        self.assert_ended(200)
        self.assertTrue(down.take().endswith(b"0\r\n\r\n"))

    def test_stalled_answer(self) -> None:
        """One that stops in the middle is cut."""
        self.stage.publish((ONE,), timeouts=AskedTimeouts(read_seconds=5.0))
        down = self.stage.open()
        down.say(GET)
        self.server().send(headers(1, HEAD, ended=False), data(1, b"x"))
        self.reactor.pass_time(7)
        self.assertTrue(down.closed)
        self.assertEqual(codes(self.server()), [(1, CANCEL)])
        self.assert_ended(200)

    def test_takes_nothing(self) -> None:
        """An endpoint that takes nothing of a request for too long has failed."""
        self.stage.publish((ONE,), timeouts=AskedTimeouts(send_seconds=5.0))
        down = self.stage.open()
        down.say(b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 99999\r\n\r\n" + bytes(99999))
        server = self.server()
        self.reactor.pass_time(3)
        server.send(window_update(1, 5), window_update(0, 5))
        self.reactor.pass_time(3)
        self.assertEqual(codes(server), [])
        self.reactor.pass_time(5)
        self.assertEqual(codes(server), [(1, CANCEL)])
        self.assert_status(down.take(), 504)

    def test_slow_client(self) -> None:
        """While downstream takes nothing of an answer, or the request is not whole, the endpoint is not to blame."""
        down = self.stage.open(window=1000)
        down.say(GET)
        server = self.server()
        server.send(headers(1, HEAD, ended=False), data(1, bytes(12000)))
        for _ in range(4):
            server.send(data(1, bytes(16000)))
        self.reactor.pass_time(59)
        down.widen(1000)
        self.reactor.pass_time(50)
        self.assertEqual(codes(server), [])

    def test_conversation(self) -> None:
        """A call whose request side is open may rest as long as its route's endpoint may, and is then ended."""
        self.stage.publish((ONE,), timeouts=AskedTimeouts(read_seconds=100.0))
        client = self.client()
        client.send(client.request(1, ended=False, method=b"POST", more=CALL), data(1, b"ping"))
        server = self.server()
        server.send(headers(1, HEAD, ended=False))
        self.reactor.pass_time(90)
        client.send(data(1, b"pong"))
        self.reactor.pass_time(90)
        server.look()
        self.assertEqual((server.body(1), codes(server)), (b"pingpong", []))
        self.reactor.pass_time(20)
        self.assertEqual(codes(server), [(1, CANCEL)])

    def test_listening(self) -> None:
        """A call in which the endpoint alone speaks goes on, though its request side is open all the while."""
        self.stage.publish((ONE,), timeouts=AskedTimeouts(read_seconds=20.0))
        client = self.client()
        client.send(client.request(1, ended=False, method=b"POST", more=CALL), data(1, b"ping"))
        server = self.server()
        server.send(headers(1, HEAD, ended=False))
        for _ in range(10):
            self.reactor.pass_time(15)
            server.send(data(1, b"news"))
        client.look()
        self.assertEqual(client.body(1), b"news" * 10)
        self.assertEqual(codes(server), [])
        self.reactor.pass_time(23)
        self.assertEqual(codes(server), [(1, CANCEL)])

    def test_idle(self) -> None:
        """A connection that nobody used for a while is closed with a goodbye."""
        down = self.stage.open()
        down.say(GET)
        server = self.server()
        server.answer(1)
        self.reactor.pass_time(UPSTREAM_IDLE_SECONDS - 2)
        self.assertFalse(self.upstream().saw_end)
        self.reactor.pass_time(4)
        server.look()
        assert server.end is not None
        self.assertEqual((server.end.last_stream, server.end.code), (0, NO_ERROR))
        self.assertTrue(self.upstream().saw_end)


class EndTests(Http2UpstreamCase):
    """How requests end otherwise."""

    def test_client_leaves(self) -> None:
        """A client that goes away has its stream cancelled, and no other."""
        down, other = self.stage.open(), self.stage.open()
        down.say(GET)
        other.say(GET)
        down.reset()
        server = self.server()
        self.assertEqual(codes(server), [(1, CANCEL)])
        server.send(answer(1), answer(3))
        self.assert_status(other.take(), 200)
        self.assert_upstreams(1)
        self.assert_ended(499, 200)

    def test_client_cancels(self) -> None:
        """So does one that cancels its own stream, as gRPC does when a deadline is over."""
        client = self.client()
        client.send(client.request(1, ended=False, method=b"POST", more=CALL), data(1, b"ping"))
        server = self.server()
        client.send(reset(1, CANCEL))
        self.assertEqual(codes(server), [(1, CANCEL)])
        self.assert_ended(499)

    def test_malformed(self) -> None:
        """What is no answer is 502, and the connection goes on."""
        down = self.stage.open()
        down.say(GET)
        server = self.server()
        server.send(headers(1, block([(b":status", b"200"), (b"connection", b"close")])))
        self.assert_status(down.take(), 502)
        self.assertEqual(codes(server), [(1, PROTOCOL_ERROR)])
        down.say(GET)
        server.answer(3)
        self.assert_status(down.take(), 200)
        self.assert_upstreams(1)

    def test_broken_off(self) -> None:
        """An answer that is reset in the middle is cut."""
        down = self.stage.open()
        down.say(GET)
        self.server().send(headers(1, HEAD, ended=False), data(1, b"x"), reset(1, CANCEL))
        self.assertTrue(down.closed)
        self.assertNotIn(b"0\r\n\r\n", down.received)
        self.assert_ended(200)

    def test_other_protocol(self) -> None:
        """An endpoint that speaks HTTP/1.1 is found out."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        self.assert_status(down.take(), 502)
        self.assertTrue(self.upstream().saw_end)
        self.assertEqual(self.metrics.value("ingress_http2_connections_failed_total", side="upstream"), 1)

    def test_broken_connection(self) -> None:
        """What breaks the connection ends all its requests, and the next ones have another."""
        peers = [self.stage.open() for _ in range(3)]
        for peer in peers:
            peer.say(POST)
        server = self.server()
        server.send(headers(2, HEAD))
        for peer in peers:
            self.assert_status(peer.take(), 502)
        assert server.end is not None or server.until(lambda: server.end)
        self.assert_ended(502, 502, 502)
        peers[0].say(GET)
        self.assert_upstreams(2)

    def test_many_last_words(self) -> None:
        """Answers that came before the end count, although there are more of them than are read at once."""
        peers = [self.stage.open() for _ in range(100)]
        for peer in peers:
            peer.say(POST)
        streams = [request.stream for request in self.server().requests()]
        session = self.upstream().protocol
        session.dataReceived(b"".join(answer(stream, trailers=[(b"x", b"y")]) for stream in streams))
        session.connectionLost(Failure(ConnectionLost()))
        self.reactor.settle()
        for peer in peers:
            self.assert_status(peer.take(), 200)

    def test_bug(self) -> None:
        """A bug costs the request that meets it, and its stream."""
        down, other = self.stage.open(), self.stage.open()
        down.say(GET)
        other.say(GET)
        server = self.server()
        server.look()
        with patch.object(Exchange, "upstream_head", side_effect=RuntimeError("a bug")):
            server.send(headers(1, HEAD, ended=False))
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        self.assert_status(down.take(), 500)
        server.answer(3)
        self.assert_status(other.take(), 200)
        self.assertEqual([stream for stream, _ in codes(server)], [1])

    def test_metrics(self) -> None:
        """Connections and streams are counted."""
        down = self.stage.open()
        for _ in range(3):
            down.say(GET)
            self.server().answer(self.server().requests()[-1].stream)
        for name, value in (
            ("ingress_http2_connections", 1),
            ("ingress_http2_streams_total", 3),
        ):
            self.assertEqual(self.metrics.value(name, side="upstream"), value)
        self.assertEqual(self.metrics.value("ingress_upstream_connections"), 1)
        self.upstream().finish()
        self.assertEqual(self.metrics.value("ingress_http2_connections", side="upstream"), 0)
        self.assertEqual(self.metrics.value("ingress_upstream_connections"), 0)


class AgainTests(Http2UpstreamCase):
    """What is sent again, and where."""

    def test_goodbye(self) -> None:
        """What is above the last stream of a goodbye is sent again, whatever it is; the rest is answered."""
        first, second = self.stage.open(), self.stage.open()
        first.say(POST)
        old = self.server()
        second.say(POST)
        old.look()
        old.send(goaway(1))
        self.assert_upstreams(2)
        new = self.server()
        self.assertEqual((new.fields(1)[b":path"], new.body(1)), (b"/add", b"hi"))
        new.answer(1, b"new")
        self.assertEqual(body_of(second.take()), b"3\r\nnew\r\n0\r\n\r\n")
        self.assertFalse(self.upstream(0).saw_end)
        old.answer(1, b"old")
        self.assertEqual(body_of(first.take()), b"3\r\nold\r\n0\r\n\r\n")
        self.assertTrue(self.upstream(0).saw_end)
        self.assert_ended(200, 200)
        self.assertEqual(self.metrics.value("ingress_upstream_failures_total"), 0)

    def test_idle_goodbye(self) -> None:
        """After a goodbye nobody asks there any more."""
        down = self.stage.open()
        down.say(GET)
        self.server().answer(1)
        self.server().send(goaway(1))
        self.assertTrue(self.upstream().saw_end)
        down.take()
        down.say(POST)
        self.assert_upstreams(2)
        self.server().answer(1)
        self.assert_status(down.take(), 200)

    def test_refused(self) -> None:
        """A stream refused on a connection in use is begun on a new one, and there no second time."""
        self.stage.publish((ONE,))
        other, down = self.stage.open(), self.stage.open()
        other.say(POST)
        down.say(POST)
        self.server().send(reset(3, REFUSED_STREAM))
        self.assert_upstreams(2)
        self.assertEqual(self.server().body(1), b"hi")
        self.server().send(reset(1, REFUSED_STREAM))
        self.assert_status(down.take(), 502)
        self.assert_upstreams(2)

    def test_refused_at_once(self) -> None:
        """One refused on a new connection is tried elsewhere, if the route wants that after errors."""
        self.stage.publish((ONE, TWO))
        down = self.stage.open()
        down.say(POST)
        self.server().send(reset(1, REFUSED_STREAM))
        self.assertEqual(self.connector.asked, [ONE, TWO])
        self.server().answer(1)
        self.assert_status(down.take(), 200)
        self.stage.publish((ONE, TWO), retries=RetryRule(on_error=False, on_timeout=False))
        self.reactor.pass_time(UPSTREAM_IDLE_SECONDS + 2)
        down = self.stage.open()
        down.say(POST)
        self.server().send(reset(1, REFUSED_STREAM))
        self.assert_status(down.take(), 502)

    def test_refused_after_a_piece(self) -> None:
        """Nothing is sent again once anything of an answer has come."""
        self.stage.publish((ONE, TWO))
        down = self.stage.open()
        down.say(POST)
        self.server().send(headers(1, block([(b":status", b"100")]), ended=False), reset(1, REFUSED_STREAM))
        self.assertIn(b"HTTP/1.1 502 ", down.take())
        self.assert_upstreams(1)

    def test_lost(self) -> None:
        """What a connection takes with it is asked again if that is safe: here on a new one, or elsewhere if it was new."""
        self.stage.publish((ONE, TWO))
        down = self.stage.open()
        down.say(GET)
        self.server().answer(1)
        down.take()
        self.assertEqual(self.connector.asked, [ONE])
        self.stage.publish((ONE,))
        down.say(GET)
        self.stage.publish((ONE, TWO))
        self.upstream().finish()
        self.assertEqual(self.connector.asked, [ONE, ONE])
        self.upstream().reset()
        self.assertEqual(self.connector.asked, [ONE, ONE, TWO])
        self.server().answer(1)
        self.assert_status(down.take(), 200)
        down.say(POST)
        self.server().look()
        for peer in self.connector.peers:
            if not peer.closed:
                peer.reset()
        self.assert_status(down.take(), 502)

    def test_untaken(self) -> None:
        """What a resting connection took nothing of, since it was being closed, is sent on a new one, whatever it is."""
        for has_left, upstreams in ((False, 1), (True, 2)):
            self.setUp()
            down = self.stage.open()
            down.say(GET)
            self.server().answer(1)
            down.take()
            self.upstream().has_left = has_left
            down.say(POST)
            self.upstream().finish()
            self.assert_upstreams(upstreams)
            if has_left:
                self.assertEqual(self.server().body(1), b"hi")
                self.server().answer(1)
            self.assert_status(down.take(), 200 if has_left else 502)

    def test_storm(self) -> None:
        """Streams refused together share the new connections, as many as the endpoint lets them have."""
        peers = [self.stage.open() for _ in range(12)]
        for peer in peers:
            peer.say(POST)
        server = self.server()
        server.send(settings((MAX_CONCURRENT_STREAMS, 4), (INITIAL_WINDOW_SIZE, 65535)))
        server.look()
        server.send(b"".join(reset(each.stream, REFUSED_STREAM) for each in server.requests()[4:]))
        self.assert_upstreams(3)
        for number in range(3):
            for request in self.server(number).requests()[:4]:
                self.server(number).answer(request.stream)
        for peer in peers:
            self.assert_status(peer.take(), 200)

    def test_windows_begin_anew(self) -> None:
        """A body that waited for one connection's window is whole on the next."""
        down = self.stage.open()
        self.stage.open().say(GET)
        server = self.server()
        server.send(settings((INITIAL_WINDOW_SIZE, 1)))
        down.say(POST)
        self.assertEqual(server.body(3), b"")
        server.look()
        self.assertEqual(server.body(3), b"h")
        server.send(goaway(1))
        self.assertEqual(self.server().body(1), b"hi")

    def test_goodbye_of_all(self) -> None:
        """Goodbyes end with the endpoint's connections, and their frames name none of its streams."""
        self.stage.open().say(GET)
        server = self.server()
        server.answer(1)
        self.stage.pool.close()
        server.look()
        self.assertEqual([each.last_stream for each in server.of(GOAWAY)], [0])
        self.assertTrue(self.upstream().saw_end)
