"""Large pages in slices, asked for over HTTP without a socket."""

import gzip
from collections.abc import Iterator
from typing import Any

from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request, Site

from ingress.admin.contract.page_sources import PageSources, Published
from ingress.admin.port.site import admin_site
from ingress.admin.port.sliced_pages import MOST_PAGES, STALLED_SECONDS, LargePages
from ingress.metrics.metrics import Metrics
from ingress.metrics.text import PART
from ingress.model.cluster.objects import ObjectKey
from ingress.model.upstream.backends import BackendReference
from ingress.process.in_slices import SLICE_SECONDS
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from ingress.translate.snapshot import Snapshot
from tests.fakes.records import record_of

PIECES_A_SLICE = 5


class TickingClock(Clock):
    """A clock by which it takes a fifth of a slice to make a piece."""

    def seconds(self) -> float:
        # Half a piece to spare, for sums of such numbers are not exact.
        self.rightNow += SLICE_SECONDS / (PIECES_A_SLICE - 0.5)
        return self.rightNow

    def turn(self) -> None:
        """Make the calls that are due, as a reactor does in one turn."""
        due = [call for call in self.calls if call.getTime() <= self.rightNow]
        for call in due:
            self.calls.remove(call)
            call.called = 1
            call.func(*call.args, **call.kw)


class Pages(Resource):
    """A page of as many lines as its path says."""

    isLeaf = True

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.pages = LargePages(clock)
        self.made: dict[bytes, int] = {}

    def render(self, request: Request) -> int:
        if not self.pages.begin(request, self._lines(request.path)):
            request.setResponseCode(503)
            request.finish()
        return NOT_DONE_YET

    def _lines(self, path: bytes) -> Iterator[str]:
        for number in range(int(path.rpartition(b"-")[2])):
            self.made[path] = number + 1
            if b"broken" in path and number == PIECES_A_SLICE:
                raise ZeroDivisionError
            yield f"{number}\n"


def body_of(answer: bytes) -> bytes:
    """Return the body of *answer*, out of its chunks if there are any."""
    head, _, rest = answer.partition(b"\r\n\r\n")
    if b"chunked" not in head:
        return rest
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        body += rest[: int(size, 16)]
        rest = rest[int(size, 16) + 2 :]
    return body


