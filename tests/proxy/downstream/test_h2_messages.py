"""Messages between a client of HTTP/2 and an upstream of HTTP/1.1, as either of them sees them."""

from __future__ import annotations

from ingress.http2.incoming import CONNECTION_WINDOW, STREAM_WINDOW
from ingress.proxy.contract.transport import REFUSED
from tests.fakes.http2.client import MemoryWire
from tests.fakes.http2.frames import (
    CANCEL,
    DATA,
    END_STREAM,
    ENHANCE_YOUR_CALM,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    NO_ERROR,
    RST_STREAM,
    STREAM_CLOSED,
    WINDOW_UPDATE,
    block,
    continuation,
    data,
    headers,
    literal,
    request_fields,
    reset,
    settings,
    window_update,
)
from tests.proxy.h2_playing import BODY, MessageCase, usual_answer
from tests.proxy.playing import ONE, TWO

FORWARDING = (b"x-request-id", b"x-real-ip", b"x-scheme")


class RequestTests(MessageCase):
    """What upstream gets."""

    def sent(
        self, *more: tuple[bytes, bytes], path: bytes = b"/", method: bytes = b"GET"
    ) -> list[tuple[bytes, bytes]]:
        """Send a request, and return the field lines that upstream got, but for those that a proxy adds."""
        self.client.send(self.client.request(1, more=more, path=path, method=method))
        [request] = self.stage.requests
        return [
            field
            for field in request.fields
            if not field[0].lower().startswith(b"x-forwarded-") and field[0].lower() not in FORWARDING
        ]

    def test_plain(self) -> None:
        """The request line and Host are made of the pseudo-header fields, and come first."""
        self.assertEqual(
            self.sent(path=b"/a?b=c", method=b"PUT"), [(b"Host", b"shop.test"), (b"Content-Length", b"0")]
        )
        self.assertEqual(self.stage.requests[0].start, (b"PUT", b"/a?b=c", b"HTTP/1.1"))

    def test_encoded_slash(self) -> None:
        """It goes on as it came where it decides nothing; else the stream is answered 400, and the connection goes on."""
        self.sent(path=b"/a%2fb")
        self.assertEqual(self.stage.requests[0].start[1], b"/a%2fb")
        self.stage.publish((ONE,), path="/admin")
        self.client.send(
            self.client.request(3, path=b"/admin%2fb"), self.client.request(5, path=b"/admin/a%2fb")
        )
        self.client.look()
        self.assertEqual(self.client.statuses(3), [400])
        self.assertEqual([one.start[1] for one in self.stage.requests], [b"/a%2fb", b"/admin/a%2fb"])

    def test_host_of_the_authority(self) -> None:
        """A host field that agrees is not sent twice."""
        fields = self.sent((b"host", b"shop.test"), (b"accept", b"*/*"))
        self.assertEqual(fields, [(b"Host", b"shop.test"), (b"accept", b"*/*")])

    def test_cookies(self) -> None:
        """Several cookie fields become one, in order."""
        fields = self.sent((b"cookie", b"a=b"), (b"accept", b"*/*"), (b"cookie", b"c=d"), (b"cookie", b"e=f"))
        self.assertEqual([value for name, value in fields if name.lower() == b"cookie"], [b"a=b; c=d; e=f"])

    def test_te(self) -> None:
        """TE is between the client and us; HTTP/1.1 does not see it."""
        self.assertEqual(self.sent((b"te", b"trailers")), [(b"Host", b"shop.test")])

    def test_own_forwarding_fields(self) -> None:
        """What a client says of itself is replaced."""
        self.sent(
            (b"x-forwarded-for", b"203.0.113.9"), (b"x-real-ip", b"203.0.113.9"), (b"forwarded", b"for=x")
        )
        [request] = self.stage.requests
        self.assertEqual(request.values(b"x-forwarded-for"), [b"198.51.100.7"])
        self.assertEqual(request.values(b"x-real-ip"), [b"198.51.100.7"])
        self.assertEqual(request.values(b"x-forwarded-proto"), [b"http"])

    def test_body_of_unknown_length(self) -> None:
        """A body without a length goes on in chunks."""
        self.client.send(
            self.client.request(1, ended=False, method=b"POST"), data(1, b"ab"), data(1, b"cd", ended=True)
        )
        [request] = self.stage.requests
        self.assertEqual((request.body, request.values(b"transfer-encoding")), (b"abcd", [b"chunked"]))

    def test_body_of_known_length(self) -> None:
        """A body with a length goes on with it."""
        more = [(b"content-length", b"4")]
        self.client.send(
            self.client.request(1, ended=False, method=b"POST", more=more), data(1, b"abcd", ended=True)
        )
        [request] = self.stage.requests
        self.assertEqual((request.body, request.values(b"content-length")), (b"abcd", [b"4"]))

    def test_body_before_upstream(self) -> None:
        """What comes before upstream is connected waits for it."""
        self.stage.connector.is_slow = True
        self.client.send(self.client.request(1, ended=False, method=b"POST"), data(1, b"early"))
        self.stage.connector.let_through()
        self.client.send(data(1, b" and late", ended=True))
        self.assertEqual([request.body for request in self.stage.requests], [b"early and late"])

    def test_trailers(self) -> None:
        """Trailers of a request end it; HTTP/1.1 gets none of them."""
        self.client.send(self.client.request(1, ended=False, method=b"POST"), data(1, b"ab"))
        self.client.send(headers(1, block([(b"x-sum", b"y")])))
        [request] = self.stage.requests
        self.assertEqual(request.body, b"ab")
        self.assertEqual(request.values(b"x-sum"), [])

    def test_malformed_length_goes_nowhere(self) -> None:
        """Of a body that is not as long as was said, upstream never sees a regular end."""
        for stream, pieces in ((1, [b"abc"]), (3, [b"ab", b"cde"]), (5, [b""])):
            more = [(b"content-length", b"4")]
            self.client.send(self.client.request(stream, ended=False, method=b"POST", more=more))
            upstream = self.upstream
            for piece in pieces[:-1]:
                self.client.send(data(stream, piece))
            self.client.send(data(stream, pieces[-1], ended=True))
            self.assertEqual(self.stage.requests, [])
            self.assertTrue(upstream.saw_reset)

    def test_canceled(self) -> None:
        """RST_STREAM ends upstream's work at once, and the log says who went away."""
        self.client.send(self.client.request(1, ended=False, method=b"POST"), data(1, b"ab"))
        self.client.send(reset(1, CANCEL))
        self.assertTrue(self.upstream.saw_reset)
        self.assertEqual([status for _, status, _ in self.stage.metrics.ended], [499])

    def test_canceled_at_once(self) -> None:
        """A request whose RST_STREAM came with it is begun at no endpoint, and logged alike."""
        self.client.send(
            self.client.request(1, ended=False, method=b"POST"), data(1, b"ab"), reset(1, CANCEL)
        )
        self.assertEqual(self.stage.connector.peers, [])
        self.assertEqual([status for _, status, _ in self.stage.metrics.ended], [499])

    def test_fault_behind_it(self) -> None:
        """A request is begun at no endpoint either where what came with it costs the connection."""
        self.client.send(
            self.client.request(1, ended=False, method=b"POST"), data(1, b"ab"), window_update(0, 0)
        )
        self.client.look()
        self.assertIsNotNone(self.client.end)
        self.assertEqual(self.stage.connector.peers, [])
        self.assertEqual([status for _, status, _ in self.stage.metrics.ended], [499])

    def test_in_order(self) -> None:
        """Requests that come together go on in the order in which they came, with bodies or without."""
        self.client.send(
            self.client.request(1, ended=False, method=b"POST", path=b"/1"),
            data(1, b"ab"),
            self.client.request(3, path=b"/3"),
            self.client.request(5, ended=False, method=b"POST", path=b"/5"),
            data(5, b"cd", ended=True),
            data(1, b"ef", ended=True),
        )
        sent = [(request.start[1], request.body) for request in self.stage.requests]
        # By the connections to upstream, in the order in which they were made.
        self.assertEqual(sent, [(b"/1", b"abef"), (b"/3", b""), (b"/5", b"cd")])

    def test_many_at_once(self) -> None:
        """Requests whose frames come in turns are kept apart."""
        streams = range(1, 41, 2)
        self.client.send(
            *[
                self.client.request(stream, ended=False, method=b"POST", path=b"/%d" % stream)
                for stream in streams
            ]
        )
        for _ in range(10):
            self.client.send(*[data(stream, b"%02d" % stream) for stream in streams])
        self.client.send(*[data(stream, b"", ended=True) for stream in streams])
        bodies = {request.start[1]: request.body for request in self.stage.requests}
        self.assertEqual(bodies, {b"/%d" % stream: b"%02d" % stream * 10 for stream in streams})

    def test_too_large(self) -> None:
        """A head beyond our limit is answered with 431, one far beyond it ends the connection, and nothing goes on."""
        filler = literal(b"x-filler", b"x" * 3900, 0x40)
        fields = block(request_fields())
        self.client.send(headers(1, fields + filler + b"\xbe" * 9))
        self.client.look()
        self.assertEqual(self.client.statuses(1), [431])
        self.client.send(headers(3, fields + b"\xbe"))
        self.assertEqual(len(self.stage.requests), 1)
        self.client.send(headers(5, fields + b"\xbe" * 20))
        self.client.look()
        assert self.client.end is not None
        self.assertEqual(self.client.end.code, ENHANCE_YOUR_CALM)
        self.assertEqual(len(self.stage.requests), 1)

    def test_in_continuations(self) -> None:
        """A block in any number of frames, within reason, is the same request."""
        fields = block(request_fields(path=b"/pieces"))
        for stream, size in ((1, 3), (3, 7), (5, 20)):
            pieces = [fields[at : at + size] for at in range(0, len(fields), size)]
            frames = [headers(stream, pieces[0], whole=False)]
            frames += [continuation(stream, piece, whole=False) for piece in pieces[1:]]
            self.client.send(*frames[:30], continuation(stream, b"".join(pieces[30:])))
        self.assertEqual([request.start[1] for request in self.stage.requests], [b"/pieces"] * 3)


