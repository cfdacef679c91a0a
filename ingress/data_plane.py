"""The data plane: everything that serves requests and streams, and nothing that knows where objects come from.

The control plane (``ingress.service``) translates; what comes of it is published here, and the listeners that it asks for are open
here.  A process that serves by itself has both.  Only what ``DataPlane`` promises crosses between the two, so they may
be in different processes, too.
"""

from collections.abc import Awaitable, Callable, Collection, Hashable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from random import Random
from socket import socket
from time import time
from typing import TYPE_CHECKING, Any, Protocol

from twisted.internet.defer import Deferred, DeferredList, succeed
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.annotations.firewall.filters import InspectRequests
from ingress.annotations.shared_limits import shared_limits
from ingress.errors import StartError
from ingress.http.forwarding import trusted_by
from ingress.metrics.metrics import Metrics
from ingress.model.exchanges.firewall import INSPECTOR
from ingress.model.exchanges.records import Record
from ingress.model.network.listeners import Listener
from ingress.model.observability.endpoint_states import EndpointsSeen, Row, rows_to_bytes
from ingress.model.observability.workers import WorkerState
from ingress.model.serving.limits import Limits
from ingress.model.serving.serving_settings import ServingSettings
from ingress.model.stepwise import Stepwise
from ingress.model.upstream.balancing import Balancing
from ingress.process.caps.caps import Caps, caps_of_system, connections_allowed
from ingress.process.caps.memory_marks import Level
from ingress.process.caps.memory_watch import MemoryWatch, own_memory
from ingress.process.computing import ComputingThreads
from ingress.process.in_slices import OneForAll, in_slices
from ingress.process.logs.access_log_output import AccessOutputs, output_to
from ingress.process.shared.crowding import Crowding
from ingress.process.shared.worker_part import WorkerPart
from ingress.process.yielding import YieldToTraffic
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.dispatch.gate import Gate
from ingress.proxy.dispatch.resource import IngressProxyResource
from ingress.proxy.dispatch.site import ProxySite, SessionRules, new_site
from ingress.proxy.downstream.h2_session import DownstreamSession
from ingress.proxy.exchange.access_log.access_log import AccessLog
from ingress.proxy.exchange.filtering.chains import Chains
from ingress.proxy.exchange.filtering.services import FilterClock, FilterServices, ReplicaCount, States
from ingress.proxy.exchange.loops import usual_most
from ingress.proxy.exchange.replies import Replies
from ingress.proxy.exchange.sub_requests.sub_requests import SubRequests
from ingress.proxy.listening.connection_factories import ChannelFactory, StreamFactory
from ingress.proxy.listening.connection_starts import ConnectionStartRules, TrustedNow
from ingress.proxy.listening.networks import network_for
from ingress.proxy.listening.open_listeners import OpenListener, OpenListeners
from ingress.proxy.listening.served_table import ServingPort
from ingress.proxy.listening.served_tables import ServedTables
from ingress.proxy.transport.accepting import NewTurn
from ingress.proxy.transport.connection_limit import DEFAULT_CONNECTIONS
from ingress.proxy.transport.datagrams import take_datagrams
from ingress.proxy.transport.resolving import AddressRules
from ingress.proxy.udp.port import UdpPort
from ingress.proxy.udp.sessions import UdpSessions
from ingress.proxy.upstream.pool import UpstreamPool
from ingress.proxy.upstream.rotation import Rotations
from ingress.proxy.upstream.standing import standing
from ingress.settings import Settings
from ingress.tls.bases import Bases, InheritedTls
from ingress.tls.contexts import ServerContexts
from ingress.tls.generated_certificate import generate_certificate
from ingress.tls.groups import usable_groups
from ingress.tls.profile import VERSIONS
from ingress.tls.upstream import UpstreamContexts
from ingress.tracing.tracing import Tracing
from ingress.translate.snapshot import Snapshot

if TYPE_CHECKING:
    from ingress.firewall.pool import Firewall

UDP_DESCRIPTOR_SHARE = 8
"""One descriptor in so many may be a session's of UDP."""

SocketOf = Callable[[Listener], Awaitable[socket | None]]
"""Returns the socket that listens already for a listener, which whoever asks owns then; None where it is to be bound."""


async def bound_anew(listener: Listener) -> socket | None:
    """Have every socket bound by who opens the listener."""
    return None


