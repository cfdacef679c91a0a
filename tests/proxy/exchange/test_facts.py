"""Tests for ``ingress.proxy.exchange.facts``."""

from time import process_time
from types import SimpleNamespace
from typing import Any

from twisted.internet.address import IPv4Address, IPv6Address, UNIXAddress
from twisted.trial.unittest import SynchronousTestCase

from ingress.http.forwarding import Origin
from ingress.http.request_head import RequestHead
from ingress.proxy.exchange.facts import RequestFacts


class FieldTests(SynchronousTestCase):
    """Fields that filters ask for by name."""

    def facts(self, forward: bytes) -> RequestFacts:
        """Return the facts of a request with these lines."""
        head = RequestHead()
        head.method, head.target, head.path, head.forward = b"GET", b"/", b"/", forward
        return RequestFacts(b"id", head, (b"shop.test", b"/"), Origin(b"192.0.2.1", b"http", 80, b""), None)

    def test_however_many(self) -> None:
        """The first fields that are asked for and those behind them are read alike."""
        facts = self.facts(b"A: 1\r\nb: \t2 \r\na: 3\r\nCookie: x=1\r\ncookie: y=2\r\n")
        wanted = [b"1, 3", b"2", b"x=1; y=2", b"", b""]
        for _ in range(5):
            self.assertEqual([facts.field(name) for name in (b"a", b"b", b"cookie", b"c", b"")], wanted)

    def test_many(self) -> None:
        """A snippet that asks for five hundred fields does not search a long head five hundred times."""

        def seconds(count: int) -> float:
            facts = self.facts(b"X: " + b"x1" * 14_000 + b"\r\n")
            before = process_time()
            for number in range(count):
                facts.field(b"x%d" % number)
            return process_time() - before

        bound = 20 * max(seconds(20), 0.0002)
        # What a machine does in between makes some longer.
        self.assertLess(min(seconds(2000) for _ in range(5)), bound)


class WireTests(SynchronousTestCase):
    """What the connection of the client says."""

    def facts(self, client: bytes = b"192.0.2.1", minor: int = 1, host: Any = None) -> RequestFacts:
        """Return the facts of a request of *client* that came from 192.0.2.1, by HTTP/2, to *host*."""
        head = RequestHead()
        head.method, head.target, head.path, head.forward, head.minor = b"GET", b"/", b"/", b"", minor
        peer = IPv6Address("TCP", "::ffff:192.0.2.1", 50123)
        transport = SimpleNamespace(getPeer=lambda: peer, getHost=lambda: host)
        wire: Any = SimpleNamespace(protocol=b"HTTP/2.0", transport=transport)
        return RequestFacts(b"id", head, (b"shop.test", b"/"), Origin(client, b"http", 80, b""), None, wire)

    def test_port_of_the_client(self) -> None:
        """The port is that of the client, and not of a proxy that says who this is."""
        self.assertEqual(
            [self.facts(client).client_port for client in (b"192.0.2.1", b"192.0.2.7")], [50123, 0]
        )

    def test_own_address(self) -> None:
        """The address that the request came to is in its own notation, and empty where there is none."""
        for host, address in (
            (IPv4Address("TCP", "10.0.0.1", 80), b"10.0.0.1"), (IPv6Address("TCP", "::ffff:10.0.0.1", 80), b"10.0.0.1"),
            (IPv6Address("TCP", "2001:db8::1", 80), b"2001:db8::1"), (UNIXAddress("/x"), b""),
        ):  # fmt: skip
            self.assertEqual(self.facts(host=host).server_address, address)

    def test_protocol(self) -> None:
        """It is what the client speaks, and HTTP/1.0 where its request is of that."""
        self.assertEqual([self.facts(minor=minor).protocol for minor in (0, 1)], [b"HTTP/1.0", b"HTTP/2.0"])


class UpgradeTests(SynchronousTestCase):
    """What a client asks to go over to."""

    def test_upgrade(self) -> None:
        """It is what the head was read as asking for."""
        for said in (b"websocket", b""):
            head = RequestHead()
            head.method, head.target, head.path, head.forward, head.upgrade = b"GET", b"/", b"/", b"", said
            origin = Origin(b"192.0.2.1", b"http", 80, b"")
            self.assertEqual(RequestFacts(b"id", head, (b"shop.test", b"/"), origin, None).upgrade, said)


class BodyTests(SynchronousTestCase):
    """What is known of a body before it comes."""

    def test_length(self) -> None:
        """A request without a body has none, and a body without a length one that is not known."""
        for has_body, said, length in ((False, -1, 0), (False, 0, 0), (True, 5, 5), (True, -1, None)):
            head = RequestHead()
            head.has_body, head.content_length, head.forward = has_body, said, b""
            origin = Origin(b"192.0.2.1", b"http", 80, b"")
            head.method, head.target, head.path = b"POST", b"/", b"/"
            facts = RequestFacts(b"id", head, (b"shop.test", b"/"), origin, None)
            self.assertEqual(facts.body_length, length)
            self.assertEqual(facts.content_length, b"%d" % said if said >= 0 else b"")
