"""The order of things: what starts when, what stops when, and what ends the process."""

import os
from typing import Any, cast

from attrs import evolve
from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import CannotListenError, ConnectionDone
from twisted.internet.interfaces import IAddress, IListeningPort
from twisted.internet.protocol import ServerFactory
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.logger import LogLevel, capturedLogs, formatEvent, globalLogPublisher
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from ingress.admission.reviews import REST_SECONDS
from ingress.cluster.source import Sink
from ingress.errors import StartError
from ingress.model.cluster.objects import (
    EndpointSlice,
    Kind,
    ObjectKey,
    Projection,
    Service,
    ServicePort,
    SlicePort,
)
from ingress.service import IngressService
from ingress.settings import Settings, translate_options
from tests.admission.asking import ingress, posted, review
from tests.admission.site_case import PEER, answers, response
from tests.fakes.serving import logged_to
from tests.translate.following import asking, batch


class ScriptedSource:
    """A source that does what its test says."""

    def __init__(self) -> None:
        self.sink: Sink | None = None
        self.started: Deferred[None] = succeed(None)
        self.is_stopped = False
        self.is_amid = False

    def start(self, sink: Sink) -> Deferred[None]:
        self.sink = sink
        return self.started

    def stop(self) -> Deferred[None]:
        self.is_stopped = True
        return succeed(None)

    def reads(self, namespace: str) -> bool:
        return True

    def is_amid_change(self) -> bool:
        return self.is_amid

    def missing(self) -> tuple[str, ...]:
        return ("Ingress",)


class FullReactor(MemoryReactorClock):
    """A reactor on which the port of HTTPS is taken."""

    def listenTCP(
        self, port: int, factory: ServerFactory, backlog: int = 50, interface: str = ""
    ) -> IListeningPort:
        if port == 443:
            raise CannotListenError(interface, port, OSError(98, "Address already in use"))
        listening: IListeningPort = super().listenTCP(port, factory, backlog, interface)
        return listening


class CuttableTransport(StringTransport):
    """A transport of a connection that can be cut."""

    aborting = False

    def loseWriteConnection(self) -> None:
        """The other side of the connection is of no interest here."""

    def abortConnection(self) -> None:
        self.aborting = True

    def setTcpNoDelay(self, enabled: bool) -> None:
        """Nothing to set."""

    def setTcpKeepAlive(self, enabled: bool) -> None:
        """Nothing to set."""


class ServiceCase(SynchronousTestCase):
    """A service on a reactor in memory, with a scripted source."""

    def make(
        self, reactor: MemoryReactorClock | None = None, settings: Settings | None = None
    ) -> IngressService:
        self.reactor = reactor or MemoryReactorClock()
        self.source = ScriptedSource()
        self.failures: list[StartError] = []
        settings = settings or Settings(serving=logged_to(self.mktemp()), use_epoll=False)
        made = IngressService(settings, self.reactor, self.source, self.failures.append, None, self.settled)
        # One that a test does not stop would hear what other tests log.
        self.addCleanup(made._change_recorder.leave, globalLogPublisher)
        return made

    def settled(self) -> None:
        """Note which ports were open when all was known that there is at first."""
        self.open_then = self.ports()

    def ports(self) -> list[int]:
        return [port for port, *_ in self.reactor.tcpServers]

    def start(self, service: IngressService) -> None:
        service.startService()
        self.reactor.run()
        if self.source.sink is not None:
            self.source.sink.synced()

    def stop(self, service: IngressService) -> Deferred[None]:
        """Ask for a stop; the reactor of the test has nothing of its own to end."""
        stopped = service.stopService()
        self.addCleanup(service.hurry)
        return stopped


