"""Connections that come to speak HTTP/2, on real sockets: by their handshake, or by what they say first."""

from __future__ import annotations

import gc

from twisted.logger import LogLevel, capturedLogs

from ingress.http.forwarding import TrustedProxies
from ingress.http2.frames import PREFACE
from ingress.proxy.contract.addresses import peer_address
from ingress.proxy.dispatch.site import SessionRules
from ingress.proxy.downstream.channel import DownstreamChannel
from ingress.proxy.listening.connection_starts import ConnectionStartRules
from tests.fakes.http2.sessions import KeepingSession, Sessions
from tests.fakes.raw_wires import HandMadeTLS, RawWire
from tests.proxy.raw_case import RawCase

SETTINGS = b"\0\0\0\4\0\0\0\0\0"
HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
V1 = b"PROXY TCP4 192.0.2.7 198.51.100.1 50000 8443\r\n"


def send_at_once(wire: RawWire, octets: bytes) -> None:
    """Send a first flight as it is."""
    wire.transport.write(octets)


class NegotiatingCase(RawCase):
    """Both listeners know HTTP/2."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Start."""
        self.made = Sessions()
        self.sessions: SessionRules | None = self.made.rules
        await super().setUp()

    @property
    def session(self) -> KeepingSession:
        """The only session there is."""
        (session,) = self.made.made
        return session

    async def shake(self, *protocols: bytes, first: bytes = PREFACE) -> HandMadeTLS:
        """Complete a handshake, and say something with its end."""
        wire = HandMadeTLS(b"app.test", send_at_once, protocols, first)
        await self.open(self._secure, wire)
        await self.until(lambda: wire.agreed is not None or wire.lost)
        return wire

    async def received(self, octets: bytes) -> None:
        """Wait until the session has got this, and nothing else."""
        await self.until(lambda: self.made.made and len(self.session.received) >= len(octets))
        self.assertEqual(self.session.received, octets)

    def assert_counted(self, still_open: int, accepted: int, tls: str = "true") -> None:
        """Check what the metrics have counted."""
        text = self.metrics.render().decode()
        for name, count in (("", still_open), ("_accepted_total", accepted)):
            self.assertIn(f'\ningress_downstream_connections{name}{{tls="{tls}"}} {float(count)}\n', text)


