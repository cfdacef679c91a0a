"""Events out of octets."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.top.feed import MAX_EVENT_BYTES, Event, Feed, FeedError

STREAM = (
    b'event: numbers\ndata: {"perSecond": 1}\nid: a-1\n\n: here\n\r\n'
    b'event: routes\r\ndata: {"a":\r\ndata: 1}\r\n\r\ndata:[1]\n\nevent: none\n\nevent: odd\ndata: {\n\n'
)
EVENTS = [
    Event("numbers", {"perSecond": 1}, "a-1"),
    Event(),
    Event("routes", {"a": 1}),
    Event("message", [1]),
]


class FeedTests(SynchronousTestCase):
    """What a stream says."""

    def test_events(self) -> None:
        """Events have names, data of one or several lines and ids; a comment is a sign of life; what is no JSON is left out."""
        self.assertEqual([*Feed().take(STREAM)], EVENTS)

    def test_pieces(self) -> None:
        """They are the same however the stream is cut."""
        for size in (1, 2, 3, 7):
            feed = Feed()
            found = [
                event for at in range(0, len(STREAM), size) for event in feed.take(STREAM[at : at + size])
            ]
            self.assertEqual(found, EVENTS)

    def test_bounds(self) -> None:
        """An event that is too large ends the stream, be it one line or many."""
        piece = b"x" * (MAX_EVENT_BYTES // 4)
        for octets in (piece, b"data: " + piece + b"\n"):
            feed = Feed()
            with self.assertRaises(FeedError):
                for _ in range(6):
                    self.assertEqual([*feed.take(octets)], [])

    def test_deep(self) -> None:
        """Data that is nested without end is left out."""
        self.assertEqual([*Feed().take(b"data: " + b"[" * 100_000 + b"\n\n")], [])
