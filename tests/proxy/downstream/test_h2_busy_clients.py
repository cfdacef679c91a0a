"""Clients that do much of what floods do, for a reason: none of them may be taken for an attacker."""

from __future__ import annotations

from tests.fakes.http2.client import Http2Client
from tests.fakes.http2.frames import (
    INITIAL_WINDOW_SIZE,
    NO_ERROR,
    REFUSED_STREAM,
    RST_STREAM,
    data,
    ping,
    priority,
    reset,
    settings,
    window_update,
)
from tests.http.strict import Message
from tests.proxy.h2_playing import BODY, LARGE, SessionCase

CHUNKED_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
MESSAGE = b"\0\0\0\0\1x"
"""One octet, as gRPC frames it."""


class BusyClientTests(SessionCase):
    """Each of these gets what it asked for."""

    def assert_alive(self, client: Http2Client, stream: int) -> None:
        """Check that nobody said goodbye, and that one more request is answered."""
        client.send(client.request(stream))
        self.assertTrue(client.until(lambda: client.has_ended(stream)))
        self.assertEqual(client.statuses(stream), [200])
        self.assertEqual(client.body(stream), BODY)
        self.assertIsNone(client.end)

    def test_ping_pong(self) -> None:
        """A conversation of ten thousand messages of an octet each way, each with credit and now and then a PING."""
        client = self.stage.client()
        client.send(client.request(1, ended=False, method=b"POST", path=b"/silent"))
        [upstream] = self.stage.connector.peers
        upstream.say(CHUNKED_HEAD)
        for number in range(10_000):
            client.send(data(1, MESSAGE))
            upstream.say(b"6\r\n%b\r\n" % MESSAGE)
            client.send(window_update(1, 6), window_update(0, 6), ping() if number % 4 == 0 else b"")
            if number % 1000 == 0:
                self.stage.unread.clear()
        upstream.say(b"0\r\n\r\n")
        client.send(data(1, b"", ended=True))
        self.assertTrue(client.until(lambda: client.has_ended(1)))
        self.assertEqual(len(client.body(1)), 60_000)
        self.assert_alive(client, 3)

    def test_measured_way(self) -> None:
        """A stream of small messages to gRPC for Go, which says nothing itself, and a PING and an update of the window for each."""
        client = self.stage.client()
        client.send(client.request(1, method=b"POST", path=b"/silent"))
        [upstream] = self.stage.connector.peers
        upstream.say(CHUNKED_HEAD)
        for number in range(10_000):
            upstream.say(b"6\r\n%b\r\n" % MESSAGE)
            client.send(window_update(0, 6) + ping())
            if number % 1000 == 0:
                client.send(window_update(1, 6_000))
                self.stage.unread.clear()
        upstream.say(b"0\r\n\r\n")
        self.assertTrue(client.until(lambda: client.has_ended(1)))
        self.assertEqual(len(client.body(1)), 60_000)
        self.assert_alive(client, 3)

    def test_messages_one_way(self) -> None:
        """A hundred thousand octets that come one by one are an upload like any other."""
        client = self.stage.client()
        client.send(client.request(1, ended=False, method=b"POST"))
        for _ in range(1000):
            client.send(data(1, b"x") * 100)
        client.send(data(1, b"", ended=True))
        self.assertTrue(client.until(lambda: client.has_ended(1)))
        self.assertEqual([len(request.body) for request in self.stage.requests], [100_000])
        self.assert_alive(client, 3)

    def test_tab(self) -> None:
        """A tab asks for a hundred things and is closed, three times in a minute."""
        client = self.stage.client()
        streams = iter(range(1, 10_000, 2))
        for _ in range(3):
            tab = [next(streams) for _ in range(100)]
            client.send(*[client.request(stream, path=b"/silent") + priority(stream) for stream in tab])
            self.assertEqual(len(self.stage.open_upstreams), 100)
            client.send(*[reset(stream) for stream in tab])
            self.assertEqual(self.stage.open_upstreams, [])
            self.stage.reactor.pass_time(20)
        self.assert_alive(client, next(streams))

    def test_slow_upload(self) -> None:
        """A body that comes at a little more than the least rate, in pieces of 11 octets, for five minutes."""
        client = self.stage.client()
        client.send(client.request(1, ended=False, method=b"POST"))
        for _ in range(300):
            client.send(data(1, b"x" * 11) * 100)
            self.stage.reactor.pass_time(1)
        client.send(data(1, b"", ended=True))
        self.assertTrue(client.until(lambda: client.has_ended(1)))
        self.assertEqual([len(request.body) for request in self.stage.requests], [300 * 1100])
        self.assert_alive(client, 3)

    def test_upload_with_its_head(self) -> None:
        """What of a body came with its head counts for how fast it comes."""
        client = self.stage.client()
        begun = b"x" * 16384
        client.send(client.request(1, ended=False, method=b"POST") + data(1, begun) + data(1, begun))
        for _ in range(31):
            client.send(data(1, b"x"))
            self.stage.reactor.pass_time(1)
        client.send(data(1, b"", ended=True))
        self.assertTrue(client.until(lambda: client.has_ended(1)))
        self.assertEqual(client.statuses(1), [200])
        self.assertEqual([len(request.body) for request in self.stage.requests], [2 * 16384 + 31])

    def test_too_slow_upload(self) -> None:
        """A body that comes at less than the least rate is answered with 408, and the connection goes on."""
        client = self.stage.client()
        client.send(client.request(1, ended=False, method=b"POST"))
        for _ in range(35):
            client.send(data(1, b"x" * 9) * 100)
            self.stage.reactor.pass_time(1)
        client.look()
        self.assertEqual(client.statuses(1), [408])
        self.assertEqual([each.code for each in client.of(RST_STREAM, 1)], [NO_ERROR])
        self.assert_alive(client, 3)

    def test_large_answers(self) -> None:
        """Sixteen megabytes are taken with two credits for each frame."""
        client = self.stage.client()
        for stream in range(1, 33, 2):
            client.send(client.request(stream, path=b"/large"))
            given = 0
            while not client.has_ended(stream):
                client.look()
                taken = len(client.body(stream)) - given
                self.assertTrue(taken or client.has_ended(stream))
                given += taken
                pieces = [
                    window_update(which, 16_384) for _ in range(taken // 16_384 + 1) for which in (0, stream)
                ]
                client.send(*pieces)
            self.assertEqual(len(client.body(stream)), LARGE)
            client.frames.clear()
        self.assert_alive(client, 33)

    def test_many_requests(self) -> None:
        """Nine hundred requests one by one, each with a PRIORITY, credit and now and then a PING."""
        client = self.stage.client()
        for stream in range(1, 1801, 2):
            client.send(client.request(stream), priority(stream), window_update(0, len(BODY)))
            client.send(ping() if stream % 5 == 0 else b"")
            client.until(lambda stream=stream: client.has_ended(stream))  # type: ignore[misc]
            client.frames.clear()
        self.assert_alive(client, 1801)

    def test_changing_windows(self) -> None:
        """A client that makes its windows larger now and then, as those do that measure their way."""
        client = self.stage.client()
        for number in range(60):
            client.send(settings((INITIAL_WINDOW_SIZE, 65_535 + number * 1000)), ping())
            self.assert_alive(client, 2 * number + 1)
            self.stage.reactor.pass_time(1)

    def test_patient(self) -> None:
        """One that asks by PING whether we are there, for as long as an answer takes."""

        def answer(request: Message) -> bytes | None:
            return None

        self.stage.answer = answer
        client = self.stage.client()
        client.send(client.request(1))
        [upstream] = self.stage.connector.peers
        for _ in range(5):
            for _ in range(10):
                client.send(ping())
                self.stage.reactor.pass_time(1)
            upstream.say(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
        upstream.say(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        self.assertTrue(client.until(lambda: client.has_ended(1)))
        self.assertEqual(client.statuses(1), [103] * 5 + [200])
        self.assertIsNone(client.end)

    def test_more_than_streams(self) -> None:
        """Who asks for a little too much at once is told so without harm, and may ask again."""
        client = self.stage.client()
        client.send(*[client.request(2 * number + 1, path=b"/silent") for number in range(130)])
        client.look()
        refused = [(each.stream, each.code) for each in client.of(RST_STREAM)]
        self.assertEqual(refused, [(257, REFUSED_STREAM), (259, REFUSED_STREAM)])
        client.send(reset(1))
        self.assert_alive(client, 261)
