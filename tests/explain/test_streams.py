"""What is explained of streams: who has a port, where it leads, and what helps where nobody takes it."""

from typing import Any

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.explain.asked_request import AskedStream, read_asked_of_any
from ingress.explain.explaining import explain
from ingress.explain.explanation import End, Explanation
from ingress.explain.objects import KnownObjects
from ingress.explain.served import Served
from ingress.explain.urls import UrlRefused
from ingress.model.cluster.objects import ObjectKey
from ingress.model.network.listeners import Listener
from ingress.options.port_services import read_port_services
from ingress.translate.translate import translate
from tests.translate.readers.gateway.route_cluster import (
    GATEWAY_CLASS,
    NOW,
    GatewayCluster,
    gateway,
    listener,
    route,
    rule,
    service,
)

LISTENED = (Listener("tcp:80"), Listener("tcp:443", is_secure=True))


class StreamExplainingTests(SynchronousTestCase):
    """Ports of Gateways, and those of the operator's ConfigMaps."""

    def setUp(self) -> None:
        self.cluster = GatewayCluster(listeners=LISTENED)

    def write(self, *objects: dict[str, Any]) -> None:
        """Have a Gateway with a listener of each sort, two Services, and *objects*."""
        listeners = (
            listener("db", port=5432, protocol="TCP"),
            listener("dns", port=53, protocol="UDP"),
            listener("mail", port=443, protocol="TLS", hostname="mail.test", tls={"mode": "Passthrough"}),
        )
        self.cluster.write(
            "all",
            GATEWAY_CLASS,
            gateway("main", *listeners),
            service("one", port=5432, address="10.1.0.1"),
            service("two", port=53, protocol="UDP", address="10.1.0.2"),
            *objects,
        )

    def explain(self, url: str) -> Explanation:
        """Explain *url*."""
        state, options = self.cluster.store.state(), self.cluster.options
        asked = read_asked_of_any(url, "GET", (), "192.0.2.1")
        self.assertIsInstance(asked, AskedStream)
        return explain(asked, Served(translate(state, options, NOW), NOW, (), KnownObjects(state, options)))

    def test_port_of_tcp(self) -> None:
        """A port says whose route has it, with the share of each backend."""
        to = [{"name": "one", "port": 5432, "weight": 3}, {"name": "gone", "port": 1, "weight": 1}]
        self.write(route("r", rule(to), kind="TCPRoute"))
        found = self.explain("tcp://:5432")
        self.assertEqual(found.outcome.end, End.SENT)
        self.assertEqual(
            found.outcome.sentence,
            "sent to 75% Service infra/one port 5432 at 10.1.0.1:3000; 25% Service infra/gone port 1, which has no"
            " endpoints (closed): there is no Service infra/gone",
        )
        assert found.route is not None
        self.assertEqual((found.route.match, found.route.kind, found.route.name), ("tcp", "TCPRoute", "r"))
        self.assertEqual(found.backends[0].protocol, "TCP")
        self.assertIn("ServiceNotFound", {one.reason for one in found.problems})

    def test_port_of_udp(self) -> None:
        """The same number is another port over TCP, where nobody listens."""
        self.write(route("r", rule([{"name": "two", "port": 53}]), kind="UDPRoute"))
        found = self.explain("udp://dns.test:53")
        self.assertEqual(found.outcome.sentence, "sent to Service infra/two port 53 at 10.1.0.2:3000")
        self.assertEqual(found.backends[0].protocol, "UDP")
        other = self.explain("tcp://dns.test:53")
        self.assertEqual((other.outcome.end, other.outcome.is_taken), (End.REFUSED, False))
        self.assertIn(
            "nothing listens on port 53 of TCP; ports that are open for TCP: 80", other.outcome.sentence
        )
        self.assertIn("5432", other.outcome.sentence)

    def test_listener_without_routes(self) -> None:
        """A port that is open and leads nowhere closes connections, and drops datagrams."""
        self.write()
        self.assertIn("closed without an answer", self.explain("tcp://:5432").outcome.sentence)
        found = self.explain("udp://:53").outcome
        self.assertEqual((found.end, found.is_taken), (End.CLOSED, False))
        self.assertIn("dropped without an answer", found.sentence)

    def test_server_name(self) -> None:
        """Over TLS the server name decides; another one is that of requests, which another URL asks about."""
        self.write(
            route("r", rule([{"name": "one", "port": 5432}]), hostnames=["mail.test"], kind="TLSRoute")
        )
        found = self.explain("tls://MAIL.test")
        self.assertEqual(found.outcome.end, End.PASSED_THROUGH)
        self.assertIn("passed through as TLS to Service infra/one", found.outcome.sentence)
        assert found.route is not None
        self.assertEqual((found.route.host, found.route.match), ("mail.test", "passthrough"))
        other = self.explain("tls://web.test")
        self.assertFalse(other.outcome.is_taken)
        self.assertIn("https://web.test:443", other.outcome.sentence)

    def test_port_of_requests(self) -> None:
        """Who asks a port of requests for a stream is told what to ask for."""
        self.write()
        for url, word in (
            ("tcp://a.test:80", "http://a.test:80"),
            ("tls://a.test:80", "http://a.test:80"),
            ("tcp://a.test:443", "tls://a.test:443"),
        ):
            self.assertIn(word, self.explain(url).outcome.sentence)

    def test_config_map(self) -> None:
        """An entry of the operator's ConfigMap is told with what is wrong about it, and with nothing of other entries."""
        content = {"9000": "infra/one:5432::PROXY", "80": "infra/one:5432", "9001": "nonsense"}
        listed = read_port_services(ObjectKey("infra", "tcp"), content)
        self.write()
        self.cluster.options = evolve(self.cluster.options, tcp_services=listed)
        found = self.explain("tcp://:9000")
        self.assertEqual(found.outcome.sentence, "sent to Service infra/one port 5432 at 10.1.0.1:3000")
        assert found.route is not None
        self.assertEqual((found.route.kind, found.route.name), ("ConfigMap", "tcp"))
        self.assertIn("the endpoint gets a PROXY header before anything else", found.settings)
        self.assertEqual(found.problems, ())
        self.assertEqual([one.field for one in self.explain("tcp://:9001").problems], ["data[9001]"])
        self.assertEqual([one.reason for one in self.explain("tcp://:80").problems], ["ListenerConflict"])


