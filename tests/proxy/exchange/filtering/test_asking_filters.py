"""Filters that ask and tell other services, in both protocols: who waits, who is told, and who is not."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from ingress.filters import Facts, Filter, Phase, Reply, RequestEdit, Services, SubRequest, SubRequestFailed
from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings
from ingress.proxy.contract.transport import REFUSED
from ingress.proxy.dispatch.site import SessionRules
from ingress.proxy.downstream.h2_session import DownstreamSession
from tests.fakes.http2.client import Http2Client, MemoryWire
from tests.fakes.http2.frames import CANCEL, reset
from tests.fakes.transports import Peer
from tests.proxy.playing import GET, OK, ONE, ProxyCase, fields_of

AUTH = Endpoint("auth.test", 80, LinkSettings(is_external=True))
MIRROR = Endpoint("mirror.test", 80, LinkSettings(is_external=True))
DENIED = b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"
KNOWN = b"HTTP/1.1 200 OK\r\nX-User: anna\r\nContent-Length: 0\r\n\r\n"
PUT = b"PUT / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 4\r\n\r\nbody"


@frozen
class Ask:
    """Asks before each request, and tells the endpoint who it is."""

    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "ask"

    def describe(self) -> str:
        """Say so."""
        return "asks auth.test"

    def make(self, services: Services) -> Filter:
        """Make the filter."""
        return _Asking(services)


class _Asking(Filter):
    def __init__(self, services: Services) -> None:
        self._services = services

    async def on_request(self, facts: Facts) -> Reply | None:
        try:
            answer = await self._services.ask(
                SubRequest("http://auth.test/", fields=((b"X-Target", facts.target),), seconds=3.0)
            )
        except SubRequestFailed:
            return Reply(503)
        facts.notes[self] = answer.field(b"x-user")
        return None if answer.status == 200 else Reply(answer.status)

    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        user = facts.notes[self]
        assert isinstance(user, bytes)
        edit.put(b"X-User", user)


@frozen
class Tell:
    """Mirrors the head of each request."""

    phase: ClassVar[Phase] = Phase.EDITS
    name: ClassVar[str] = "tell"

    def describe(self) -> str:
        """Say so."""
        return "tells mirror.test"

    def make(self, services: Services) -> Filter:
        """Make the filter."""
        return _Telling(services)


class _Telling(Filter):
    def __init__(self, services: Services) -> None:
        self._services = services

    def on_request(self, facts: Facts) -> None:
        self._services.tell(SubRequest("http://mirror.test/", method=facts.method, body=b"copy"))


class AskingCase(ProxyCase):
    """Routes whose requests are asked about."""

    def peers(self, endpoint: Endpoint) -> list[Peer]:
        """The connections to an endpoint, in their order."""
        return [peer for peer in self.connector.peers if peer.protocol.endpoint == endpoint]  # type: ignore[attr-defined]

    def outcome(self, kind: str, outcome: str) -> float:
        """How many sub-requests ended so."""
        return self.metrics.value("ingress_sub_requests_total", kind=kind, outcome=outcome)


class AskTests(AskingCase):
    """Decisions of another service."""

    def setUp(self) -> None:
        super().setUp()
        self.stage.publish((ONE,), filters=(Ask(),))

    def test_passes(self) -> None:
        """What is allowed goes on with what was learned; only the visitor's request stands in the log."""
        down = self.stage.open()
        down.say(GET)
        (auth,) = self.peers(AUTH)
        self.assertEqual(fields_of(auth.take()), {b"host": b"auth.test", b"x-target": b"/"})
        self.assertEqual(self.peers(ONE), [])
        auth.say(KNOWN)
        (one,) = self.peers(ONE)
        self.assertEqual(fields_of(one.take())[b"x-user"], b"anna")
        one.say(OK)
        self.assert_status(down.take(), 200)
        self.assert_ended(200)
        self.assertEqual(self.outcome("ask", "answered"), 1)
        # The next one needs no connection more.
        down.say(GET)
        self.assertEqual(len(self.peers(AUTH)), 1)

    def test_denied(self) -> None:
        """What is not allowed gets no further, and its connection goes on."""
        down = self.stage.open()
        for _ in range(2):
            down.say(GET)
            (auth,) = self.peers(AUTH)
            auth.say(DENIED)
            self.assert_status(down.take(), 403)
        self.assertEqual(self.peers(ONE), [])

    def test_body(self) -> None:
        """A request body waits for the decision, and goes whole."""
        down = self.stage.open()
        down.say(PUT)
        self.peers(AUTH)[0].say(KNOWN)
        (one,) = self.peers(ONE)
        self.assertTrue(one.take().endswith(b"\r\n\r\nbody"))

    def test_unanswered(self) -> None:
        """Where nobody answers, the filter hears of it in time."""
        self.connector.unreachable = {AUTH: REFUSED}
        down = self.stage.open()
        down.say(GET)
        self.assert_status(down.take(), 503)
        self.connector.unreachable = {}
        down.say(GET)
        self.reactor.pass_time(4)
        self.assert_status(down.take(), 503)
        self.assertEqual(self.outcome("ask", "failed"), 2)

    def test_left(self) -> None:
        """A client that leaves ends what is asked on its behalf, and nothing goes on for nobody."""
        down = self.stage.open()
        down.say(GET)
        down.reset()
        (auth,) = self.peers(AUTH)
        self.assertTrue(auth.saw_reset)
        self.assertEqual((self.outcome("ask", "cancelled"), self.peers(ONE)), (1, []))
        self.assert_ended(499)

    def test_left_over_http2(self) -> None:
        """So does a stream that is reset, and the others of its connection go on."""
        self.stage.site.sessions = SessionRules(DownstreamSession, by_prior_knowledge=True)
        client = Http2Client(MemoryWire(self.reactor, self.stage.open()))
        client.begin()
        for stream in (1, 3):
            client.send(client.request(stream))
        first, second = self.peers(AUTH)
        client.send(reset(1, CANCEL))
        self.assertTrue(first.saw_reset)
        second.say(KNOWN)
        (one,) = self.peers(ONE)
        self.assertEqual(fields_of(one.take())[b"x-user"], b"anna")
        one.say(OK)
        client.look()
        self.assertEqual(client.body(3), b"ok")
        self.assertEqual((self.outcome("ask", "cancelled"), self.outcome("ask", "answered")), (1, 1))
        self.assert_ended(499, 200)


