"""Tests for ``ingress.proxy.downstream.negotiating`` in memory: what a connection begins with, and prior knowledge."""

from __future__ import annotations

from ingress.http2.frames import PREFACE
from ingress.model.serving.limits import Limits
from ingress.proxy.downstream.channel import DownstreamChannel
from ingress.proxy.downstream.negotiating import Beginning, beginning_of
from ingress.proxy.listening.connection_factories import ChannelFactory
from tests.fakes.http2.sessions import KeepingSession, Sessions
from tests.fakes.transports import Peer
from tests.proxy.playing import GET, OK, ProxyCase, Stage

SETTINGS = b"\0\0\0\4\0\0\0\0\0"


class BeginningTests(ProxyCase):
    """What the connections of a listener begin with."""

    def test_beginnings(self) -> None:
        """A channel may step aside where HTTP/2 may be met, and nowhere else."""
        plain, negotiating, knowing = Beginning.HTTP_1, Beginning.BY_HANDSHAKE, Beginning.BY_PREFACE
        for rules, expected_plain, expected_secure in (
            (None, plain, plain),
            (Sessions(True, False).rules, plain, negotiating),
            (Sessions(False, True).rules, knowing, plain),
            (Sessions(True, True).rules, knowing, negotiating),
            (Sessions(False, False).rules, plain, plain),
        ):
            self.assertIs(beginning_of(rules, secure=False), expected_plain)
            self.assertIs(beginning_of(rules, secure=True), expected_secure)
            self.stage.site.sessions = rules
            self.assertIs(ChannelFactory(self.stage.site, False).build().beginning, expected_plain)
            self.assertIs(ChannelFactory(self.stage.site, True).build().beginning, expected_secure)


class PriorKnowledgeCase(ProxyCase):
    """A plain listener at which HTTP/2 may be begun without a word."""

    def setUp(self) -> None:
        super().setUp()
        self.sessions = Sessions()
        self.stage.site.sessions = self.sessions.rules

    @property
    def session(self) -> KeepingSession:
        """The only session there is."""
        (session,) = self.sessions.made
        return session

    def assert_connections(self, still_open: int, accepted: int) -> None:
        """Check how many connections there are, by the site and by the metrics."""
        self.assertEqual(len(self.stage.site.connections.all), still_open)
        for name, count in (("", still_open), ("_accepted_total", accepted)):
            found = self.metrics.value(f"ingress_downstream_connections{name}", tls="false")
            self.assertEqual(found, count, name)

    def watched(self) -> list[object]:
        """The channels whose deadlines are looked after."""
        return [each for each in self.stage.deadlines.watched if isinstance(each, DownstreamChannel)]