class StreamUrlTests(SynchronousTestCase):
    """How a stream is asked about."""

    def test_what_is_meant(self) -> None:
        """TLS has a usual port, and needs a name; other streams need a port alone."""
        for text, meant in (
            ("tcp://:5432", "tcp://:5432"),
            ("TCP://db.test:5432/", "tcp://db.test:5432"),
            ("udp://[::1]:53", "udp://[::1]:53"),
            (" tls://db.test ", "tls://db.test:443"),
        ):
            self.assertEqual(str(read_asked_of_any(text, "GET", (), "::1").url), meant)

    def test_what_is_refused(self) -> None:
        """What no stream has is told by name."""
        for text, word in (
            ("tcp://db.test", "no usual port"),
            ("tcp://", "no usual port"),
            ("tls://:443", "names no host"),
            ("udp://dns.test:53/path", "path"),
            ("udp://me@dns.test:53", "user"),
            ("tcp://:99999", "port"),
        ):
            with self.assertRaises(UrlRefused) as caught:
                read_asked_of_any(text, "GET", (), "::1")
            self.assertIn(word, str(caught.exception), text)
        with self.assertRaises(UrlRefused):
            read_asked_of_any("tcp://:1", "POST", (), "::1")
        with self.assertRaises(UrlRefused):
            read_asked_of_any("tcp://:1", "GET", ("A: b",), "::1")