class StartTests(ServiceCase):
    """From nothing to serving."""

    def test_listeners_wait_for_the_first_sync(self) -> None:
        """Only the admin port is open before the first complete content, and it says what is missing."""
        service = self.make()
        service.startService()
        self.reactor.run()
        self.assertEqual(self.ports(), [10254])
        self.assertEqual(service.missing(), ("Ingress", "listeners not open"))
        assert self.source.sink is not None
        self.source.sink.synced()
        self.assertEqual(self.ports(), [10254, 80, 443])
        self.assertEqual(service.missing(), ("Ingress",))
        self.stop(service)

    def test_settled(self) -> None:
        """What takes long, and is done with all objects that there are at first, is done before anybody is served."""
        self.start(service := self.make())
        self.assertEqual(self.open_then, [10254])
        self.stop(service)

    def test_source_that_is_amid_a_change(self) -> None:
        """What the source has handed over so far is not served before the rest has come."""
        self.start(service := self.make())
        assert self.source.sink is not None
        self.source.is_amid = True
        one = asking("shop", "shop.test")
        self.source.sink.changed({(Kind.INGRESS, one.key): Projection(one)})
        self.reactor.advance(0.1)
        self.assertEqual(service._current().route_count, 0)
        self.source.is_amid = False
        self.reactor.advance(0.1)
        self.assertEqual(service._current().route_count, 1)
        self.stop(service)

    def test_one_slice_at_a_time(self) -> None:
        """What changes of objects bring about, a round and endpoints to be found, has one call in a turn of the reactor."""
        self.start(service := self.make())
        assert self.source.sink is not None
        one = asking("shop", "shop.test")
        key = ObjectKey("demo", "web")
        web = Service(key, ports=(ServicePort("http", 80, 8080),))
        found = EndpointSlice(key, key, ports=(SlicePort("http", 8080),), ready=("10.0.0.1",))
        self.source.sink.changed(batch(one, web))
        self.reactor.pump([0.1] * 10)
        self.assertEqual(service._current().route_count, 1)
        known = [*self.reactor.getDelayedCalls()]
        self.source.sink.changed(batch(asking("shop", "other.test"), found))
        begun = [call for call in self.reactor.getDelayedCalls() if call not in known]
        self.assertEqual([call.getTime() for call in begun], [self.reactor.seconds()])
        self.reactor.pump([0.1] * 10)
        (state,) = service._current().backends.values()
        self.assertEqual(list(map(str, state.endpoints)), ["10.0.0.1:8080"])
        self.assertEqual([route.host for route in service._current().routes()], ["other.test"])
        self.stop(service)

    def test_source_that_cannot_work(self) -> None:
        """A source that can never work ends the process with its reason."""
        service = self.make()
        self.source.started = fail(StartError("no cluster"))
        service.startService()
        self.reactor.run()
        self.assertEqual([str(error) for error in self.failures], ["no cluster"])

    def test_words_of_others(self) -> None:
        """What a program of somebody else wrote is not told to the process that is to be taken over: its history of changes has what it is told."""
        service = self.make()
        told: list[str] = []
        self.patch(service._takeover, "failed", told.append)
        self.source.started = fail(StartError("no cluster", "its words"))
        service.startService()
        self.reactor.run()
        self.assertEqual((told, self.failures[0].aside), (["no cluster"], "its words"))

    def test_port_in_use(self) -> None:
        """A port that is taken ends the process with one line that names it."""
        service = self.make(FullReactor())
        self.start(service)
        [error] = self.failures
        self.assertEqual(str(error), "cannot listen on tcp:443: [Errno 98] Address already in use")

    def test_groups_that_openssl_lacks(self) -> None:
        """Groups that OpenSSL does not have are told, and left out; with none of them there is no start."""
        with capturedLogs() as events:
            service = self.make(
                settings=Settings(
                    serving=logged_to(self.mktemp()), use_epoll=False, tls_groups="Later:X25519"
                )
            )
        [line] = [formatEvent(event) for event in events if "groups" in formatEvent(event)]
        self.assertRegex(line, r"^OpenSSL .* does not have Later of --tls-groups; X25519 remain$")
        self.start(service)
        self.assertEqual(self.ports(), [10254, 80, 443])
        self.stop(service)
        with self.assertRaisesRegex(StartError, "^--tls-groups: OpenSSL .* has none of Later$"):
            self.make(
                settings=Settings(serving=logged_to(self.mktemp()), use_epoll=False, tls_groups="Later")
            )

    def test_access_log_that_cannot_be_opened(self) -> None:
        """An access log that cannot be opened is refused before anything starts."""
        missing = os.path.join(self.mktemp(), "access.log")
        with self.assertRaises(StartError) as raised:
            self.make(settings=Settings(serving=logged_to(missing)))
        self.assertEqual(str(raised.exception), f"--access-log {missing}: No such file or directory")

    def test_bug(self) -> None:
        """An error that nobody thought of ends the process too, and is logged with its traceback."""
        service = self.make()
        self.source.started = fail(ZeroDivisionError("a bug"))
        service.startService()
        self.reactor.run()
        self.assertEqual([str(error) for error in self.failures], ["the start failed: a bug"])
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_redirects_lead_to_the_https_port(self) -> None:
        """Redirects name the port of the first HTTPS listener."""
        options = translate_options(Settings(https=("tcp:8443:interface=127.0.0.1",)))
        self.assertEqual(options.https_port, 8443)
        self.assertEqual(translate_options(Settings(https=("systemd:domain=INET:index=0",))).https_port, 443)