class DataPlane(Protocol):
    """What serves: told by the control plane what, where, and until when."""

    def prepare(self) -> None:
        """Make the processes that are needed; to be called before the reactor runs, and before there is any thread."""

    def start(self) -> None:
        """Begin; nobody is served before listeners are open."""

    def begin_with(self, settings: Settings) -> None:
        """Go by *settings* in what is decided at the start; nobody is served yet."""

    def publish(self, snapshot: Snapshot) -> None:
        """Make *snapshot* current."""

    @property
    def open_listeners(self) -> Collection[Listener]:
        """Those that are open."""

    @property
    def is_opening(self) -> bool:
        """Whether listeners are being opened or closed."""

    def sockets(self) -> Mapping[str, int]:
        """Return the descriptors of the sockets that listen, by the descriptions of their listeners."""

    async def follow(self, listeners: Sequence[Listener]) -> None:
        """Have just *listeners* open; raises ``StartError`` for one that is required and cannot be opened."""

    def begin_draining(self) -> None:
        """Have connections end when they rest; others are still accepted."""

    async def close(self) -> None:
        """Accept no more."""

    def drain(self, patience: float = 0.0) -> Deferred[None]:
        """Have connections end; fires when all have.

        Those at rest have *patience* seconds to say something more, whose answer tells them of the end, before they are closed.
        """

    def renew(self, patience: float, grace: float) -> str:
        """Have the processes that serve below this one followed by new ones, without loss; say why not, if that cannot be.

        Connections end as in ``drain``, and are cut after *grace* seconds.
        """

    def abort(self) -> None:
        """End what still runs at once."""

    async def stop(self) -> None:
        """Give everything back; to be called at the very end."""

    def reopen_files(self) -> None:
        """Open the access log anew: somebody moved its file away."""

    def workers(self) -> Sequence[WorkerState]:
        """Return what is known of each worker; none where it is one process."""

    def told(self) -> Deferred[None]:
        """Have the metrics as they are now; fires when they are, or nobody is to wait for that any longer."""

    def endpoints(self) -> Deferred[EndpointsSeen]:
        """Find out how endpoints are, now that somebody looks; takes a second at most, and may be cancelled."""


def now() -> datetime:
    """Return the time of day, with its zone."""
    return datetime.now(UTC)


def _sessions(settings: Settings) -> SessionRules:
    return SessionRules(DownstreamSession, settings.http2, settings.http2_prior_knowledge)


def _both(one: Deferred[None], other: Deferred[None]) -> Deferred[None]:
    """Return what fires when both have, and cancels both."""
    return DeferredList([one, other], consumeErrors=True).addCallback(lambda _: None)


