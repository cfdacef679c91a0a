"""Tests for ``ingress.proxy.upstream.h2_session``: what takes too long, and what ends."""

from __future__ import annotations

from itertools import chain, repeat
from unittest.mock import Mock

from twisted.internet.error import ConnectionLost
from twisted.logger import capturedLogs
from twisted.python.failure import Failure

from ingress.model.serving.limits import AskedTimeouts, Timeouts
from ingress.proxy.contract.limits import STREAM_END_SECONDS, UPSTREAM_IDLE_SECONDS
from tests.fakes.http2.frames import (
    CANCEL,
    NO_ERROR,
    PROTOCOL_ERROR,
    RST_STREAM,
    block,
    data,
    headers,
    reset,
    window_update,
)
from tests.fakes.http2.server import answer
from tests.proxy.h2_upstream_case import CALL, HEAD, ONE, POST, Http2UpstreamCase, codes
from tests.proxy.playing import GET


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

    def test_other_timeouts(self) -> None:
        """Timeouts that are other ones meanwhile hold for the next request on a connection that is there."""
        down = self.stage.open()
        down.say(GET)
        self.server().answer(1)
        self.assert_status(down.take(), 200)
        self.stage.pool.limit(Timeouts(read_seconds=5.0), 0)
        down.say(GET)
        self.assert_upstreams(1)
        self.reactor.pass_time(7)
        self.assert_status(down.take(), 504)

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

    def test_content_where_none_can_be(self) -> None:
        """Content behind the answer to HEAD, or behind 204 or 304, is malformed and goes nowhere; the client has the head, and goes on."""
        for method, status in ((b"HEAD", b"200"), (b"GET", b"204"), (b"GET", b"304")):
            for is_at_once in (True, False):
                down = self.stage.open()
                down.say(GET.replace(b"GET", method))
                server = self.server()
                stream = server.requests()[-1].stream
                head = block([(b":status", status), (b"etag", b"x")])
                pieces = (
                    headers(stream, head, ended=False),
                    data(stream, b"content"),
                    data(stream, b"", ended=True),
                )
                server.send(*([b"".join(pieces)] if is_at_once else pieces))
                case = (method, status, is_at_once)
                answered = down.take()
                self.assert_status(answered, int(status))
                self.assertTrue(answered.endswith(b"\r\n\r\n"), case)
                self.assertFalse(down.closed, case)
                self.assertEqual(codes(server)[-1], (stream, PROTOCOL_ERROR), case)
                self.assertEqual(self.stage.metrics.records[-1].reason, "", case)
                down.say(GET)
                self.server().answer(stream + 2)
                self.assert_status(down.take(), 200)
                self.assert_upstreams(1)

    def test_content_where_none_can_be_over_http2(self) -> None:
        """A client of HTTP/2 gets the head and the end of its stream, and no reset."""
        for status, method in ((b"200", b"HEAD"), (b"204", b"POST"), (b"304", b"GET")):
            down = self.client()
            down.send(down.request(1, method=method))
            server = self.server()
            stream = server.requests()[-1].stream
            server.send(headers(stream, block([(b":status", status)]), ended=False))
            server.send(data(stream, b"content"))
            down.look()
            self.assertEqual(down.statuses(1), [int(status)])
            self.assertEqual(down.of(RST_STREAM), [])
            self.assertTrue(down.has_ended(1))

    def test_broken_off_behind_the_head(self) -> None:
        """Of an answer without content nothing is missing where its stream or connection ends behind the head, or does not end."""
        self.stage.publish((ONE,), timeouts=AskedTimeouts(read_seconds=5.0))
        ends = (
            lambda server: server.send(reset(server.requests()[-1].stream, CANCEL)),
            lambda server: self.reactor.pass_time(7),
            lambda server: self.upstream().finish(),
        )
        for end in ends:
            down = self.stage.open()
            down.say(GET.replace(b"GET", b"HEAD"))
            server = self.server()
            server.send(headers(server.requests()[-1].stream, HEAD, ended=False))
            end(server)
            self.assert_status(down.take(), 200)
            self.assertFalse(down.closed)
            down.say(GET)
            server = self.server()
            server.answer(server.requests()[-1].stream)
            self.assert_status(down.take(), 200)

    def test_no_end_behind_the_head(self) -> None:
        """An answer without content is whole with its head: the client goes on at once, and a stream that does not end is reset soon."""
        for status, method in ((b"200", b"HEAD"), (b"204", b"DELETE"), (b"304", b"GET")):
            down = self.stage.open()
            down.say(GET.replace(b"GET", method))
            server = self.server()
            stream = server.requests()[-1].stream
            server.send(headers(stream, block([(b":status", status)]), ended=False))
            self.assert_status(down.take(), int(status))
            down.say(GET)
            server.answer(stream + 2)
            self.assert_status(down.take(), 200)
            self.assertNotIn(stream, dict(codes(server)))
            self.reactor.pass_time(STREAM_END_SECONDS + 2)
            self.assertEqual(codes(server)[-1], (stream, CANCEL))
            self.assert_upstreams(1)
            self.assertEqual([record.reason for record in self.stage.metrics.records[-2:]], ["", ""])

    def test_late_end_behind_the_head(self) -> None:
        """A stream that ends a little later is not reset, and one of HTTP/2 has ended for its client before."""
        down = self.client()
        down.send(down.request(1, method=b"HEAD"))
        server = self.server()
        stream = server.requests()[-1].stream
        server.send(headers(stream, HEAD, ended=False))
        down.look()
        self.assertTrue(down.has_ended(1))
        self.reactor.pass_time(STREAM_END_SECONDS - 2)
        server.send(data(stream, b"", ended=True))
        self.reactor.pass_time(STREAM_END_SECONDS + 2)
        self.assertEqual(codes(server), [])

    def test_head_amid_a_request(self) -> None:
        """A request that still comes when such a head does goes on to its end, and the answer is whole soon after."""
        down = self.stage.open()
        down.say(POST[:-1])
        server = self.server()
        stream = server.requests()[-1].stream
        server.send(headers(stream, block([(b":status", b"204")]), ended=False))
        self.assert_status(down.take(), 204)
        self.reactor.pass_time(STREAM_END_SECONDS + 2)
        self.assertEqual(codes(server), [])
        down.say(POST[-1:] + GET)
        server.look()
        self.assertEqual((server.body(stream), len(server.requests())), (b"hi", 1))
        self.reactor.pass_time(STREAM_END_SECONDS + 2)
        self.assertEqual(codes(server), [(stream, CANCEL)])
        server.answer(stream + 2)
        self.assert_status(down.take(), 200)

    def test_other_protocol(self) -> None:
        """An endpoint that speaks HTTP/1.1 is found out."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        self.assert_status(down.take(), 502)
        self.assertTrue(self.upstream().saw_end)
        self.assertEqual(self.metrics.value("ingress_http2_connections_failed_total", side="upstream"), 1)

    def test_other_protocols(self) -> None:
        """The first byte of anything else does, too, and the log names what came."""
        for said, words in (
            (b"H", "'H'"),
            (b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP/1.1"),
            (b"\x15\x03\x03\x00\x02\x02\x46", "a TLS alert, number 70"),
        ):
            down = self.stage.open()
            with capturedLogs() as events:
                down.say(GET)
                self.upstream().say(said)
                self.assert_status(down.take(), 502)
            told = " ".join(str(event["why"]) for event in events if "why" in event)
            self.assertIn(f"the endpoint speaks no HTTP/2: {words}", told)
            self.reactor.advance(11)

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
        seconds = chain([RuntimeError("a bug")], repeat(self.reactor.seconds()))
        with_bug = self.patch(self.stage.site.context, "clock", Mock(seconds=Mock(side_effect=seconds)))
        server.send(headers(1, HEAD, ended=False))
        with_bug.restore()
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
