"""Mirrors beside the requests that they copy: these never notice."""

from __future__ import annotations

from ingress.annotations.requests.mirrors import Mirror
from ingress.filter_parts.mirroring import MOST_BYTES, SECONDS
from ingress.model.requests.templates import read_template
from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings
from ingress.proxy.contract.limits import MAX_MIRRORS_OF_ONE
from ingress.proxy.contract.transport import REFUSED
from tests.fakes.transports import Peer
from tests.proxy.filter_case import FilterCase
from tests.proxy.playing import OK, ONE, body_of, fields_of

MIRROR = Endpoint("mirror.test", 80, LinkSettings(is_external=True))


class MirrorTests(FilterCase):
    """``mirror-target``."""

    def setUp(self) -> None:
        super().setUp()
        self.stage.publish((ONE,), filters=(Mirror("http://mirror.test", host=read_template("copy.test")),))

    def peers_of(self, endpoint: Endpoint) -> list[Peer]:
        """Return the connections to *endpoint*."""
        asked = [one for one in self.connector.asked if one not in self.connector.unreachable]
        return [peer for one, peer in zip(asked, self.connector.peers, strict=True) if one == endpoint]

    def test_copied(self) -> None:
        """Both get the request; the client gets the answer of the endpoint, and none waits for the mirror."""
        client = self.get(target=b"/a?b", fields=((b"cookie", b"c=d"),))
        (endpoint,) = self.peers_of(ONE)
        endpoint.say(OK)
        self.assertEqual((client.heard().status, client.heard().is_whole), (200, True))
        self.reactor.settle()
        (mirror,) = self.peers_of(MIRROR)
        said = mirror.take()
        self.assertTrue(said.startswith(b"GET /a?b HTTP/1.1\r\nHost: copy.test\r\n"), said)
        fields = fields_of(said)
        self.assertEqual(fields[b"cookie"], b"c=d")
        self.assertEqual(fields[b"x-request-id"], fields_of(endpoint.take())[b"x-request-id"])
        mirror.say(b"HTTP/1.1 500 No\r\nContent-Length: 4\r\n\r\noops")
        self.assertEqual(client.heard().status, 200)
        self.assert_ended(200)

    def test_body(self) -> None:
        """The endpoint gets the body as it comes, with its length; the mirror gets it once it is whole."""
        client = self.client()
        client.ask(b"POST", length=6)
        client.send(b"abc")
        (endpoint,) = self.peers_of(ONE)
        said = endpoint.take()
        self.assertEqual((fields_of(said)[b"content-length"], body_of(said)), (b"6", b"abc"))
        self.reactor.settle()
        self.assertEqual(self.peers_of(MIRROR), [])
        client.send(b"def", ended=True)
        self.reactor.settle()
        (mirror,) = self.peers_of(MIRROR)
        said = mirror.take()
        self.assertEqual((fields_of(said)[b"content-length"], body_of(said)), (b"6", b"abcdef"))

    def test_long(self) -> None:
        """A long body passes, and is not copied."""
        client = self.client()
        client.ask(b"POST", length=MOST_BYTES + 16384)
        (sent, pieces) = (b"x" * 16384, MOST_BYTES // 16384 + 1)
        for number in range(pieces):
            client.send(sent, ended=number == pieces - 1)
        (endpoint,) = self.peers_of(ONE)
        endpoint.say(OK)
        self.assertEqual(client.heard().status, 200)
        self.reactor.settle()
        self.assertEqual(self.peers_of(MIRROR), [])
        counted = self.metrics.value("ingress_filter_events_total", filter="mirror", event="too-long")
        self.assertEqual(counted, 1)

    def test_unreachable(self) -> None:
        """A mirror that refuses changes nothing for anybody."""
        self.connector.unreachable[MIRROR] = REFUSED
        client = self.get()
        self.reactor.settle()
        self.upstream().say(OK)
        self.assertEqual(client.heard().status, 200)
        self.assertEqual(
            self.metrics.value("ingress_sub_requests_total", kind="tell", outcome="failed")
            or self.metrics.value("ingress_sub_requests_total", outcome="failed"),
            1,
        )

    def test_hanging(self) -> None:
        """A mirror that hangs has so many requests at a time, each for its time; all clients are answered."""
        for number in range(MAX_MIRRORS_OF_ONE + 5):
            client = self.get()
            self.peers_of(ONE)[-1].say(OK)
            self.reactor.settle()
            self.assertEqual(client.heard().status, 200, number)
        self.assertEqual(len(self.peers_of(MIRROR)), MAX_MIRRORS_OF_ONE)
        self.assertEqual(self.metrics.value("ingress_sub_requests_total", outcome="dropped"), 5)
        self.reactor.pass_time(SECONDS + 1)
        self.assertTrue(all(peer.closed for peer in self.peers_of(MIRROR)))
        self.get()
        self.reactor.settle()
        self.assertEqual(len(self.peers_of(MIRROR)), MAX_MIRRORS_OF_ONE + 1)

    def test_left(self) -> None:
        """Of a client that leaves amid its body nothing is copied."""
        client = self.client()
        client.ask(b"POST", length=6)
        client.send(b"abc")
        client.leave()
        self.reactor.settle()
        self.assertEqual(self.peers_of(MIRROR), [])


class Http2MirrorTests(MirrorTests):
    """The same over HTTP/2."""

    is_http2 = True