class PriorKnowledgeTests(PriorKnowledgeCase):
    """The preface, and what is not one."""

    def test_preface(self) -> None:
        """A connection that begins with the preface is a session's, from its first byte on."""
        peer = self.stage.open()
        self.assertEqual(len(self.watched()), 1)
        peer.say(PREFACE + SETTINGS)
        self.assertEqual(self.session.received, PREFACE + SETTINGS)
        self.assertFalse(self.session.secure)
        peer.say(b"more")
        self.assertEqual(self.session.received, PREFACE + SETTINGS + b"more")
        self.session.transport.write(b"frames")
        self.assertEqual(peer.take(), b"frames")

    def test_one_connection(self) -> None:
        """It is one connection to site and metrics, and nothing of the channel is left."""
        peer = self.stage.open()
        self.assert_connections(1, 1)
        peer.say(PREFACE)
        self.assert_connections(1, 1)
        self.assertEqual(self.stage.site.connections.all, {self.session})
        self.assertEqual(self.watched(), [])
        peer.finish()
        self.assertEqual((self.session.ends, self.session.lost), (1, 1))
        self.assert_connections(0, 1)

    def test_every_split(self) -> None:
        """However the preface comes in pieces, the session gets it whole."""
        for at in range(1, len(PREFACE)):
            self.sessions.made.clear()
            self.stage.open().say(PREFACE[:at], PREFACE[at:] + SETTINGS)
            self.assertEqual(self.session.received, PREFACE + SETTINGS, at)
        self.sessions.made.clear()
        self.stage.open().say(*(PREFACE[at : at + 1] for at in range(len(PREFACE))), SETTINGS)
        self.assertEqual(self.session.received, PREFACE + SETTINGS)

    def test_http_1_1(self) -> None:
        """A request is served as on any other connection, however it comes in pieces."""
        for pieces in ((GET,), (b"P", b"OST" + GET[3:]), (b"PRI", b"NT" + GET[3:]), (GET[:1], GET[1:])):
            peer = self.stage.open()
            peer.say(*pieces)
            self.assertEqual(self.upstream().take()[:1], pieces[0][:1])
            self.upstream().say(OK)
            self.assert_status(peer.take(), 200)
            peer.say(GET)
            self.upstream().say(OK)
            self.assert_status(peer.take(), 200)
        self.assertEqual(self.sessions.made, [])

    def test_almost_a_preface(self) -> None:
        """What only resembles a preface is answered as without the option, to the byte."""
        for octets in (
            b"\r\n" + PREFACE,
            PREFACE[:18] + b"XX\r\n\r\n",
            PREFACE.replace(b"\r\n", b"\n"),
            PREFACE.lower(),
            PREFACE.replace(b"2.0", b"2.1"),
            b" " + PREFACE,
        ):
            usual = Stage().open()
            usual.say(octets)
            peer = self.stage.open()
            peer.say(octets)
            self.assertEqual(peer.take(), usual.take(), octets)
            peer.finish()
        self.assertEqual(self.sessions.made, [])

    def test_after_a_request(self) -> None:
        """A preface comes first or not at all: behind a request it is none."""
        peer = self.stage.open()
        peer.say(GET)
        self.upstream().say(OK)
        peer.take()
        peer.say(PREFACE)
        self.assert_status(peer.take(), 505)
        self.assertEqual(self.sessions.made, [])

    def test_upgrade_is_ignored(self) -> None:
        """A request that asks to go on in HTTP/2 is answered in HTTP/1.1, and upstream does not hear of it."""
        peer = self.stage.open()
        peer.say(
            b"GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: Upgrade, HTTP2-Settings\r\n"
            b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n"
        )
        self.assertNotIn(b"h2c", self.upstream().take())
        self.upstream().say(OK)
        self.assert_status(peer.take(), 200)
        self.assertEqual(self.sessions.made, [])

    def test_without_the_option(self) -> None:
        """Where prior knowledge is off, the preface is a version that is not spoken."""
        self.stage.site.sessions = Sessions(True, False).rules
        peer = self.stage.open()
        peer.say(PREFACE)
        self.assert_status(peer.take(), 505)


class EndsTests(PriorKnowledgeCase):
    """Connections that end at any time."""

    def test_preface_breaks_off(self) -> None:
        """A connection that ends within the preface leaves nothing behind, and nobody a request."""
        for end in (Peer.finish, Peer.reset):
            peer = self.stage.open()
            peer.say(PREFACE[:10])
            end(peer)
            self.assertEqual(len(self.stage.site.connections.all), 0)
            self.assertEqual(self.watched(), [])
        self.assertEqual(self.sessions.made, [])
        self.assert_ended()

    def test_preface_takes_too_long(self) -> None:
        """The preface has the time of a head from the accept on, however it trickles."""
        slow, silent = self.stage.open(), self.stage.open()
        for at in range(int(Limits().head_seconds)):
            slow.say(PREFACE[at : at + 1])
            self.reactor.pass_time(1)
        self.assert_status(slow.take(), 408)
        self.assertEqual(silent.take(), b"")
        self.assertTrue(silent.saw_end)
        slow.finish()
        self.assert_connections(0, 2)

    def test_back_pressure(self) -> None:
        """The transport tells the session how full it is, and the channel nothing any more."""
        peer = self.stage.open(window=0)
        peer.say(PREFACE)
        self.session.transport.write(bytes(200_000))
        self.assertTrue(self.session.is_full)
        peer.widen()
        self.assertFalse(self.session.is_full)

    def test_drain(self) -> None:
        """A session is drained with all others; one that begins after that, at once."""
        early, late = self.stage.open(), self.stage.open()
        early.say(PREFACE)
        late.say(PREFACE[:10])
        drained = self.stage.site.connections.drain()
        self.assertTrue(self.session.is_draining)
        self.assertNoResult(drained)
        late.say(PREFACE[10:])
        self.assertTrue(self.sessions.made[1].is_draining)
        self.assertTrue(late.saw_end)
        for peer in (early, late):
            peer.finish()
        self.successResultOf(drained)

    def test_abort(self) -> None:
        """A session is aborted with all others."""
        peer = self.stage.open()
        peer.say(PREFACE)
        self.stage.site.abort()
        self.reactor.settle()
        self.assertTrue(peer.saw_reset)
        self.assert_connections(0, 1)