class LargePagesTests(SynchronousTestCase):
    """``LargePages`` below a real site."""

    def setUp(self) -> None:
        self.clock = TickingClock()
        self.resource = Pages(self.clock)
        self.site = Site(self.resource, reactor=self.clock)

    def ask(self, path: str, method: str = "GET", version: str = "1.1") -> StringTransport:
        transport = StringTransport()
        channel = self.site.buildProtocol(transport.getPeer())
        assert channel is not None
        channel.makeConnection(transport)
        transport.protocol = channel  # type: ignore[attr-defined]
        channel.dataReceived(f"{method} {path} HTTP/{version}\r\nHost: a\r\n\r\n".encode())
        return transport

    def made(self, path: bytes) -> int:
        return self.resource.made.get(path, 0)

    def producer(self, transport: StringTransport) -> Any:
        assert transport.producer is not None
        return transport.producer

    def test_slices(self) -> None:
        """A turn of the reactor makes a slice of a page, sends it, and no more."""
        transport = self.ask("/p-23")
        counts = []
        for _ in range(5):
            self.clock.turn()
            counts.append(self.made(b"/p-23"))
        self.assertEqual(counts, [5, 10, 15, 20, 23])
        self.assertEqual(body_of(transport.value()), b"".join(b"%d\n" % number for number in range(23)))
        self.assertIn(b"Transfer-Encoding: chunked", transport.value())
        self.assertEqual(repr(self.resource.pages), "<LargePages: 0 in the making, 0 stalled>")

    def test_one_slice_for_all(self) -> None:
        """However many pages are asked for, a turn makes one slice of one of them, each in its turn."""
        for name in ("/a-20", "/b-20", "/c-20"):
            self.ask(name)
        for turn in range(1, 13):
            self.clock.turn()
            self.assertEqual(sum(self.resource.made.values()), turn * PIECES_A_SLICE)
            self.assertLessEqual(
                max(self.resource.made.values()) - min(map(self.made, (b"/a-20", b"/b-20", b"/c-20"))),
                PIECES_A_SLICE,
            )
        self.assertEqual(self.resource.made, {b"/a-20": 20, b"/b-20": 20, b"/c-20": 20})

    def test_one_slice(self) -> None:
        """A page that fits into one slice tells its length."""
        transport = self.ask("/p-3")
        self.clock.turn()
        self.assertIn(b"Content-Length: 6\r\n", transport.value())
        self.assertEqual(body_of(transport.value()), b"0\n1\n2\n")

    def test_head(self) -> None:
        """HEAD tells the length of a page of any size, and sends nothing of it."""
        transport = self.ask("/p-23", "HEAD")
        for _ in range(5):
            self.clock.turn()
        size = len(b"".join(b"%d\n" % number for number in range(23)))
        self.assertIn(b"Content-Length: %d\r\n" % size, transport.value())
        self.assertTrue(transport.value().endswith(b"\r\n\r\n"))

    def test_old_client(self) -> None:
        """To a client of HTTP/1.0 a page ends with the connection."""
        transport = self.ask("/p-23", version="1.0")
        for _ in range(5):
            self.clock.turn()
        self.assertTrue(transport.value().endswith(b"\r\n\r\n" + b"".join(b"%d\n" % n for n in range(23))))
        self.assertTrue(transport.disconnecting)

    def test_slow_client(self) -> None:
        """While a client does not take what was sent, nothing more is made for it, and others go on."""
        transport = self.ask("/slow-1000")
        self.clock.turn()
        self.producer(transport).pauseProducing()
        self.ask("/other-20")
        for _ in range(10):
            self.clock.turn()
        self.assertEqual(self.resource.made, {b"/slow-1000": 5, b"/other-20": 20})
        self.producer(transport).resumeProducing()
        for _ in range(200):
            self.clock.turn()
        self.assertTrue(transport.value().endswith(b"\r\n0\r\n\r\n"))
        self.assertEqual(len(body_of(transport.value()).splitlines()), 1000)

    def test_stalled_client(self) -> None:
        """A client that takes nothing for half a minute is cut, so that it holds nothing in memory."""
        transport = self.ask("/slow-1000")
        self.clock.turn()
        self.producer(transport).pauseProducing()
        self.clock.advance(STALLED_SECONDS - 1)
        self.assertFalse(transport.disconnected)
        self.clock.advance(1)
        self.assertTrue(transport.disconnected)
        self.assertEqual(repr(self.resource.pages), "<LargePages: 0 in the making, 0 stalled>")

    def test_client_leaves(self) -> None:
        """What a client has left behind is made no further."""
        transport = self.ask("/p-1000")
        self.clock.turn()
        transport.protocol.connectionLost(Failure(ConnectionDone()))  # type: ignore[attr-defined]
        for _ in range(3):
            self.clock.turn()
        self.assertEqual(self.made(b"/p-1000"), 5)
        self.assertEqual(repr(self.resource.pages), "<LargePages: 0 in the making, 0 stalled>")

    def test_too_many(self) -> None:
        """One page too many is refused, and the others are finished."""
        transports = [self.ask(f"/p{number}-20") for number in range(MOST_PAGES)]
        refused = self.ask("/one-too-many-20")
        self.assertTrue(refused.value().startswith(b"HTTP/1.1 503 "))
        for _ in range(4 * MOST_PAGES):
            self.clock.turn()
        for transport in transports:
            self.assertEqual(len(body_of(transport.value()).splitlines()), 20)

    def test_stalled_clients_make_room(self) -> None:
        """Where all pages are taken, the client that has been silent for longest is cut for the newest."""
        transports = [self.ask(f"/p{number}-1000") for number in range(MOST_PAGES)]
        for _ in range(MOST_PAGES):
            self.clock.turn()
        for transport in (transports[3], transports[1]):
            self.producer(transport).pauseProducing()
        newest = self.ask("/newest-3")
        for _ in range(MOST_PAGES):
            self.clock.turn()
        self.assertEqual(body_of(newest.value()), b"0\n1\n2\n")
        self.assertEqual([t.disconnected for t in transports].index(True), 3)
        self.assertEqual(sum(t.disconnected for t in transports), 1)

    def test_failure(self) -> None:
        """A page that cannot be made to its end breaks off, so that nobody takes it for whole; others go on."""
        broken, other = self.ask("/broken-20"), self.ask("/other-20")
        for _ in range(8):
            self.clock.turn()
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.assertTrue(broken.disconnected)
        self.assertFalse(broken.value().endswith(b"\r\n0\r\n\r\n"))
        self.assertEqual(len(body_of(other.value()).splitlines()), 20)


