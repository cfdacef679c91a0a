"""Who may see the pages of the admin port."""

from base64 import b64encode
from pathlib import Path
from typing import Any

from twisted.internet.address import IPv4Address, IPv6Address, UNIXAddress
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IAddress
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.logger import capturedLogs, formatEvent
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from ingress.admin.contract.answers import Answer
from ingress.admin.contract.page_sources import PageSources, Published
from ingress.admin.port.access import (
    MOST_OF_ONE,
    MOST_WAITING,
    TELL_SECONDS,
    TOO_MANY,
    UNAUTHORIZED,
    WAIT_SECONDS,
    Access,
    is_of_this_machine,
    token_in,
)
from ingress.admin.port.site import admin_site
from ingress.admin.port.tokens import TokenFile
from ingress.metrics.metrics import Metrics
from ingress.metrics.series.admin import AdminMetrics
from ingress.translate.snapshot import Snapshot

TOKEN = b"0123456789abcdef"
RIGHT, WRONG = b"Bearer " + TOKEN, b"Bearer 0123456789abcdeX"
BASIC = b"Basic " + b64encode(b"anybody:" + TOKEN)


def peer(host: str = "10.0.0.9") -> IAddress:
    """Return where somebody asks from."""
    return (IPv6Address if ":" in host else IPv4Address)("TCP", host, 40000)


class TokenInTests(SynchronousTestCase):
    """``token_in``."""

    def test_both_ways(self) -> None:
        """A token is said as a bearer has it, or as a password with any name."""
        for field in (RIGHT, b"bearer  " + TOKEN, BASIC, b"Basic " + b64encode(b":" + TOKEN)):
            self.assertEqual(token_in(field), TOKEN)

    def test_none(self) -> None:
        """Everything else says none."""
        nothing = (b"", b"Bearer", b"Bearer ", TOKEN, b"Digest x", b"Basic %%%", b"Basic " + b64encode(TOKEN))
        for field in (*nothing, b"Basic " + b64encode(b"name:")):
            self.assertIsNone(token_in(field), field)


class PeerTests(SynchronousTestCase):
    """``is_of_this_machine``."""

    def test_ours(self) -> None:
        """Loopback addresses of both families, also written as IPv6 has IPv4, and UNIX sockets."""
        for host in ("127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"):
            self.assertTrue(is_of_this_machine(peer(host)), host)
        self.assertTrue(is_of_this_machine(UNIXAddress(b"/run/admin")))

    def test_others(self) -> None:
        """All others, and who cannot be known."""
        for host in ("10.0.0.1", "::2", "::ffff:10.0.0.1", "fe80::1%lo", "localhost", ""):
            self.assertFalse(is_of_this_machine(peer(host)), host)
        self.assertFalse(is_of_this_machine(None))


