"""How much of what comes a session reads at once: others have their turn in between."""

from __future__ import annotations

from ingress.http2.frame_reader import FRAMES_AT_ONCE
from tests.fakes.http2_frames import DATA, HEADERS, PROTOCOL_ERROR, data, headers, reset
from tests.http2.playing import BODY, Http2Stage, SessionCase

MANY = 20 * FRAMES_AT_ONCE
PATIENCE = 10
"""Seconds for a head."""


class TurnTests(SessionCase):
    """Clients that say thousands of things in one breath."""

    on_plane = True

    def setUp(self) -> None:
        super().setUp()
        self.stage = Http2Stage(on_plane=self.on_plane)

    def test_requests(self) -> None:
        """Whoever asks for much at once is answered in full, and another one does not wait until then."""
        greedy, modest = self.stage.client(), self.stage.client()
        said = modest.request(1, method=b"TRACE", authority=b"none.test")
        modest.wire.peer._incoming.append(said)  # type: ignore[attr-defined]
        streams = range(1, 2 * MANY, 2)
        greedy.send(*[greedy.request(each, method=b"HEAD", authority=b"none.test") for each in streams])
        greedy.look()
        self.assertEqual(len(greedy.of(HEADERS)), MANY)
        statuses = [status for _, status, _ in self.stage.metrics.ended]
        self.assertLess(statuses.index(405), 3 * FRAMES_AT_ONCE)

    def test_body(self) -> None:
        """A body in thousands of pieces arrives whole."""
        client = self.stage.client()
        pieces = [data(1, b"%04d" % number) for number in range(MANY)]
        client.send(client.request(1, method=b"POST", ended=False), *pieces, data(1, b"", ended=True))
        self.assertTrue(client.until(lambda: client.has_ended(1)))
        self.assertEqual(self.stage.requests[0].body, b"".join(b"%04d" % number for number in range(MANY)))

    def test_held(self) -> None:
        """What is held of such a body for another attempt is kept in few pieces."""
        client = self.stage.client()
        pieces = [data(1, b"%04d" % number) for number in range(MANY)]
        client.send(client.request(1, method=b"PUT", ended=False, path=b"/silent"), *pieces)
        client.look()
        held = self.stage.session.streams[1].exchange._held  # type: ignore[union-attr]
        assert held is not None
        self.assertEqual(b"".join(held), b"".join(b"%04d" % number for number in range(MANY)))
        self.assertLess(len(held), 20)

    def test_leaves(self) -> None:
        """A client that leaves while it has something left to say takes everything with it."""
        client = self.stage.client()
        client.wire.peer._incoming.append(  # type: ignore[attr-defined]
            b"".join(client.request(each, path=b"/silent") + reset(each) for each in range(1, 601, 2))
        )
        client.wire.close()
        self.stage.reactor.pass_time(PATIENCE)
        self.assert_nothing_left()

    def test_answer(self) -> None:
        """An answer is whole though its request came behind thousands of frames."""
        client = self.stage.client()
        client.send(
            *[client.request(each, method=b"HEAD", authority=b"none.test") for each in range(1, 999, 2)],
            client.request(999),
        )
        self.assertTrue(client.until(lambda: client.has_ended(999)))
        self.assertEqual(client.body(999), BODY)
        self.assertEqual(client.of(DATA, 1), [])


class TwistedTurnTests(TurnTests):
    """The same on Twisted's transports."""

    on_plane = False


class AmidTests(SessionCase):
    """Clients that are amid something at each tick of the clock."""

    def test_busy(self) -> None:
        """Whoever is amid another request each time is only busy."""
        client = self.stage.client()
        client.send(client.request(1)[:5])
        for number in range(1, 2 * PATIENCE + 1):
            self.stage.reactor.pass_time(1)
            rest, begun = client.request(2 * number - 1)[5:], client.request(2 * number + 1)[:5]
            client.send(rest + begun)
        client.look()
        self.assertIsNone(client.end)

    def test_dripping(self) -> None:
        """Whoever drips one head ends, however many bytes came of it."""
        client = self.stage.client()
        whole = headers(1, bytes(10_000), ended=True)
        for at in range(PATIENCE + 3):
            client.send(whole[at : at + 1])
            self.stage.reactor.pass_time(1)
        client.look()
        assert client.end is not None
        self.assertEqual(client.end.code, PROTOCOL_ERROR)
