"""Options that change while the process runs, from a source of the tests' own to what clients see."""

import contextlib
import io
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from tempfile import TemporaryDirectory

from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IAddress, IProtocol
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import (
    EndpointSlice,
    Kind,
    ObjectId,
    ObjectKey,
    Projection,
    Service,
    ServicePort,
    SlicePort,
)
from ingress.options.merging import OptionSource, OptionTexts
from ingress.service import IngressService
from ingress.tap import Options
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    ServicePortReference,
)
from tests.test_service import CuttableTransport, ScriptedSource

GET = b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
PREFIX = "nginx.ingress.kubernetes.io"
FORCE = f"{PREFIX}/force-ssl-redirect"

# Types of records (RFC 8446, section 5.1).
_ALERT, _HANDSHAKE = 21, 22


class ScriptedOptions:
    """A second source of options, as its test has it."""

    def __init__(self) -> None:
        self.changed: Callable[[OptionTexts], None] | None = None
        self.at_first = OptionTexts()
        self.is_stopped = False

    def start(self, changed: Callable[[OptionTexts], None]) -> None:
        self.changed = changed
        changed(self.at_first)

    def stop(self) -> None:
        self.is_stopped = True


class Client(CuttableTransport):
    """The transport of a connection, with what it carries."""

    def __init__(self, channel: IProtocol) -> None:
        super().__init__()
        self._channel = channel
        channel.makeConnection(self)

    def say(self, octets: bytes) -> None:
        """Send *octets*."""
        self._channel.dataReceived(octets)

    def leave(self) -> None:
        """End the connection."""
        self._channel.connectionLost(Failure(ConnectionDone()))


class RunningOptionsCase(SynchronousTestCase):
    """A service in memory with a shop of two endpoints, and a second source of options."""

    def setUp(self) -> None:
        self.reactor = MemoryReactorClock()
        self.objects = ScriptedSource()
        self.said = ScriptedOptions()
        self.first: dict[ObjectId, Projection | None] = {}
        """Objects that are there besides from the start."""

    def start(
        self,
        *arguments: str,
        annotations: Mapping[str, str] | None = None,
        addresses: Sequence[str] = ("10.0.0.1", "10.0.0.2"),
        says_access_log: bool = True,
    ) -> None:
        """Serve with the options *arguments*; the Ingress of the shop has *annotations*, its Service *addresses*."""
        options = Options()
        log = (f"--access-log={self.mktemp()}",) if says_access_log else ()
        options.parseOptions([*log, "--no-epoll", *arguments])
        second: OptionSource = self.said
        self.service = IngressService(
            options.settings(), self.reactor, self.objects, self.fail, given=options.given, options=second
        )
        self.service.startService()
        self.reactor.run()
        shop, port = ObjectKey("web", "shop"), ServicePortReference(number=80)
        path = IngressPath("/", "Prefix", IngressBackend("shop", port))
        batch = {
            (Kind.INGRESS, shop): Projection(
                Ingress(
                    shop,
                    created="2026-01-01T00:00:00Z",
                    class_name="nginx",
                    annotations=annotations or {},
                    rules=(IngressRule("shop.test", (path,)),),
                )
            ),
            (Kind.SERVICE, shop): Projection(Service(shop, ports=(ServicePort("http", 80, 8080),))),
        }
        assert self.objects.sink is not None
        self.objects.sink.changed({**batch, **self.first})
        self.place(*addresses)
        self.objects.sink.synced()
        self.addCleanup(self.stop)

    def place(self, *addresses: str) -> None:
        """Have the endpoints of the shop at these *addresses*."""
        shop = ObjectKey("web", "shop")
        found = EndpointSlice(shop, shop, ports=(SlicePort("http", 8080),), ready=addresses)
        assert self.objects.sink is not None
        self.objects.sink.changed({(Kind.ENDPOINT_SLICE, shop): Projection(found)})
        self.reactor.advance(0)

    def stop(self) -> None:
        """End all; nothing is left to wait for."""
        self.service.hurry()
        self.successResultOf(self.service.stopService())
        self.assertTrue(self.said.is_stopped)

    def say(self, **texts: str) -> list[str]:
        """Have the second source say *texts*; return what is logged in the next seconds."""
        named = {
            "404-page" if name == "page" else name.replace("_", "-"): text for name, text in texts.items()
        }
        assert self.said.changed is not None
        with capturedLogs() as events:
            self.said.changed(OptionTexts(named, "ConfigMap", "ingress", "options", "data"))
            for _ in range(4):
                self.reactor.advance(1)
        return [formatEvent(event) for event in events]

    def open(self, number: int = 80) -> "Client":
        """Open a connection to port *number*."""
        [factory] = [factory for port, factory, *_ in self.reactor.tcpServers if port == number]
        address: IAddress = StringTransport().getPeer()
        channel = factory.buildProtocol(address)
        assert channel is not None
        return Client(channel)

    def ask(self, request: bytes = GET) -> bytes:
        """Send *request* over a new connection; return what comes at once."""
        client = self.open()
        client.say(request)
        answer: bytes = client.value()
        return answer