class StopTests(ServiceCase):
    """From serving to nothing."""

    def setUp(self) -> None:
        self.service = self.make()
        self.start(self.service)

    def connect(self) -> CuttableTransport:
        """Open a downstream connection that has begun a request."""
        [factory] = [factory for port, factory, *_ in self.reactor.tcpServers if port == 80]
        address: IAddress = StringTransport().getPeer()
        channel = factory.buildProtocol(address)
        assert channel is not None
        transport = CuttableTransport()
        channel.makeConnection(transport)
        channel.dataReceived(b"GET / HTTP/1.1\r\n")
        self.channel = channel
        return transport

    def test_delay(self) -> None:
        """A stop is shown as not ready at once, and the listeners close after the delay."""
        stopped = self.stop(self.service)
        self.assertEqual(self.service.missing(), ("stopping",))
        self.reactor.advance(4.9)
        self.assertNoResult(stopped)
        self.assertFalse(self.source.is_stopped)
        self.reactor.advance(0.2)
        self.successResultOf(stopped)
        self.assertTrue(self.source.is_stopped)

    def test_told(self) -> None:
        """Whoever ended it by Ctrl-C reads for how long it goes on, and how it ends sooner."""
        for delay, expected in (
            (
                5.0,
                "Stopping: new requests are served for 5 s more, then what is under way has at most 30 s to end; ",
            ),
            (0.0, "Stopping: what is under way has at most 30 s to end; "),
        ):
            serving = evolve(logged_to(self.mktemp()), shutdown_delay_seconds=delay)
            service = self.make(settings=Settings(serving=serving, use_epoll=False))
            self.start(service)
            with capturedLogs() as events:
                self.stop(service)
            self.assertIn(
                f"{expected}a second signal ends all at once",
                [formatEvent(event) for event in events if event["log_level"] is LogLevel.info],
            )

    def test_streams_end(self) -> None:
        """Whoever looks at what happens is told at once that the process stops, and is not waited for."""
        [factory] = [factory for port, factory, *_ in self.reactor.tcpServers if port == 10254]
        connection: Any = factory.buildProtocol(IPv4Address("TCP", "127.0.0.1", 4000))
        transport = CuttableTransport()
        connection.makeConnection(transport)
        connection.dataReceived(b"GET /api/v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.reactor.advance(0)
        self.assertIn(b"event: status\n", transport.value())
        self.stop(self.service)
        self.assertTrue(transport.value().endswith(b'{"why":"the process is stopping"}\n\n\r\n0\r\n\r\n'))

    def test_reviews(self) -> None:
        """The admission webhook judges as long as objects are followed: an API server keeps its connection during the delay."""
        serving = logged_to(self.mktemp())
        service = self.make(
            settings=Settings(
                serving=serving,
                use_epoll=False,
                admission="tcp:8443",
                admission_certificate="",
                admission_key="",
            )
        )
        with capturedLogs():
            self.start(service)
        [factory] = [factory for port, factory, *_ in self.reactor.tcpServers if port == 8443]
        stopped = self.stop(service)
        self.reactor.advance(4.9)
        self.assertFalse(self.source.is_stopped)
        connection: Any = cast(Any, factory).wrappedFactory.buildProtocol(PEER)
        transport = StringTransport(peerAddress=PEER)
        connection.makeConnection(transport)
        connection.dataReceived(posted(review(ingress())))
        self.reactor.pump([REST_SECONDS] * 20)
        [(_, content)] = answers(transport.value())
        self.assertEqual(len(response(content)["warnings"]), 1)
        self.reactor.advance(1)
        self.successResultOf(stopped)
        connection.connectionLost(Failure(ConnectionDone()))

    def test_grace(self) -> None:
        """What still runs when the grace is over is cut, and the stop goes on to its end."""
        transport = self.connect()
        stopped = self.stop(self.service)
        self.reactor.advance(5.1)
        self.assertNoResult(stopped)
        self.assertFalse(transport.aborting)
        self.reactor.advance(30.1)
        self.assertTrue(transport.aborting)
        self.successResultOf(stopped)

    def test_nothing_runs(self) -> None:
        """The grace is not waited for when nothing runs."""
        stopped = self.stop(self.service)
        self.reactor.advance(5.1)
        self.successResultOf(stopped)

    def test_hurry(self) -> None:
        """A second request to stop waits for nothing: neither for the delay nor for the grace."""
        transport = self.connect()
        stopped = self.stop(self.service)
        self.service.hurry()
        self.assertTrue(transport.aborting)
        self.successResultOf(stopped)

    def test_before_the_first_sync(self) -> None:
        """A stop before anything was served is done at once."""
        service = self.make()
        service.startService()
        self.reactor.run()
        self.successResultOf(self.stop(service))