class TellTests(AskingCase):
    """Mirrors of requests."""

    def setUp(self) -> None:
        super().setUp()
        self.stage.publish((ONE,), filters=(Tell(),))

    def test_slow(self) -> None:
        """A mirror that does not answer keeps nobody waiting."""
        down = self.stage.open()
        for _ in range(3):
            down.say(GET)
            self.peers(ONE)[0].say(OK)
            self.assert_status(down.take(), 200)
        self.assertEqual(len(self.peers(MIRROR)), 3)
        self.assert_ended(200, 200, 200)
        self.reactor.pass_time(6)
        self.assertEqual(self.outcome("tell", "failed"), 3)
        self.assertTrue(all(peer.closed for peer in self.peers(MIRROR)))

    def test_unreachable(self) -> None:
        """Nor does one that cannot be reached."""
        self.connector.unreachable = {MIRROR: REFUSED}
        down = self.stage.open()
        down.say(GET)
        self.peers(ONE)[0].say(OK)
        self.assert_status(down.take(), 200)
        self.assertEqual(self.outcome("tell", "failed"), 1)

    def test_left(self) -> None:
        """What was told stays told when the client leaves."""
        down = self.stage.open()
        down.say(GET)
        down.reset()
        (mirror,) = self.peers(MIRROR)
        self.assertTrue(mirror.take().endswith(b"copy"))
        mirror.say(OK)
        self.assertEqual(self.outcome("tell", "answered"), 1)