class LogTests(RunningOptionsCase):
    """What is logged, where, and in which form."""

    def test_collector(self) -> None:
        """Lines go to another destination, in another form, from when that is said."""
        self.start(says_access_log=False)
        with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as collector:
            collector.bind(f"{folder}/log")
            collector.settimeout(60)
            self.say(access_log=f"syslog:{folder}/log,tag=edge", access_log_format="json")
            self.ask(GET.replace(b"shop", b"nobody"))
            self.reactor.advance(1)
            message = collector.recv(10_000)
        self.assertRegex(message, rb"^<190>1 [!-~]+ [!-~]+ edge \d+ access - \{.*\}$")
        self.assertIn(b'"status":404', message)

    def test_level(self) -> None:
        """The program's own log goes by the level that was said last."""
        output = io.StringIO()
        self.start()
        log = self.service._program_log
        log.write_to(output)
        for level, count in (("error", 0), ("warn", 1), ("info", 2)):
            self.say(log_level=level)
            log({"log_format": "odd", "log_level": LogLevel.warn})
            self.assertEqual(output.getvalue().count("odd"), count)


class TranslationTests(RunningOptionsCase):
    """Options that translation goes by."""

    def test_redirect(self) -> None:
        """A redirect that is turned on is answered from then on, and no more when it is not said any more."""
        self.start()
        self.assertEqual(self.ask(), b"")
        self.say(force_ssl_redirect="true")
        self.assertTrue(self.ask().startswith(b"HTTP/1.1 308 "))
        self.say()
        self.assertEqual(self.ask(), b"")

    def test_command_line_beats(self) -> None:
        """What the command line says stays in force, and that is told."""
        self.start("--force-ssl-redirect")
        lines = self.say(force_ssl_redirect="false")
        self.assertTrue(self.ask().startswith(b"HTTP/1.1 308 "))
        self.assertTrue([line for line in lines if "OptionOverridden" in line], lines)

    def test_annotation_beats(self) -> None:
        """An annotation beats both sources."""
        self.start("--force-ssl-redirect", annotations={FORCE: "false"})
        self.say(force_ssl_redirect="true")
        self.assertEqual(self.ask(), b"")

    def test_default_backend(self) -> None:
        """A default backend takes what no Ingress claims, while it is said."""
        self.start()
        other = b"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n"
        self.assertTrue(self.ask(other).startswith(b"HTTP/1.1 404 "))
        self.say(default_backend_service="web/shop")
        self.assertEqual(self.ask(other), b"")
        self.say(default_backend_service="web/none")
        self.assertTrue(self.ask(other).startswith(b"HTTP/1.1 503 "))

    def test_replicas(self) -> None:
        """Limits are divided by the ready endpoints of our own Service while that is said, and as those come and go."""
        self.start(
            "--publish-service=web/shop",
            annotations={f"{PREFIX}/limit-connections": "4"},
            addresses=("10.0.0.1", "10.0.0.2"),
        )

        def most() -> int:
            """Return how many requests of a client may be under way."""
            clients = []
            while True:
                clients.append(self.open())
                clients[-1].say(GET)
                if clients[-1].value():
                    break
            for client in clients:
                client.leave()
            return len(clients) - 1

        self.assertEqual(most(), 4)
        self.say(limits_shared="true")
        self.assertEqual(most(), 2)
        self.place("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4")
        self.assertEqual(most(), 1)
        self.say()
        self.assertEqual(most(), 4)

    def test_replica_addresses(self) -> None:
        """What takes datagrams knows where other replicas are, by the ready endpoints of our own Service, as those come and go."""
        self.start("--publish-service=web/shop", addresses=("10.0.0.1", "10.0.0.2"))
        known = self.service._data_plane._udp  # type: ignore[attr-defined]
        self.assertEqual(known.replicas, {"10.0.0.1", "10.0.0.2"})
        self.place("10.0.0.3")
        self.assertEqual(known.replicas, {"10.0.0.3"})
        self.assertEqual(self.service._controller.verify(), ())

    def test_networks(self) -> None:
        """Endpoints are judged anew by the networks that are allowed."""
        self.start(addresses=("127.0.0.1",))
        self.assertTrue(self.ask().startswith(b"HTTP/1.1 503 "))
        self.say(allow_endpoint_networks="127.0.0.0/8")
        self.assertEqual(self.ask(), b"")
        self.assertEqual([host for host, *_ in self.reactor.tcpClients], ["127.0.0.1"])

    def test_at_first(self) -> None:
        """What is said before the first snapshot is in it."""
        self.said.at_first = OptionTexts({"force-ssl-redirect": "true"})
        self.start()
        self.assertTrue(self.ask().startswith(b"HTTP/1.1 308 "))


