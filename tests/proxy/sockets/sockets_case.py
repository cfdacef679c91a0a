"""The proxy's data path on real loopback sockets in the reactor that trial runs."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from random import Random
from typing import Any

from twisted.internet import reactor as real_reactor  # noqa: TID251 - real sockets need the real reactor
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, wrapClientTLS
from twisted.internet.ssl import Certificate as TrustedCertificate
from twisted.internet.ssl import optionsForClientTLS
from twisted.trial.unittest import TestCase

from ingress.identity.certificates import (
    CHAIN_KEY,
    PRIVATE_KEY_KEY,
    TLS_SECRET_TYPE,
    Certificate,
    CertificateTable,
)
from ingress.identity.key_pairs import load_certificate
from ingress.metrics.metrics import Metrics
from ingress.model.cluster.objects import Kind, ObjectKey, Owner, Secret
from ingress.model.serving.limits import Limits
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.contract.progress import Progress
from ingress.proxy.dispatch.resource import IngressProxyResource
from ingress.proxy.dispatch.site import SessionRules, new_site
from ingress.proxy.exchange.access_log.access_log import AccessLog
from ingress.proxy.exchange.filtering.chains import Chains
from ingress.proxy.exchange.filtering.services import FilterClock, FilterServices, ReplicaCount, States
from ingress.proxy.exchange.replies import Replies
from ingress.proxy.exchange.sub_requests.sub_requests import SubRequests
from ingress.proxy.listening.connection_starts import NO_CONNECTION_STARTS
from ingress.proxy.listening.networks import EpollNetwork, TwistedNetwork
from ingress.proxy.upstream.pool import UpstreamPool
from ingress.proxy.upstream.rotation import Rotations
from ingress.routing.balancing.health import FIRST_SECONDS
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from ingress.tls.contexts import ServerContexts
from ingress.tls.generated_certificate import generate_certificate
from tests.fakes.certificates import Authority, issue, make_authority
from tests.fakes.connecting import connect_protocol
from tests.fakes.failure_reasons import must_be_explained
from tests.fakes.filter_parts import FakeComputing
from tests.fakes.peers.downstreams import DownstreamWire
from tests.fakes.peers.upstreams import Upstream

PATIENCE = 60.0
"""Seconds after which a wait is a failure; generous, because the machine may be busy."""

APP = BackendReference("demo", "app", 80)
ANY_PATH = Route("", "/", Match.PREFIX, Owner(Kind.INGRESS, ObjectKey("demo", "app")), APP)


def certificate_of(authority: Authority, *names: str) -> Certificate:
    """Issue a certificate and load it as the controller would."""
    chain, key = issue(authority, names)
    content = {CHAIN_KEY: chain, PRIVATE_KEY_KEY: key}
    return load_certificate(Secret(ObjectKey("demo", names[0]), TLS_SECRET_TYPE, content))


class SocketsCase(TestCase):
    """A proxy with a plain and a TLS listener; everything leads to one scripted upstream."""

    timeout = 120
    use_epoll = False
    """Whether the epoll set carries the connections, or Twisted's transports."""
    can_splice = False
    """Whether the epoll set may leave large bodies to the kernel."""
    rules = NO_CONNECTION_STARTS
    """What both listeners read of a connection before it has a protocol."""
    limits = Limits()
    first_ejection = FIRST_SECONDS
    """For how long an endpoint is ejected that cannot be connected to."""
    sessions: SessionRules | None = None
    """Where HTTP/2 is spoken, and what speaks it."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Start."""
        self.reactor: Any = real_reactor
        self.lines: list[bytes] = []
        self.metrics = Metrics()
        self.deadlines = Deadlines(self.reactor)
        self.access_log = AccessLog(self.reactor, self.lines.append, self.metrics.access_lines_dropped)
        self.network = TwistedNetwork(self.reactor)
        if self.use_epoll:
            self.network = EpollNetwork(self.reactor, self.can_splice)
        self.network.start()
        self.pool = UpstreamPool(self.network.connect, self.deadlines, self.metrics)
        rotations = Rotations(
            self.reactor,
            self.deadlines,
            self.metrics,
            Random(1),
            first_seconds=self.first_ejection,
        )
        states = States()
        self.sub_requests = SubRequests(
            self.pool,
            self.deadlines,
            self.metrics.sub_requests,
            rotations,
            lambda backend: self.resource.rotation_of(backend),
        )
        services = partial(
            FilterServices,
            clock=FilterClock(self.reactor, lambda: datetime.fromtimestamp(self.reactor.seconds(), UTC)),
            random=Random(1),
            metrics=self.metrics.filters,
            states=states,
            asker=self.sub_requests,
            replicas=ReplicaCount(),
            computer=FakeComputing(),
            secret=b"a secret of the tests",
        )
        self.resource = IngressProxyResource(
            self.reactor, rotations, Chains(self.reactor, services), states, Random(1)
        )
        self.site = new_site(
            clock=self.reactor,
            resource=self.resource,
            pool=self.pool,
            deadlines=self.deadlines,
            replies=Replies(),
            access_log=self.access_log,
            metrics=self.metrics,
            random=Random(1),
            limits=self.limits,
            sessions=self.sessions,
            failed=must_be_explained,
        )
        self.contexts = ServerContexts(
            generate_certificate(datetime.now(UTC)),
            http2=self.sessions is not None and self.sessions.over_tls,
        )
        self.clients: list[DownstreamWire] = []
        self.upstream = Upstream(self.reactor)
        self.publish(self.upstream.listen())
        local = "tcp:0:interface=127.0.0.1"
        self._plain: Any = await self.network.listen(local, self.site, None, self.rules)
        self._secure: Any = await self.network.listen(local, self.site, self.contexts, self.rules)
        self.deadlines.start()
        self.access_log.start()
        self.addCleanup(lambda: Deferred.fromCoroutine(self._stop()))

    async def _stop(self) -> None:
        for client in self.clients:
            if client.lost is None:
                client.transport.abortConnection()
        self.site.abort()
        for stopped in (
            self._plain.stopListening(),
            self._secure.stopListening(),
            self.upstream.stop(),
        ):
            if stopped is not None:
                await stopped
        self.pool.close()
        await self.until(lambda: "0 busy, 0 idle, 0 connecting>" in repr(self.pool))
        await self.until(lambda: not self.channels and all(each.lost for each in self.clients))
        await self.until(lambda: not self.upstream.open_wires)
        await self.network.stop()
        self.deadlines.stop()
        self.access_log.stop()

    def publish(self, *endpoints: Endpoint) -> None:
        """Make these the endpoints behind every host and path."""
        self.resource.publish(RouteTable([ANY_PATH]), {APP: BackendState(endpoints)})

    @property
    def channels(self) -> list[Any]:
        """The proxy's open downstream connections; what they buffer is what a test wants to see."""
        return list(self.site.connections.all)

    def certify(self, *names: str) -> Authority:
        """Have the TLS listener show a certificate for *names*; return the authority that issued it."""
        authority = make_authority()
        shown = certificate_of(authority, *names)
        self.contexts.publish(CertificateTable(dict.fromkeys(names, (shown,)), {}, None))
        return authority

    async def connect(self) -> DownstreamWire:
        """Open a connection to the plain listener."""
        return await self._connect(TCP4ClientEndpoint(self.reactor, "127.0.0.1", self._plain.getHost().port))

    async def connect_tls(self, name: str, authority: Authority) -> DownstreamWire:
        """Open a connection to the TLS listener, naming a server and trusting one authority."""
        options = optionsForClientTLS(name, trustRoot=TrustedCertificate.loadPEM(authority.pem))
        endpoint = TCP4ClientEndpoint(self.reactor, "127.0.0.1", self._secure.getHost().port)
        return await self._connect(wrapClientTLS(options, endpoint))

    async def _connect(self, endpoint: Any) -> DownstreamWire:
        client = DownstreamWire()
        await connect_protocol(endpoint, client)
        self.clients.append(client)
        return client

    async def whole(self, client: DownstreamWire, count: int | None = None) -> None:
        """Wait for one more answer, or for the end of the connection."""
        await client.answer(count).addTimeout(PATIENCE, self.reactor)

    async def until(self, condition: Callable[[], object], patience: float = PATIENCE) -> None:
        """Wait until *condition* holds; a test that waits in vain fails."""
        deadline = self.reactor.seconds() + patience
        while not condition():
            if self.reactor.seconds() > deadline:
                self.fail(f"waited {patience:g} s in vain")
            turn: Deferred[None] = Deferred()
            self.reactor.callLater(0.002, turn.callback, None)
            await turn

    async def turns(self, count: int) -> None:
        """Let the reactor turn, so that whatever can happen at once has happened."""
        turns = iter(range(count))
        await self.until(lambda: next(turns, None) is None)

    async def until_cut(self, progress: Progress) -> None:
        """Let the time pass in which a peer may take nothing, and wait until it is cut, and upstream with it.

        The time passes anew with every look, for buffers of the kernel may still take something after a while.
        """

        def is_over() -> bool:
            progress.since -= self.site.context.limits.send_seconds
            self.deadlines.tick()
            return not self.channels and not self.upstream.open_wires

        await self.until(is_over)

    async def end_of(self, client: DownstreamWire) -> None:
        """Wait until a connection ended, on both sides of it."""
        await self.until(lambda: client.lost and not self.channels)

    def queued(self) -> int:
        """How many bytes the proxy's transports hold at this moment, both directions, all connections."""
        transports = [channel.transport for channel in self.channels]
        transports += [connection.transport for connection in self.pool.connections]
        return sum(transport.queued for transport in transports)


def socket_of(transport: Any) -> socket.socket:
    """Return another descriptor of the socket below a transport of the proxy's."""
    return socket.socket(fileno=os.dup(transport.fileno()))


def queued_in(transport: Any) -> int:
    """Return how many bytes one of Twisted's own transports holds."""
    return int(len(transport.dataBuffer) - transport.offset + transport._tempDataLen)