class HandshakeTests(NegotiatingCase):
    """What follows from what was agreed on."""

    async def test_http_2(self) -> None:
        """A connection that agreed on HTTP/2 is a session's, from its first byte on, and both ways."""
        wire = await self.shake(b"h2", b"http/1.1")
        self.assertEqual(wire.agreed, b"h2")
        await self.received(PREFACE)
        self.assertTrue(self.session.secure)
        wire.say(SETTINGS)
        await self.received(PREFACE + SETTINGS)
        self.session.transport.write(b"frames")
        await self.until(lambda: wire.answer == b"frames")

    async def test_silent(self) -> None:
        """The session is there when the handshake is over, before anything came."""
        await self.shake(b"h2", first=b"")
        await self.until(lambda: self.made.made)
        self.assertEqual(self.channels, [self.session])
        self.assertEqual(self.session.received, b"")

    async def test_http_1_1(self) -> None:
        """A connection that agreed on HTTP/1.1, or on nothing, stays a channel's."""
        for protocols in ((b"http/1.1",), ()):
            wire = HandMadeTLS(b"app.test", send_at_once, protocols)
            await self.open(self._secure, wire)
            await self.answered(wire)
            self.assertEqual(wire.agreed, b"".join(protocols))
        self.assertEqual(self.made.made, [])

    async def test_preface_on_http_1_1(self) -> None:
        """Over TLS there is no prior knowledge: without agreement the preface is a version that is not spoken."""
        wire = await self.shake(b"http/1.1")
        await self.until(lambda: b"\r\n\r\n" in wire.answer)
        self.assertIn(b"HTTP/1.1 505 ", wire.answer)
        self.assertEqual(self.made.made, [])

    def channels_alive(self) -> int:
        """Count those that anything refers to."""
        gc.collect()
        return sum(type(each) is DownstreamChannel for each in gc.get_objects())

    async def test_one_connection(self) -> None:
        """Site and metrics see one connection; channel and session end as one, and the channel is gone at once."""
        silent = await self.open(self._secure, RawWire())
        await self.until(lambda: self.channels)
        # Compiled, it cannot be referred to weakly.
        before = self.channels_alive()
        silent.transport.loseConnection()
        await self.until(lambda: not self.channels)
        wire = await self.shake(b"h2")
        await self.received(PREFACE)
        self.assertEqual(self.channels, [self.session])
        self.assertFalse([each for each in self.deadlines.watched if isinstance(each, DownstreamChannel)])
        self.assert_counted(1, 2)
        wire.leave()
        await self.ended(wire)
        self.assertEqual(self.session.lost, 1)
        self.assert_counted(0, 2)
        self.assertEqual(self.channels_alive(), before - 1)

    async def test_back_pressure(self) -> None:
        """The session is told how full its transport is."""
        wire = await self.shake(b"h2")
        await self.received(PREFACE)
        wire.transport.pauseProducing()
        self.session.transport.write(bytes(16 << 20))
        await self.until(lambda: self.session.is_full)
        wire.transport.resumeProducing()
        await self.until(lambda: not self.session.is_full)
        await self.until(lambda: len(wire.received) > 16 << 20)

    async def test_reading_pauses(self) -> None:
        """A session that reads no more gets nothing until it does."""
        wire = await self.shake(b"h2", first=b"")
        await self.until(lambda: self.made.made)
        self.session.transport.pauseProducing()
        wire.say(PREFACE)
        await self.turns(3)
        self.assertEqual(self.session.received, b"")
        self.session.transport.resumeProducing()
        await self.received(PREFACE)


class EndsTests(NegotiatingCase):
    """Handshakes and connections that come to no good end."""

    async def test_refused(self) -> None:
        """A client with other protocols is refused, and nothing is left of it."""
        with capturedLogs() as events:
            wire = await self.shake(b"h3")
            await self.ended(wire)
        # The alert ``no_application_protocol``.
        self.assertEqual(wire.received[-2:], bytes((2, 120)))
        self.assertEqual(self.made.made, [])
        self.assert_counted(0, 1)
        self.assertEqual([event for event in events if event["log_level"] > LogLevel.info], [])

    async def test_closed_in_the_handshake(self) -> None:
        """A connection that ends before its handshake does leaves nothing, and never has a session."""
        for beginning in (b"", HELLO):
            wire = await self.open(self._secure, RawWire())
            wire.transport.write(beginning)
            await self.until(lambda: self.channels)
            wire.transport.loseConnection()
            await self.ended(wire)
        # The client leaves in place of its last flight.
        half = HandMadeTLS(b"app.test", send_at_once, [b"h2"])
        half.dataReceived = lambda received: half.transport.abortConnection()  # type: ignore[method-assign]
        await self.open(self._secure, half)
        await self.until(lambda: half.lost and not self.channels)
        self.assertEqual(self.made.made, [])
        self.assert_counted(0, 3)

    async def test_aborted_in_the_handshake(self) -> None:
        """When everything ends, handshakes do; and when everything is drained."""
        for end in (self.site.abort, self.site.connections.drain):
            wire = await self.open(self._secure, RawWire())
            wire.transport.write(HELLO)
            await self.until(lambda: self.channels)
            end()
            await self.ended(wire)
        self.assertEqual(self.made.made, [])

    async def test_client_resets(self) -> None:
        """A session learns once that its client is gone."""
        wire = await self.shake(b"h2")
        await self.received(PREFACE)
        wire.transport.abortConnection()
        await self.until(lambda: not self.channels)
        self.assertEqual(self.session.lost, 1)
        self.assert_counted(0, 1)

    async def test_drain(self) -> None:
        """A session is drained with all others."""
        wire = await self.shake(b"h2")
        await self.received(PREFACE)
        drained = self.site.connections.drain()
        self.assertTrue(self.session.is_draining)
        wire.leave()
        await drained
        await self.ended(wire)

    async def test_a_bug_at_the_beginning(self) -> None:
        """A session that cannot be made costs its connection; the next one is served."""

        def fail(*_: object) -> KeepingSession:
            raise RuntimeError("no session")

        self.site.sessions = SessionRules(fail)
        wire = await self.shake(b"h2")
        await self.ended(wire)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        self.site.sessions = self.made.rules
        await self.shake(b"h2")
        await self.received(PREFACE)
        self.assert_counted(1, 2)