class ServingTests(RunningOptionsCase):
    """Options that the proxy goes by."""

    def test_page(self) -> None:
        """A page for what no route matches is another one at once, on connections that were open before, too."""
        self.start()
        other = b"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n"
        early = self.open()
        self.assertNotIn(b"<p>gone</p>", self.ask(other))
        self.say(page="<p>gone</p>")
        self.assertTrue(self.ask(other).endswith(b"<p>gone</p>"))
        early.say(other)
        self.assertTrue(early.value().endswith(b"<p>gone</p>"))
        self.say()
        self.assertNotIn(b"<p>gone</p>", self.ask(other))

    def test_limit(self) -> None:
        """New connections have the new limits; those that are open keep theirs."""
        self.start("--keep-alive-timeout=50")
        early = self.open()
        early.say(b"GET / HTTP/1.1\r\n")
        self.say(client_header_timeout="2")
        late = self.open()
        late.say(b"GET / HTTP/1.1\r\n")
        for _ in range(4):
            self.reactor.advance(1)
        self.assertTrue(late.value().startswith(b"HTTP/1.1 408 "))
        self.assertEqual(early.value(), b"")
        for _ in range(4):
            self.reactor.advance(1)
        self.assertTrue(early.value().startswith(b"HTTP/1.1 408 "))

    def test_timeout_of_endpoints(self) -> None:
        """Connections to endpoints are given as long as is said now."""
        self.start()
        self.ask()
        self.say(proxy_connect_timeout="2")
        self.ask()
        self.assertEqual([timeout for _, _, _, timeout, _ in self.reactor.tcpClients], [5.0, 2.0])

    def test_most_connections_of_endpoints(self) -> None:
        """Endpoints that have as many connections as is said now get no more."""
        self.start()
        self.ask()
        self.ask()
        self.say(max_endpoint_connections="1")
        self.assertTrue(self.ask().startswith(b"HTTP/1.1 503 "))

    def test_requests_that_come_back(self) -> None:
        """As many requests with one id are begun as is said now."""
        self.start()
        again = GET.replace(b"\r\n\r\n", b"\r\nX-Request-ID: one\r\nX-Real-IP: 192.0.2.1\r\n\r\n")
        self.say(loop_limit="1")
        answered = []
        for _ in range(2):
            wire = self.open()
            wire.say(again)
            answered.append(wire.value()[:12])
        self.assertEqual(answered, [b"", b"HTTP/1.1 508"])

    def test_most_connections(self) -> None:
        """As many clients are connected as is said now: others wait until some have left."""
        self.start()
        early = [self.open() for _ in range(3)]
        for each in early:
            each.say(GET)
        lines = self.say(max_connections="3")
        self.assertTrue(
            [line for line in lines if "3 connections are as many as there may be" in line], lines
        )
        self.assertFalse(any(each.aborting or each.disconnecting for each in early))

    def test_strict_sni(self) -> None:
        """Handshakes that name no server are refused while that is said."""
        self.start()
        self.assertEqual(self.first_of_handshake(), _HANDSHAKE)
        self.say(strict_sni="true")
        self.assertEqual(self.first_of_handshake(), _ALERT)
        self.say()
        self.assertEqual(self.first_of_handshake(), _HANDSHAKE)

    def first_of_handshake(self) -> int:
        """Begin TLS without a server name; return the type of the first record that comes back."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        hello = ssl.MemoryBIO()
        with contextlib.suppress(ssl.SSLWantReadError):
            context.wrap_bio(ssl.MemoryBIO(), hello).do_handshake()
        client = self.open(443)
        client.say(hello.read())
        first: int = client.value()[0]
        return first

    def test_trusted_proxies(self) -> None:
        """Who is believed is looked up anew."""
        self.start()
        forwarded = GET[:-2] + b"X-Forwarded-Proto: https\r\n\r\n"
        self.say(force_ssl_redirect="true")
        self.assertTrue(self.ask(forwarded).startswith(b"HTTP/1.1 308 "))
        self.say(force_ssl_redirect="true", trusted_proxies="192.168.0.0/16")
        self.assertEqual(self.ask(forwarded), b"")

    def test_grace(self) -> None:
        """How long the end takes is what was said last."""
        self.start()
        self.say(shutdown_delay="1", shutdown_grace="1")
        transport = self.open()
        transport.say(b"GET / HTTP/1.1\r\n")
        stopped = self.service.stopService()
        self.reactor.advance(1.1)
        self.assertNoResult(stopped)
        self.reactor.advance(1.1)
        self.assertTrue(transport.aborting)
        self.successResultOf(stopped)


class SharingTests(RunningOptionsCase):
    """Options that decide how requests are shared, from the command line and while the process runs."""

    def assert_fewer_requests_count(self) -> None:
        """Who has fewer requests gets the next; in rotation it would be the turn of the other one."""
        self.ask()
        self.ask()
        [(first, *_), (idle, _, factory, *_)] = self.reactor.tcpClients
        self.assertNotEqual(first, idle)
        made = factory.buildProtocol(StringTransport().getPeer())
        assert made is not None
        upstream = Client(made)
        upstream.say(OK)
        upstream.clear()
        self.ask()
        self.assertTrue(upstream.value().startswith(GET.splitlines()[0]))

    def targets_with_a_newcomer(self) -> list[str]:
        """Return where four requests go once a second endpoint has come a moment ago."""
        self.ask()
        self.place("10.0.0.1", "10.0.0.2")
        self.reactor.tcpClients.clear()
        for _ in range(4):
            self.ask()
        return [host for host, *_ in self.reactor.tcpClients]

    def test_algorithm(self) -> None:
        """``--load-balance`` says who gets the next request where no Ingress says so."""
        self.start("--load-balance=least_requests")
        self.assert_fewer_requests_count()

    def test_algorithm_later(self) -> None:
        """It may be said later."""
        self.start()
        self.say(load_balance="least_requests")
        self.assert_fewer_requests_count()

    def test_slow_start(self) -> None:
        """``--slow-start`` has a newcomer get nothing at first, where else it would have its share."""
        self.start("--slow-start=100", addresses=("10.0.0.1",))
        self.assertEqual(self.targets_with_a_newcomer(), ["10.0.0.1"] * 4)

    def test_slow_start_later(self) -> None:
        """It may be said later, and not be said any more."""
        self.start(addresses=("10.0.0.1",))
        self.say(slow_start="100")
        self.assertEqual(self.targets_with_a_newcomer(), ["10.0.0.1"] * 4)
        self.say()
        self.place("10.0.0.1")
        self.assertEqual(sorted(self.targets_with_a_newcomer()), ["10.0.0.1"] * 2 + ["10.0.0.2"] * 2)


class StartTests(RunningOptionsCase):
    """Options that are decided when the process starts."""

    def test_told(self) -> None:
        """Each is told as a problem, and nothing changes; the problem goes when it is not said any more."""
        self.start()
        before = [port for port, *_ in self.reactor.tcpServers]
        lines = self.say(http="tcp:8080", no_http2="true")
        for name in ("http", "no-http2"):
            problem = f"ConfigMap ingress/options: data.{name}: this is decided when the process starts"
            self.assertTrue([line for line in lines if problem in line and "OptionAtStart" in line], lines)
        self.assertEqual([port for port, *_ in self.reactor.tcpServers], before)
        self.assertTrue([line for line in self.say() if "solved" in line.lower()])

    def test_log(self) -> None:
        """The log says which options the second source decides."""
        self.start()
        self.assertIn(
            "ConfigMap ingress/options decides send-timeout, slow-start",
            self.say(slow_start="1", send_timeout="1"),
        )
        self.assertIn("ConfigMap ingress/options decides no option", self.say())