class AnswerTests(MessageCase):
    """What clients get."""

    def answer(self, *said: bytes, method: bytes = b"GET") -> None:
        """Ask, and let upstream say this."""
        self.client.send(self.client.request(1, method=method))
        self.upstream.say(*said)
        self.client.look()

    def test_names(self) -> None:
        """Names are in lower case, and what belongs to upstream's connection is taken off."""
        self.answer(
            b"HTTP/1.1 200 OK\r\nX-Upper: Y\r\nConnection: keep-alive, X-Hop\r\nX-Hop: z\r\nKeep-Alive: timeout=5\r\n"
            b"Proxy-Connection: x\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nok"
        )
        fields = self.fields()
        self.assertEqual(fields[b"x-upper"], b"Y")
        self.assertEqual(fields[b"content-length"], b"2")
        unwanted = {
            b"connection",
            b"x-hop",
            b"keep-alive",
            b"proxy-connection",
            b"upgrade",
            b"transfer-encoding",
        }
        self.assertEqual(unwanted & set(fields), set())
        self.assertTrue(all(name == name.lower() for name in fields))
        self.assertEqual(self.client.heads(1)[0][0], (b":status", b"200"))

    def test_chunked(self) -> None:
        """Chunks are unframed, and trailers come behind them."""
        self.answer(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 5\r\n\r\n"
        )
        self.assertEqual(self.client.body(1), b"abcde")
        self.assertNotIn(b"transfer-encoding", self.fields(which=0))
        self.assertEqual(self.fields(which=1), {b"x-sum": b"5"})
        self.assertEqual(self.client.frames[-1].kind, HEADERS)
        self.assertTrue(self.client.frames[-1].flags & END_STREAM)

    def test_until_close(self) -> None:
        """An answer that ends with upstream's connection ends its stream alone."""
        self.answer(b"HTTP/1.1 200 OK\r\n\r\nabc")
        self.assertFalse(self.client.has_ended(1))
        self.upstream.finish()
        self.client.look()
        self.assertTrue(self.client.has_ended(1))
        self.assertEqual(self.client.body(1), b"abc")
        self.assertFalse(self.client.closed)

    def test_no_body(self) -> None:
        """Answers without content are one frame, whatever length they announce."""
        for number, (method, said) in enumerate(
            (
                (b"HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
                (b"GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
                (b"GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
                (b"GET", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
            )
        ):
            stream = 2 * number + 1
            self.client.send(self.client.request(stream, method=method))
            self.upstream.say(said)
            self.client.look()
            [frame] = [each for each in self.client.frames if each.stream == stream]
            self.assertTrue(frame.kind == HEADERS and frame.flags & END_STREAM, frame)

    def test_interim(self) -> None:
        """Interim heads are passed on; 101 never is."""
        self.answer(
            b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        )
        self.assertEqual(self.client.statuses(1), [103, 200])
        self.assertEqual(self.fields(which=0)[b"link"], b"x")

    def test_switch(self) -> None:
        """101 that nobody asked for is an upstream's mistake."""
        self.answer(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
        self.assertEqual(self.client.statuses(1), [502])

    def test_broken_off(self) -> None:
        """An answer that breaks off is reset, and never ends like a whole one."""
        self.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
        self.upstream.finish()
        self.client.look()
        self.assertEqual(len(self.client.of(RST_STREAM, 1)), 1)
        self.assertNotIn(self.client.of(RST_STREAM, 1)[0].code, (NO_ERROR, STREAM_CLOSED))
        self.assertFalse(any(each.ends_stream for each in self.client.frames if each.stream == 1))
        self.assertFalse(self.client.closed)

    def test_unreadable(self) -> None:
        """Answers that cannot be read, or could split ours, are 502."""
        for number, said in enumerate(
            (
                b"nonsense\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nX: y\r\n folded\r\nContent-Length: 0\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nX y: z\r\nContent-Length: 0\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nX: y\0z\r\nContent-Length: 0\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nX: y\rz\r\nContent-Length: 0\r\n\r\n",
                b"HTTP/1.1 200 OK\r\n:status: 500\r\nContent-Length: 0\r\n\r\n",
            )
        ):
            stream = 2 * number + 1
            self.client.send(self.client.request(stream, method=b"POST"))
            self.upstream.say(said)
            self.client.look()
            self.assertEqual(self.client.statuses(stream), [502], said)

    def test_early(self) -> None:
        """An answer before the request ended is sent whole; the client may read it before the rest is not wanted."""
        self.client.send(self.client.request(1, ended=False, method=b"POST"), data(1, b"some"))
        self.upstream.say(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
        self.client.look()
        self.assertTrue(self.client.has_ended(1))
        self.assertEqual(self.client.of(RST_STREAM, 1), [])
        self.assertTrue(self.client.until(lambda: self.client.of(RST_STREAM, 1), 5.0))
        self.assertEqual((self.client.statuses(1), self.client.body(1)), ([413], b"no"))
        self.assertEqual([each.code for each in self.client.of(RST_STREAM, 1)], [NO_ERROR])
        last = [each.kind for each in self.client.frames if each.stream == 1 and each.ends_stream]
        self.assertEqual(last, [DATA])
        self.client.send(data(1, b"more"), data(1, b"", ended=True), self.client.request(3))
        self.client.look()
        self.assertIsNone(self.client.end)

    def test_early_and_whole(self) -> None:
        """What comes of a request after its answer is dropped: the stream gets no credit, and ends if that is all."""
        for stream, end in ((1, data(1, b"", ended=True)), (3, reset(3, CANCEL))):
            self.client.send(self.client.request(stream, ended=False, method=b"POST"))
            self.upstream.say(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
            for _ in range(STREAM_WINDOW // 16_384):
                self.client.send(data(stream, bytes(16_384)))
            self.client.send(end)
            self.stage.reactor.pass_time(3)
            self.client.look()
            self.assertEqual(self.client.statuses(stream), [403])
            self.assertEqual(self.client.of(RST_STREAM, stream), [])
            self.assertEqual(self.client.of(WINDOW_UPDATE, stream), [])
        session = self.stage.session
        self.assertEqual(session.streams, {})
        self.assertEqual(session.incoming.credit + session.incoming.owed, CONNECTION_WINDOW)

    def test_own_replies(self) -> None:
        """Our own replies have the form of any other, and harm no other stream."""
        self.client.send(self.client.request(1, authority=b"none.test"), self.client.request(3))
        self.upstream.say(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        self.assertEqual(self.fields(1)[b":status"], b"404")
        self.assertNotIn(b"connection", self.fields(1))
        self.assertEqual(int(self.fields(1)[b"content-length"]), len(self.client.body(1)))
        self.assertEqual(self.fields(3)[b":status"], b"200")

    def test_many_fields(self) -> None:
        """A head larger than a frame comes in CONTINUATION frames."""
        lines = b"".join(b"X-Field-%d: %b\r\n" % (number, b"%d" % number * 1500) for number in range(10, 20))
        self.answer(b"HTTP/1.1 200 OK\r\n%bContent-Length: 2\r\n\r\nok" % lines)
        self.assertLessEqual(max(len(each.payload) for each in self.client.frames), 16_384)
        self.assertEqual(self.fields()[b"x-field-19"], b"19" * 1500)
        self.assertEqual(self.client.body(1), b"ok")

    def test_retried(self) -> None:
        """A kept connection that turns out to be closed costs nothing: the request goes out again."""
        self.stage.answer = lambda request: (
            b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
        )
        self.client.send(self.client.request(1))
        self.client.look()
        self.stage.answer = lambda request: None
        self.client.send(self.client.request(3))
        self.upstream.finish()
        self.assertEqual(len(self.stage.connector.peers), 2)
        self.upstream.say(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        self.client.look()
        self.assertEqual(self.client.statuses(3), [200])

    def test_another_attempt_while_full(self) -> None:
        """A second attempt at another endpoint goes on by itself when a full transport has room again."""
        self.stage.publish((ONE, TWO))
        self.stage.answer = usual_answer
        wire = self.client.wire
        assert isinstance(wire, MemoryWire)
        self.client.send(settings((INITIAL_WINDOW_SIZE, 1 << 30)), window_update(0, 1 << 30))
        wire.peer.window = 0
        self.client.send(self.client.request(1, path=b"/large"))
        self.assertTrue(self.stage.session.outgoing.is_full)
        self.stage.connector.unreachable = {ONE: REFUSED}
        streams = range(3, 13, 2)
        for stream in streams:
            self.client.send(self.client.request(stream))
        self.assertIn(ONE, self.stage.connector.asked[1:])
        wire.peer.widen()
        self.client.look()
        self.assertEqual([self.client.statuses(stream) for stream in streams], [[200]] * len(streams))