class PriorKnowledgeTests(NegotiatingCase):
    """Plain connections."""

    async def test_preface(self) -> None:
        """A connection that begins with the preface is a session's; one that does not, a channel's."""
        wire = await self.open(self._plain, RawWire())
        wire.transport.write(PREFACE[:7])
        await self.turns(3)
        self.assertEqual(self.made.made, [])
        wire.transport.write(PREFACE[7:] + SETTINGS)
        await self.received(PREFACE + SETTINGS)
        self.session.transport.write(b"frames")
        await self.until(lambda: wire.received == b"frames")
        other = await self.connect()
        other.get()
        await self.whole(other)
        self.assertEqual(other.answers[0].status, 200)
        self.assertEqual(len(self.channels), 2)
        self.assert_counted(2, 2, "false")
        wire.transport.loseConnection()
        await self.until(lambda: len(self.channels) == 1)
        self.assertEqual((self.session.ends, self.session.lost), (1, 1))
        self.assert_counted(1, 2, "false")

    async def test_a_bug(self) -> None:
        """A session that fails costs its connection and nobody else's."""
        wire = await self.open(self._plain, RawWire())
        wire.transport.write(PREFACE)
        await self.received(PREFACE)
        wire.transport.write(b"a bug")
        await self.ended(wire)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        self.assert_counted(0, 1, "false")


class BehindConnectionStartsTests(NegotiatingCase):
    """Both ways behind what is read of a connection before it has a protocol."""

    rules = ConnectionStartRules(load_balancers=TrustedProxies(["127.0.0.0/8"]), passes_tls=True)

    async def test_over_tls(self) -> None:
        """Behind a PROXY header and a ClientHello that was looked at, HTTP/2 is agreed on as ever."""
        for size in (7, 1 << 16):
            self.made.made.clear()
            wire = HandMadeTLS(b"app.test", self.in_pieces(size, V1), [b"h2"], PREFACE)
            await self.open(self._secure, wire)
            await self.received(PREFACE)
            self.assertEqual(peer_address(self.session.transport.getPeer()), b"192.0.2.7")
            wire.leave()
            await self.ended(wire)
        self.assert_counted(0, 2)

    async def test_prior_knowledge(self) -> None:
        """Behind a PROXY header, a connection may begin with the preface."""
        for size in (7, 1 << 16):
            self.made.made.clear()
            wire = await self.open(self._plain, RawWire())
            self.in_pieces(size)(wire, V1 + PREFACE + SETTINGS)
            await self.received(PREFACE + SETTINGS)
            self.assertEqual(peer_address(self.session.transport.getPeer()), b"192.0.2.7")
            wire.transport.loseConnection()
            await self.ended(wire)
        self.assert_counted(0, 2, "false")


class OffTests(RawCase):
    """HTTP/2 is off."""

    async def test_off(self) -> None:
        """HTTP/1.1 is agreed on, and the preface is nothing that is spoken."""
        wire = HandMadeTLS(b"app.test", send_at_once, [b"h2", b"http/1.1"])
        await self.open(self._secure, wire)
        await self.answered(wire)
        self.assertEqual(wire.agreed, b"http/1.1")
        plain = await self.open(self._plain, RawWire())
        plain.transport.write(PREFACE)
        await self.until(lambda: b"\r\n\r\n" in plain.received)
        self.assertTrue(plain.received.startswith(b"HTTP/1.1 505 "))