class OwnDataPlane:
    """The data plane of this process.

    *refused* is told which listeners cannot be opened and why, *rules* say which addresses tenants may choose,
    *yielding* knows of threads that let requests go before, *socket_of* finds sockets that listen already, *part* is what
    it has of what several workers have together, *tls* what it has inherited with them, *caps* say what this process may have, and turns, of which each
    listener has a *new_turn*, which connections are its own where other workers have the same sockets.  *slices* (else *reactor*) gives time to what snapshots bring about.
    """

    log = Logger()

    def __init__(
        self,
        settings: Settings,
        reactor: Any,
        metrics: Metrics,
        refused: Callable[[Mapping[Listener, str]], None],
        rules: AddressRules | None = None,
        yielding: YieldToTraffic | None = None,
        socket_of: SocketOf = bound_anew,
        part: WorkerPart | None = None,
        caps: Caps | None = None,
        new_turn: NewTurn | None = None,
        tls: InheritedTls | None = None,
        failed: Callable[[Record], None] = lambda record: None,
        slices: Any = None,
    ) -> None:
        self._tls = tls
        self._bases: Bases | None = None
        self._caps = caps or caps_of_system()
        self._part = part = part or WorkerPart()
        self._settings = self._beginning = settings
        self._reactor = reactor
        self._metrics = metrics
        self._socket_of = socket_of
        self._listeners = OpenListeners(self._open, reactor, self.following_failed, refused)
        self._deadlines = Deadlines(reactor)
        output = self._access_outputs = AccessOutputs(
            settings.serving.access_log.destination,
            partial(output_to, is_shared=settings.workers is not None),
        )
        self._access_log = AccessLog(
            reactor,
            output.write,
            metrics.access_lines_dropped,
            reopen=output.reopen,
            from_thread=lambda call: reactor.callFromThread(call),
        )
        self._groups = groups = usable_groups(settings.tls_groups)
        self._upstream_contexts = UpstreamContexts(groups, reactor)
        self._network = network_for(
            reactor, settings.use_epoll, rules or AddressRules(), yielding, self._upstream_contexts
        )
        self._network.new_turn = new_turn
        self._network.after_standing_still(self._deadlines.take_time)
        serving, limits = settings.serving, settings.serving.limits
        self._serving = serving
        self._pool = UpstreamPool(
            self._network.connect,
            self._deadlines,
            metrics,
            limits.upstream,
            part.rounded_up(limits.max_endpoint_connections),
        )
        metrics.endpoints.connections = self._pool.idle_and_busy
        random = Random()
        rotations = Rotations(
            reactor,
            self._deadlines,
            metrics,
            random,
            Balancing(serving.load_balance),
            serving.slow_start_seconds,
        )
        clock = FilterClock(reactor, now)
        firewall = self._firewall = self._new_firewall()
        own: dict[tuple[str, Hashable], object] = (
            {} if firewall is None else {(InspectRequests.name, INSPECTOR): firewall}
        )
        states = States(self._shared(clock), own)
        self._replicas = ReplicaCount()
        self._sub_requests = SubRequests(
            self._pool,
            self._deadlines,
            metrics.sub_requests,
            rotations,
            lambda backend: self._resource.rotation_of(backend),
        )
        self._computing = ComputingThreads(lambda call, *arguments: reactor.callFromThread(call, *arguments))
        services = partial(
            FilterServices,
            clock=clock,
            random=random,
            metrics=metrics.filters,
            states=states,
            asker=self._sub_requests,
            replicas=self._replicas,
            computer=self._computing,
            secret=part.secret,
        )
        chains = Chains(slices or reactor, services, settings.filters)
        self._new_resource = partial(IngressProxyResource, reactor, rotations, chains, states, random)
        self._resource = self._new_resource()
        self._resource.answers_health_checks = True
        self._site = new_site(
            clock=reactor,
            resource=self._resource,
            pool=self._pool,
            deadlines=self._deadlines,
            replies=Replies(serving.not_found_page),
            access_log=self._access_log,
            metrics=metrics,
            random=random,
            trusted_proxies=trusted_by(serving),
            limits=limits,
            most_connections=self._connections(limits),
            sessions=_sessions(settings),
            gate=Gate(
                reactor,
                metrics.overload,
                lambda: self._site.context.replies,
                self._network.lateness,
                self._network.call_in_batch,
            ),
            failed=failed,
        )
        metrics.connections.most = lambda: self._site.connections.limit.most
        self._site.gate.overload.mark_seconds = serving.overload_seconds
        self._site.context.loops.most = self._loop_limit(limits)
        self._site.context.burst = self._network.burst
        self._site.context.takes_underscores = serving.underscores_in_headers
        self._access_log.follow(serving.access_log)
        self._tracing = Tracing(
            reactor,
            time,
            metrics.tracing,
            part.rounded_up,
            self._site.context.new_request_id,
            lambda call: reactor.callFromThread(call),
        )
        self._memory = MemoryWatch(reactor, own_memory(), self._memory_is)
        self._memory.marks.near_share = serving.overload_memory_percent / 100
        self._tables = ServedTables(self._resource, self._new_resource, reactor)
        network = self._network
        self._udp = UdpSessions(self._site, network.sockets, network.find_address, self._udp_sessions(limits))
        metrics.udp.most = lambda: self._udp.most if self._udp.ports else 0

        self._look = OneForAll(lambda: in_slices(reactor, self._seen()))

    def prepare(self) -> None:
        """Nothing: this is the process."""

    def _shared(self, clock: FilterClock) -> Mapping[tuple[str, Hashable], object] | None:
        """Return the states that all workers share; None where there are no others."""
        part = self._part
        if part.limits is None:
            return None
        crowding = Crowding(clock.seconds, self._metrics.filters.counted)
        return shared_limits(part.limits, part.number, clock, part.secret, crowding)

    def _new_firewall(self) -> "Firewall | None":
        """Return what requests are inspected by; None where the operator has no firewall."""
        plan = self._settings.translate.firewall
        if not plan.processes:
            return None
        from ingress.firewall.process import firewall_of

        return firewall_of(plan, self._reactor, partial(self._metrics.filters.counted, InspectRequests.name))

    def start(self) -> None:
        """Begin; nobody is served before listeners are open."""
        self._deadlines.start()
        self._network.start()
        if self._firewall is not None:
            self._firewall.start()
        self._access_log.start()
        self._trace()

    def begin_with(self, settings: Settings) -> None:
        """Go by *settings* in what is decided at the start; nobody is served yet."""
        self._beginning = settings
        self._site.sessions = _sessions(settings)

    def publish(self, snapshot: Snapshot) -> None:
        """Make *snapshot* current."""
        self._replicas.count = snapshot.replicas
        self._udp.follow(snapshot.replica_addresses)
        self._tables.publish(snapshot)
        if snapshot.serving is not self._serving:
            self._serve(snapshot.serving)

    def _serve(self, serving: ServingSettings) -> None:
        """Put other options in force.  Connections that are open keep the limits that they began with."""
        before, self._serving = self._serving, serving
        site, limits = self._site, serving.limits
        site.context.limits = limits
        site.gate.overload.mark_seconds = serving.overload_seconds
        self._memory.marks.near_share = serving.overload_memory_percent / 100
        self._pool.limit(limits.upstream, self._part.rounded_up(limits.max_endpoint_connections))
        if serving.not_found_page != before.not_found_page:
            site.context.replies = Replies(serving.not_found_page)
        site.context.takes_underscores = serving.underscores_in_headers
        self._access_log.follow(serving.access_log)
        if self._access_outputs.choose(serving.access_log.destination):
            self._access_log.reopen()
        if serving.tracing != before.tracing:
            self._trace()
        trusted = trusted_by(serving)
        if trusted is not trusted_by(before):
            site.trust(trusted)
            for served in self._tables.sites():
                served.site.trust(trusted)
        if limits.max_connections != before.limits.max_connections:
            site.connections.limit.allow(self._connections(limits))
        site.context.loops.most = self._loop_limit(limits)
        self._udp.allow(self._udp_sessions(limits))
        for served in self._tables.sites():
            if served.contexts is not None:
                served.contexts.strict_sni = serving.strict_sni
        sharing = (serving.load_balance, serving.slow_start_seconds)
        if sharing != (before.load_balance, before.slow_start_seconds):
            for table in self._tables:
                table.resource.share(Balancing(serving.load_balance), serving.slow_start_seconds)

    def _trace(self) -> None:
        """Trace requests as the options have it, or none."""
        tracer = self._tracing.follow(self._serving.tracing)
        self._sub_requests.tracer = tracer
        self._site.context.trace_by(tracer)

    def _connections(self, limits: Limits) -> int:
        """Return how many connections of clients this process may have.

        What somebody asked for is for all workers together, and so is the memory; the usual number fits one process, so each has it.
        """
        most, caps = limits.max_connections, self._caps.divided_by(self._part.count)
        return connections_allowed(None if most is None else self._part.of(most), DEFAULT_CONNECTIONS, caps)

    def _loop_limit(self, limits: Limits) -> int:
        """Return how many requests with one id may wait in this process; 0 for as many as come."""
        asked = limits.loop_limit
        if asked is None:
            return usual_most(self._site.connections.limit.most)
        return self._part.of(asked) if asked else 0

    def _udp_sessions(self, limits: Limits) -> int:
        """Return how many sessions of UDP this process may have: each takes a descriptor, of which most are for connections."""
        return max(1, min(limits.max_udp_sessions, self._caps.descriptors // UDP_DESCRIPTOR_SHARE))

    @property
    def connections(self) -> int:
        """How many connections of clients there are."""
        return len(self._site.connections.all)

    def _memory_is(self, level: Level) -> None:
        """Do with less memory while there is little."""
        limit = self._site.connections.limit
        limit.hold(level is not Level.ROOMY)
        self._network.spare_memory(level is not Level.ROOMY)
        self._site.gate.memory_is_short(level is Level.SHORT)
        if level is not Level.ROOMY:
            limit.end_resting()

    # Listeners

    @property
    def open_listeners(self) -> Collection[Listener]:
        """Those that are open."""
        return self._listeners.open

    @property
    def is_opening(self) -> bool:
        """Whether listeners are being opened or closed."""
        return self._listeners.is_working

    def sockets(self) -> Mapping[str, int]:
        """Return the descriptors of the sockets that listen, by the descriptions of their listeners."""
        return self._listeners.sockets()

    async def follow(self, listeners: Sequence[Listener]) -> None:
        """Have just *listeners* open; raises ``StartError`` for one that is required and cannot be opened."""
        if self._firewall is not None:
            # Nobody is to meet one that is only being started.
            await self._firewall.until_there()
        await self._listeners.follow(listeners)

    def following_failed(self, failure: Failure) -> None:
        """Tell of a bug that ended the opening and closing of listeners."""
        self.log.failure("Opening and closing listeners failed, which is a bug", failure=failure)

    async def _open(self, listener: Listener) -> OpenListener:
        """Open *listener*; raises ``StartError``."""
        # Not before: what is served by now is what the process needs of memory.
        self._memory.start()
        self._tables.need(listener)
        sock = await self._socket_of(listener)
        if listener.is_udp:
            return self._open_udp(listener, sock)
        contexts = self._new_contexts(listener) if listener.is_secure else None
        served = self._tables.new_site(listener, self._site, contexts)
        usual = self._beginning.use_proxy_protocol
        reads_header = usual if listener.reads_header is None else listener.reads_header
        rules = ConnectionStartRules(
            load_balancers=TrustedNow(served.site) if reads_header else None,
            passes_tls=self._settings.translate.ssl_passthrough,
        )
        new_factory = self._new_streams if listener.is_stream else ChannelFactory
        try:
            port = await self._network.listen(
                listener.description, served.site, contexts, rules, new_factory, sock
            )
        except StartError:
            served.forget()
            raise
        grace = self._serving.shutdown_grace_seconds
        return ServingPort(port, served, self._reactor, grace, is_alone=not listener.is_required)

    def _open_udp(self, listener: Listener, sock: socket | None) -> UdpPort:
        if sock is None:
            sock = take_datagrams(listener.description)
        served = self._tables.new_site(listener, self._site, None)
        port = UdpPort(sock, served.site, self._udp, served.forget)
        port.start()
        return port

    def _new_streams(self, site: ProxySite, secure: bool) -> StreamFactory:
        return StreamFactory(site, self._network.connect)

    def _new_contexts(self, listener: Listener) -> ServerContexts:
        settings, tls = self._beginning, self._tls
        least_version = VERSIONS[settings.tls_min_version]
        if self._bases is None:
            row = None if tls is None else tls.row
            self._bases = Bases(least_version, self._groups, row, self._reactor.seconds)
            self._own_certificate = generate_certificate(now()) if tls is None else tls.default_certificate
        return ServerContexts(
            self._own_certificate,
            least_version=least_version,
            strict_sni=self._serving.strict_sni,
            http2=settings.http2,
            groups=self._groups,
            bases=self._bases,
            table=listener.table,
            clock=self._reactor,
        )

    # The end

    def begin_draining(self) -> None:
        """Have connections end when they rest; others are still accepted."""
        self._site.connections.begin_draining()

    async def close(self) -> None:
        """Accept no more."""
        await self._listeners.close()

    def drain(self, patience: float = 0.0) -> Deferred[None]:
        """Have connections end, those at rest after *patience* seconds; fires when all have."""
        connections = self._site.connections
        sessions = self._udp.drain()
        if not patience:
            return _both(connections.drain(), sessions)
        resting = self._reactor.callLater(patience, connections.close_resting)

        def drained(_: None) -> None:
            if resting.active():
                resting.cancel()

        return _both(connections.drain(closes_resting=False).addCallback(drained), sessions)

    def renew(self, patience: float, grace: float) -> str:
        """Say that there is nobody to be followed: this process serves by itself."""
        return "it serves by itself, without --workers"

    def abort(self) -> None:
        """End what still runs at once."""
        self._memory.stop()
        self._site.gate.close()
        self._site.abort()
        self._udp.abort()
        self._sub_requests.close()
        self._computing.stop()

    async def stop(self) -> None:
        """Give everything back; to be called at the very end."""
        self._pool.close()
        self._upstream_contexts.stop()
        if self._firewall is not None:
            self._firewall.stop()
        await self._network.stop()
        self._deadlines.stop()
        self._access_log.stop()
        await self._tracing.stop()

    def reopen_files(self) -> None:
        """Open the access log anew: somebody moved its file away."""
        self._access_log.reopen()

    def workers(self) -> Sequence[WorkerState]:
        """Return none: this process serves by itself."""
        return ()

    def told(self) -> Deferred[None]:
        """Return what has fired: what is counted here is shown as it is."""
        return succeed(None)

    def endpoints(self) -> Deferred[EndpointsSeen]:
        """Find out how endpoints are, in slices."""
        return self._look()

    def endpoint_rows(self) -> Deferred[bytes]:
        """Find out the same for another process, as many rows as that takes."""
        return in_slices(self._reactor, rows_to_bytes(self._standing()))

    def _standing(self) -> Iterator[Row | None]:
        return standing(self._resource.rotations(), self._pool, self._reactor.seconds())

    def _seen(self) -> Stepwise[EndpointsSeen]:
        seen = EndpointsSeen()
        rows: list[Row] = []
        for row in self._standing():
            if row is None:
                yield
            else:
                rows.append(row)
        yield from seen.take(rows)
        return seen
