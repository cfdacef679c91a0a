"""A proxy in memory, and the words in which tests tell a conversation.

A test reads like a script: a downstream peer says bytes, an upstream peer is asked
what it got and answers, and so on.  Everything but the sockets is the real thing.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from ingress.filters import FilterSpec
from ingress.metrics.exchanges.exchanges import ExchangeMetrics
from ingress.metrics.metrics import Metrics
from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.exchanges.records import Record
from ingress.model.serving.limits import AskedTimeouts, Limits
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint
from ingress.model.upstream.balancing import Balancing
from ingress.model.upstream.retries import DEFAULT_RETRIES, RetryRule
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.contract.transport import Receiver
from ingress.proxy.dispatch.resource import IngressProxyResource
from ingress.proxy.dispatch.site import new_site
from ingress.proxy.exchange.access_log.access_log import AccessLog
from ingress.proxy.exchange.filtering.chains import Chains
from ingress.proxy.exchange.filtering.services import FilterClock, FilterServices, ReplicaCount, States
from ingress.proxy.exchange.replies import Replies
from ingress.proxy.exchange.sub_requests.sub_requests import SubRequests
from ingress.proxy.listening.connection_factories import ChannelFactory
from ingress.proxy.upstream.pool import UpstreamPool
from ingress.proxy.upstream.rotation import Rotations
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes, RouteTable
from tests.fakes.failure_reasons import must_be_explained
from tests.fakes.filter_parts import FakeComputing
from tests.fakes.transports import MemoryReactor, Peer

INGRESS = ObjectKey("shop", "web")
OWNER = Owner(Kind.INGRESS, INGRESS)
BACKEND = BackendReference("shop", "web", 80)
ONE = Endpoint("10.0.0.1", 8000)
TWO = Endpoint("10.0.0.2", 8000)
THREE = Endpoint("10.0.0.3", 8000)
FOUR = Endpoint("10.0.0.4", 8000)

GET = b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class FakeConnector:
    """Makes upstream connections in memory, as the test says for each endpoint."""

    def __init__(self, reactor: MemoryReactor) -> None:
        self._reactor = reactor
        self.unreachable: dict[Endpoint, str] = {}
        """Endpoints that cannot be reached, and why."""
        self.is_slow = False
        """Whether connections wait in ``waiting`` until the test decides."""
        self.waiting: list[tuple[Endpoint, Receiver, Callable[[str], None]]] = []
        self.peers: list[Peer] = []
        """The upstream peers, in the order in which they were connected to."""
        self.asked: list[Endpoint] = []
        self.seconds = 0.0
        """How long the last connection might have taken to make."""
        self.window: int | None = None
        """How many bytes new peers take; None means all."""

    def connect(
        self,
        endpoint: Endpoint,
        receiver: Receiver,
        failed: Callable[[str], None],
        seconds: float = 5.0,
    ) -> None:
        """Do what ``Connector.connect`` does."""
        self.asked.append(endpoint)
        self.seconds = seconds
        if self.is_slow:
            self.waiting.append((endpoint, receiver, failed))
        elif endpoint in self.unreachable:
            failed(self.unreachable[endpoint])
        else:
            self._make(endpoint, receiver)

    def let_through(self) -> None:
        """Make the connections that wait."""
        waiting, self.waiting = self.waiting, []
        for endpoint, receiver, _ in waiting:
            self._make(endpoint, receiver)

    def refuse(self, why: str) -> None:
        """Fail the connections that wait."""
        waiting, self.waiting = self.waiting, []
        for _, _, failed in waiting:
            failed(why)

    def _make(self, endpoint: Endpoint, receiver: Receiver) -> None:
        self.peers.append(self._reactor.connect(receiver, endpoint.address, endpoint.port, self.window))


class KeptExchanges(ExchangeMetrics):
    """Counts exchanges, and keeps the records of them."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[Record] = []

    def ended(self, record: Record) -> None:
        self.records.append(record)
        super().ended(record)


class CountingMetrics(Metrics):
    """Real metrics that also keep the records of what ended."""

    def __init__(self) -> None:
        super().__init__()
        kept = KeptExchanges()
        self.exchanges = kept
        self.records = kept.records

    @property
    def ended(self) -> list[tuple[ObjectKey | None, int, int]]:
        """Owner, status and bytes of each."""
        return [(record.owner, record.status, record.bytes_sent) for record in self.records]

    def value(self, name: str, **labels: str) -> float:
        """Return the sum of the samples called *name* with these labels."""
        return sum(
            sample.value
            for family in self.families()
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )


class Stage:
    """Everything between the two sockets of a conversation."""

    def __init__(
        self,
        not_found_page: bytes | None = None,
        on_epoll: bool = False,
        limits: Limits = Limits(),  # noqa: B008 - it is frozen
        everything: tuple[FilterSpec, ...] = (),
    ) -> None:
        """*everything* are filters of the operator, before all requests."""
        self.everything = everything
        self.reactor = MemoryReactor(on_epoll)
        self.metrics = CountingMetrics()
        self.deadlines = Deadlines(self.reactor, self.reactor.seconds)
        self.deadlines.start()
        self.connector = FakeConnector(self.reactor)
        self.pool = UpstreamPool(self.connector.connect, self.deadlines, self.metrics)
        rotations = Rotations(self.reactor, self.deadlines, self.metrics, Random(7))
        self.states = states = States()
        self.sub_requests = SubRequests(
            self.pool,
            self.deadlines,
            self.metrics.sub_requests,
            rotations,
            lambda backend: self.resource.rotation_of(backend),
        )
        self.computing = FakeComputing()
        services = partial(
            FilterServices,
            clock=FilterClock(self.reactor, lambda: datetime.fromtimestamp(self.reactor.seconds(), UTC)),
            random=Random(7),
            metrics=self.metrics.filters,
            states=states,
            asker=self.sub_requests,
            replicas=ReplicaCount(),
            computer=self.computing,
            secret=b"a secret of the tests, 32 bytes..",
        )
        self.resource = IngressProxyResource(
            self.reactor, rotations, Chains(self.reactor, services, self.everything), states, Random(7)
        )
        self._log: list[bytes] = []
        self.access_log = AccessLog(
            self.reactor, self._log.append, self.metrics.access_lines_dropped, self.reactor.seconds
        )
        self.site = new_site(
            self.reactor,
            self.resource,
            self.pool,
            self.deadlines,
            Replies(not_found_page),
            self.access_log,
            self.metrics,
            Random(7),
            limits=limits,
            failed=must_be_explained,
        )
        self.publish((ONE,))

    def publish(
        self,
        endpoints: tuple[Endpoint, ...],
        reason: str = "",
        host: str = "shop.test",
        max_body_bytes: int = 0,
        filters: tuple[FilterSpec, ...] = (),
        host_filters: tuple[FilterSpec, ...] = (),
        path: str = "/",
        balancing: Balancing | None = None,
        retries: RetryRule = DEFAULT_RETRIES,
        timeouts: AskedTimeouts | None = None,
        elsewhere: tuple[Endpoint, ...] = (),
    ) -> None:
        """Publish one route, for every path of *host*."""
        route = Route(
            host,
            path,
            Match.PREFIX,
            OWNER,
            BACKEND,
            max_body_bytes=max_body_bytes,
            balancing=balancing,
            retries=retries,
            timeouts=timeouts,
            filters=filters,
        )
        table = RouteTable().patched({host: HostRoutes((route,), host_filters)})
        self.resource.publish(table, {BACKEND: BackendState(endpoints, reason, elsewhere=elsewhere)})

    def open(self, secure: bool = False, window: int | None = None) -> Peer:
        """Open a downstream connection."""
        return self.reactor.connect(ChannelFactory(self.site, secure).build(), window=window)

    def log_lines(self) -> list[bytes]:
        """Return the lines of the access log so far."""
        self.access_log.stop()
        self.access_log.write_batches()
        return b"".join(self._log).splitlines()


class ProxyCase(SynchronousTestCase):
    """A test with a stage, and short words for what happens on it."""

    on_epoll = False
    """Whether connections are those of the epoll set, or else Twisted's."""
    limits = Limits()

    def setUp(self) -> None:
        self.stage = Stage(on_epoll=self.on_epoll, limits=self.limits)
        self.addCleanup(self.assert_one_line_each)
        self.reactor = self.stage.reactor
        self.connector = self.stage.connector
        self.metrics = self.stage.metrics

    def upstream(self, number: int = -1) -> Peer:
        """Return an upstream peer, by default the one connected to last."""
        return self.connector.peers[number]

    def assert_upstreams(self, count: int) -> None:
        """Check how many upstream connections were made so far."""
        self.assertEqual(len(self.connector.peers), count)

    def assert_status(self, answer: bytes, status: int) -> None:
        """Check the status of an answer, of which there must be exactly one head."""
        self.assertEqual(answer[:12], b"HTTP/1.1 %d" % status, answer)
        self.assertEqual(answer.count(b"HTTP/1.1 "), 1, answer)

    def assert_one_line_each(self) -> None:
        """Check, after every test, that each exchange that ended has one count, and one line if it is to have one, and no other."""
        lines = [int(line.split(b" ")[5]) for line in self.stage.log_lines()]
        records = self.stage.metrics.records
        self.assertEqual(lines, [one.status for one in records if one.route is None or one.route.is_logged])

    def assert_ended(self, *statuses: int) -> None:
        """Check the status of every exchange so far: each is counted exactly once."""
        self.assertEqual([status for _, status, _ in self.metrics.ended], list(statuses))


def body_of(message: bytes) -> bytes:
    """Return what follows the head of *message*."""
    return message.partition(b"\r\n\r\n")[2]


def fields_of(message: bytes) -> dict[bytes, bytes]:
    """Return the fields of *message* by lower-case name; a name that repeats is an error."""
    lines = message.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    fields: dict[bytes, bytes] = {}
    for line in lines:
        name, _, value = line.partition(b": ")
        assert name.lower() not in fields, message
        fields[name.lower()] = value
    return fields