class AccessCase(SynchronousTestCase):
    """Has ``Access`` with one token, and asks."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.metrics = AdminMetrics()
        path = Path(self.mktemp())
        path.write_bytes(TOKEN)
        self.tokens = TokenFile(str(path), self.clock)
        self.access = self.access_of()

    def access_of(self, knows_peers: bool = True) -> Access:
        return Access(self.tokens, self.clock, self.metrics, knows_peers)

    def ask(self, *fields: bytes, host: str = "10.0.0.9") -> Any:
        return self.access.refusal(peer(host), list(fields))

    def wrong(self, host: str = "10.0.0.9") -> "Answer | Deferred[Answer]":
        """Ask with a wrong token."""
        answer: Answer | Deferred[Answer] = self.ask(WRONG, host=host)
        return answer

    def counted(self) -> dict[str, float]:
        """Return the numbers of refusals that there were."""
        [family] = self.metrics.families()
        return {sample.labels["reason"]: sample.value for sample in family.samples if sample.value}


class AccessTests(AccessCase):
    """``Access``."""

    def test_without_the_option(self) -> None:
        """Without tokens everybody may see the pages."""
        self.assertIsNone(Access(None, self.clock, self.metrics).refusal(peer(), []))

    def test_of_this_machine(self) -> None:
        """Who asks from this machine needs no token, unless a header says where he asks from."""
        self.assertIsNone(self.ask(host="127.0.0.1"))
        self.access = self.access_of(knows_peers=False)
        self.assertIs(self.ask(host="127.0.0.1"), UNAUTHORIZED)

    def test_right(self) -> None:
        """Who has a token gets in at once, in either way."""
        self.assertEqual([self.ask(RIGHT), self.ask(BASIC)], [None, None])
        self.assertEqual(self.counted(), {})

    def test_no_token(self) -> None:
        """Who has none is told so at once, and so is who says two things."""
        for fields in ((), (b"Digest x",), (RIGHT, RIGHT)):
            self.assertIs(self.ask(*fields), UNAUTHORIZED)
        self.assertEqual(self.counted(), {"no-token": 3})

    def test_wrong(self) -> None:
        """A wrong token is answered after a second."""
        with capturedLogs():
            answer = self.wrong()
        assert isinstance(answer, Deferred)
        self.clock.advance(WAIT_SECONDS - 0.1)
        self.assertNoResult(answer)
        self.clock.advance(0.1)
        self.assertIs(self.successResultOf(answer), UNAUTHORIZED)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_many_of_one(self) -> None:
        """Of one address few wait so; meanwhile no token of it is looked at, and those of others are."""
        with capturedLogs():
            waiting = [self.wrong() for _ in range(MOST_OF_ONE)]
            self.assertIs(self.wrong(), TOO_MANY)
            self.assertEqual((TOO_MANY.status, TOO_MANY.fields), (429, (("Retry-After", "1"),)))
            self.assertIs(self.ask(RIGHT), TOO_MANY)
            self.assertIsNone(self.ask(RIGHT, host="10.0.0.8"))
            self.assertIsNone(self.ask(host="127.0.0.1"))
        self.clock.advance(WAIT_SECONDS)
        self.assertEqual(
            {self.successResultOf(one) for one in waiting if isinstance(one, Deferred)}, {UNAUTHORIZED}
        )
        self.assertIsNone(self.ask(RIGHT))
        self.assertEqual(self.counted(), {"wrong-token": 4, "too-many": 2})

    def test_leaving_helps_nobody(self) -> None:
        """Who leaves without waiting for the answer keeps his place until then."""
        with capturedLogs():
            for _ in range(MOST_OF_ONE):
                answer = self.wrong()
                assert isinstance(answer, Deferred)
                answer.addErrback(lambda _: None)
                answer.cancel()
            self.assertIs(self.wrong(), TOO_MANY)

    def test_networks(self) -> None:
        """Addresses of one IPv6 network of 64 bits count as one, for whoever has one has all of them."""
        with capturedLogs():
            for number in range(MOST_OF_ONE):
                self.wrong(f"fd00::{number:x}")
            self.assertIs(self.wrong("fd00::ffff"), TOO_MANY)
            self.assertIsNot(self.wrong("fd00:0:0:1::1"), TOO_MANY)

    def test_carried_by_ipv6(self) -> None:
        """IPv4 addresses stay apart where a listener of both families has them within IPv6: one of them locks no other out."""
        with capturedLogs():
            for _ in range(MOST_OF_ONE):
                self.wrong("::ffff:10.0.0.1")
            self.assertIs(self.wrong("::ffff:10.0.0.1"), TOO_MANY)
            self.assertIs(self.wrong("10.0.0.1"), TOO_MANY)
            self.assertIsNone(self.ask(RIGHT, host="::ffff:10.0.0.2"))

    def test_most(self) -> None:
        """However many addresses try, so many wait, and nothing is kept of those before."""
        with capturedLogs():
            for number in range(MOST_WAITING):
                self.wrong(f"10.1.{number >> 8}.{number & 255}")
            self.assertIs(self.wrong("10.2.0.1"), TOO_MANY)
            self.assertEqual(len(self.clock.getDelayedCalls()), 2 * MOST_WAITING)
            self.clock.advance(WAIT_SECONDS)
            self.assertIsNot(self.wrong("10.2.0.1"), TOO_MANY)

    def test_log(self) -> None:
        """The log tells of the first one, and then once a minute how many there were; never of what was tried."""
        with capturedLogs() as events:
            for second in range(2 * int(TELL_SECONDS) + 1):
                self.wrong(f"10.1.0.{second}")
                self.clock.advance(1)
        said = [str(formatEvent(event)) for event in events]
        self.assertEqual([one.partition(" since")[0].rpartition(" ")[2] for one in said], ["1", "60", "60"])
        self.assertIn("10.1.0.0", said[0])
        self.assertNotIn("abcdeX", " ".join(said))


class SiteTests(AccessCase):
    """The pages of a site with tokens, asked from another machine."""

    def setUp(self) -> None:
        super().setUp()
        self.all = Metrics()
        published = Published(Snapshot(), 1)
        known = PageSources(lambda: ("something",), lambda: published, self.all)
        self.site = admin_site(known, self.clock, access=self.access)

    def get(self, path: str, *fields: bytes, host: str = "10.0.0.9") -> tuple[int, bytes]:
        """Ask for a page; return its status and all that came."""
        transport = StringTransport(peerAddress=peer(host))
        connection: Any = self.site.buildProtocol(peer(host))
        connection.makeConnection(transport)
        lines = [b"GET %b HTTP/1.1" % path.encode(), b"Host: 10.0.0.7", *fields, b"Connection: close"]
        connection.dataReceived(b"\r\n".join((*lines, b"", b"")))
        self.clock.advance(0)
        self.clock.advance(0)
        self.addCleanup(connection.connectionLost, Failure(ConnectionDone()))
        answer = transport.value()
        return int(answer.split(b" ", 2)[1]) if answer else 0, answer

    def test_probes_stay_open(self) -> None:
        """Health and readiness are for whoever asks: a kubelet cannot say a token."""
        self.assertEqual([self.get(path)[0] for path in ("/healthz", "/readyz")], [200, 503])

    def test_all_others(self) -> None:
        """Everything else needs a token from elsewhere, a path that there is not, too, and none from here."""
        for path in ("/", "/metrics", "/api/routes", "/api/v1/routes", "/api/v1/openapi.json", "/nothing"):
            status, answer = self.get(path)
            self.assertEqual(status, 401, path)
            self.assertIn(b'WWW-Authenticate: Basic realm="txingress"', answer)
            self.assertIn(b'WWW-Authenticate: Bearer realm="txingress"', answer)
            found = 404 if path == "/nothing" else 200
            self.assertEqual(self.get(path, b"Authorization: " + RIGHT)[0], found, path)
            self.assertEqual(self.get(path, b"Authorization: " + BASIC)[0], found, path)
            self.assertEqual(self.get(path, host="127.0.0.1")[0], found, path)

    def test_wrong_over_http(self) -> None:
        """A wrong token has its answer a second later."""
        with capturedLogs():
            self.assertEqual(self.get("/", b"Authorization: " + WRONG)[0], 0)
        self.clock.advance(WAIT_SECONDS)
        self.assertEqual(self.counted(), {"wrong-token": 1})

    def test_other_origins(self) -> None:
        """Pages of other origins see nothing, whatever they know, also from this machine; and that is counted."""
        for field in (b"Origin: http://evil.example", b"Sec-Fetch-Site: cross-site"):
            for path in ("/", "/healthz", "/api/v1/routes", "/nothing"):
                for host in ("10.0.0.9", "127.0.0.1"):
                    status, answer = self.get(path, b"Authorization: " + RIGHT, field, host=host)
                    self.assertEqual(status, 403, path)
                    self.assertNotIn(b"Access-Control", answer)
        self.assertIn(b'ingress_admin_refused_total{reason="cross-origin"} 16.0', self.all.render())

    def test_followed_link(self) -> None:
        """A link on another site leads to the page at the root, and to no other; no page can have it in a frame, or fetch it."""
        right, site = b"Authorization: " + RIGHT, b"Sec-Fetch-Site: cross-site"
        mode, tab, frame = b"Sec-Fetch-Mode: navigate", b"Sec-Fetch-Dest: document", b"Sec-Fetch-Dest: iframe"
        self.assertEqual(self.get("/", right, site, mode, tab)[0], 200)
        self.assertEqual(self.get("/", site, mode, tab)[0], 401)
        self.assertEqual(self.get("/", right, site, mode, frame)[0], 403)
        self.assertEqual(self.get("/api/v1/routes", right, site, mode, tab)[0], 403)

    def test_fields_of_all(self) -> None:
        """Whatever is answered may be read by no other page, nor taken for anything else than it is, nor tell where one came from."""
        right = b"Authorization: " + RIGHT
        for path in ("/", "/healthz", "/api/v1/routes", "/nothing", "/api/v1/routes?x=1", "/metrics"):
            for fields in ((), (right,), (right, b"Origin: null")):
                answer = self.get(path, *fields)[1]
                for field in (
                    b"X-Content-Type-Options: nosniff",
                    b"Cross-Origin-Resource-Policy: same-origin",
                    b"Referrer-Policy: no-referrer",
                    b"Content-Security-Policy: default-src 'none'; frame-ancestors 'none'",
                ):
                    self.assertEqual(answer.count(field), 1, (path, fields))
                self.assertNotIn(b"Access-Control", answer)