def body_of_plain(answer: bytes) -> bytes:
    """Return what stands behind the head of *answer*."""
    return answer.partition(b"\r\n\r\n")[2]


class LargeClusterTests(SynchronousTestCase):
    """The pages of the admin port with many Ingresses."""

    def setUp(self) -> None:
        self.clock = TickingClock()
        self.metrics = Metrics()
        keys = [ObjectKey(f"team-{number}", "web") for number in range(2000)]
        self.metrics.snapshot_published(2000, 0, {}, 0.0, frozenset(keys))
        for key in keys:
            self.metrics.exchanges.ended(record_of(key, 200, 0.01, 5))
        self.snapshot = self.routes("before", 2000)
        self.site = admin_site(
            PageSources(tuple, lambda: Published(self.snapshot, 1), self.metrics), self.clock
        )

    def routes(self, name: str, count: int) -> Snapshot:
        backend = BackendReference("web", name, 80)
        return Snapshot(
            RouteTable(Route(f"{n:04}.test", "/", Match.PREFIX, None, backend) for n in range(count))
        )

    def send(self, requests: bytes) -> StringTransport:
        transport = StringTransport()
        channel = self.site.buildProtocol(transport.getPeer())
        assert channel is not None
        channel.makeConnection(transport)
        channel.dataReceived(requests)
        return transport

    def test_metrics(self) -> None:
        """Each turn shows some of the series of all Ingresses, and at the end all are there, each once."""
        transport = self.send(b"GET /metrics HTTP/1.0\r\n\r\n")
        most = 0
        while not transport.disconnecting:
            before = transport.value().count(b"\n")
            self.clock.turn()
            most = max(most, transport.value().count(b"\n") - before)
        self.assertLessEqual(most, PIECES_A_SLICE * (PART + 16))
        text = transport.value().decode()
        self.assertEqual(text.count("# TYPE ingress_requests_total counter\n"), 1)
        self.assertEqual(text.count('status="2xx"} 1.0\n'), 2000)
        self.assertIn(
            'ingress_requests_total{ingress="web",namespace="team-1999",service="",status="2xx"} 1.0\n', text
        )

    def test_compressed(self) -> None:
        """Who takes gzip gets the same series in a fraction of the bytes, made in as many turns; a refusal is not compressed."""
        plain, packed = (
            self.send(b"GET /metrics HTTP/1.0\r\nAccept-Encoding: " + coding + b"\r\n\r\n")
            for coding in (b"identity", b"br, gzip;q=0.5")
        )
        steps = 0
        while not packed.disconnecting:
            self.clock.turn()
            steps += len(packed.value()) > 0
        while not plain.disconnecting:
            self.clock.turn()
        head, _, body = packed.value().partition(b"\r\n\r\n")
        self.assertIn(b"\r\nContent-Encoding: gzip", head)
        self.assertNotIn(b"Content-Encoding", plain.value())
        text = gzip.decompress(body).decode()
        self.assertEqual(text.count('status="2xx"} 1.0\n'), 2000)
        self.assertEqual(text.count("\n"), body_of_plain(plain.value()).count(b"\n"))
        self.assertLess(len(body), len(text) // 10)
        self.assertGreater(steps, 100)
        for _ in range(MOST_PAGES):
            self.send(b"GET /metrics HTTP/1.0\r\n\r\n")
        refused = self.send(b"GET /metrics HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n")
        while not refused.disconnecting:
            self.clock.turn()
        self.assertIn(b" 503 ", refused.value())
        self.assertNotIn(b"Content-Encoding", refused.value())

    def test_not_torn(self) -> None:
        """A page shows the snapshot that was current when it was begun, whatever is published meanwhile."""
        transport = self.send(b"GET /api/routes HTTP/1.0\r\n\r\n")
        for _ in range(3):
            self.clock.turn()
        self.snapshot = self.routes("after", 3000)
        while not transport.disconnecting:
            self.clock.turn()
        self.assertEqual(transport.value().count(b'"backend": "web/before:80"'), 2000)
        self.assertEqual(transport.value().count(b"after"), 0)

    def test_pipelined(self) -> None:
        """Of the requests that one connection sends at once, each turn answers one."""
        transport = self.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 10)
        for turn in range(1, 11):
            self.clock.turn()
            self.assertEqual(transport.value().count(b"200 OK"), turn)
