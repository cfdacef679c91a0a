"""What a client could smuggle, through a whole proxy: upstreams record every octet, and read strictly."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from tests.fakes.http2.frames import PROTOCOL_ERROR, RST_STREAM, block, data, headers
from tests.http.strict import StrictError, read_request
from tests.http2.test_downgrade import CASES
from tests.proxy.h2_playing import Http2Stage
from tests.proxy.playing import ONE

BODIES = ((b"",), (b"hello",), (b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: shop.test\r\n\r\n",))
"""What follows those that do not end with their head."""


class SmugglingTests(SynchronousTestCase):
    """Every case in a session of its own, and in one session with a request before and behind."""

    def play(
        self, fields: list[tuple[bytes, bytes]], ended: bool, body: tuple[bytes, ...], what: object
    ) -> None:
        """Send one malformed request between two good ones; only these may reach an upstream."""
        stage = Http2Stage(on_epoll=True)
        stage.publish((ONE,), host="")
        client = stage.client()
        client.send(client.request(1, path=b"/before"))
        self.assertTrue(client.until(lambda: client.has_ended(1)), what)
        client.send(headers(3, block(fields), ended))
        if not ended:
            client.send(*[data(3, piece) for piece in body[:-1]], data(3, body[-1], ended=True))
        client.look()
        client.send(client.request(5, path=b"/after"))
        self.assertTrue(client.until(lambda: client.has_ended(5)), what)
        self.assertEqual((client.statuses(1), client.statuses(5)), ([200], [200]), what)
        self.assertEqual([request.start[1] for request in stage.requests], [b"/before", b"/after"], what)
        self.assertEqual([octets for octets in stage.unread.values() if octets], [], what)
        codes = [each.code for each in client.of(RST_STREAM, 3)]
        statuses = client.statuses(3)
        self.assertTrue(
            codes[:1] == [PROTOCOL_ERROR] or (statuses and 400 <= statuses[0] < 600), (what, codes, statuses)
        )

    def test_nothing_goes_on(self) -> None:
        """Of no malformed request does an octet reach an upstream, whatever body comes with it."""
        self.assertGreaterEqual(len(CASES), 50)
        for name, fields, ended in CASES:
            for body in BODIES:
                self.play(fields, ended, body, name)
                if ended:
                    break

    def test_bodies_stay_bodies(self) -> None:
        """A body that looks like framing or like a request is a body, with a length and without one."""
        for evil in (BODIES[2][0], b"\r\n0\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"5\r\nhello\r\n0\r\n\r\n"):
            for length in ([], [(b"content-length", b"%d" % len(evil))]):
                stage = Http2Stage()
                client = stage.client()
                client.send(client.request(1, ended=False, method=b"POST", more=length))
                client.send(
                    *[data(1, evil[at : at + 1]) for at in range(len(evil))], data(1, b"", ended=True)
                )
                client.send(client.request(3, path=b"/after"))
                client.look()
                self.assertEqual([request.body for request in stage.requests], [evil, b""])
                self.assertEqual([request.start[1] for request in stage.requests], [b"/", b"/after"])
                for peer in stage.connector.peers:
                    with self.assertRaises(StrictError):
                        read_request(stage.unread.get(peer, b""))
