"""The composition root: builds every part from the settings; orders start, readiness, drain, stop.

Start: admin port, source, first complete content, first snapshot, and only then
the listeners.  Stop: not ready, a delay in which load balancers turn away, no
more accepting, a grace in which running exchanges end, and then everything else.
What cannot work is told to *failed* as a ``StartError`` of one line.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from random import Random
from secrets import token_bytes
from socket import gethostname
from typing import Any
from uuid import uuid4

from attrs import evolve
from twisted.application.service import Service
from twisted.internet.defer import CancelledError, Deferred, TimeoutError, maybeDeferred
from twisted.internet.interfaces import IListeningPort
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.admin.site import admin_site
from ingress.cluster.api_server import ApiServerSource
from ingress.cluster.kinds import ObjectKinds
from ingress.cluster.manifests.manifests import ManifestSource
from ingress.cluster.source import Sink, Source
from ingress.cluster.store import Store
from ingress.controller import Controller
from ingress.errors import StartError
from ingress.expiry import ExpiryWatch, expiries
from ingress.explain.objects import KnownObjects
from ingress.explain.served import Served
from ingress.http.forwarding import trusted_by
from ingress.metrics.metrics import Metrics
from ingress.model.balancing import Balancing
from ingress.model.listeners import Listener
from ingress.model.objects import Kind
from ingress.model.serving import ServingSettings
from ingress.model.tcp_services import TcpServices
from ingress.options.config_map_source import config_map_source
from ingress.options.followed_config_map import FollowedConfigMap
from ingress.options.merging import Merged, OptionSource, OptionTexts, merge
from ingress.options.tcp_services import udp_services_problem
from ingress.options.tcp_services_source import tcp_services_source
from ingress.process.access_output import AccessOutput
from ingress.process.computing import ComputingThreads
from ingress.process.descriptors import connections_allowed
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.dispatch.resource import IngressProxyResource
from ingress.proxy.dispatch.site import ProxySite, SessionRules
from ingress.proxy.downstream.h2_session import DownstreamSession
from ingress.proxy.exchange.access_log import AccessLog
from ingress.proxy.exchange.chains import Chains
from ingress.proxy.exchange.replies import Replies
from ingress.proxy.exchange.services import FilterClock, FilterServices, ReplicaCount, States
from ingress.proxy.exchange.subrequests import SubRequests
from ingress.proxy.listening.channel_factory import ChannelFactory
from ingress.proxy.listening.connection_starts import ConnectionStartRules, TrustedNow
from ingress.proxy.listening.listeners import listen
from ingress.proxy.listening.networks import network_for
from ingress.proxy.listening.open_listeners import OpenListeners
from ingress.proxy.listening.reach import endpoint_rules
from ingress.proxy.listening.served_table import ServingPort
from ingress.proxy.listening.served_tables import ServedTables
from ingress.proxy.listening.stream_factory import StreamFactory
from ingress.proxy.transport.connection_limit import DEFAULT_CONNECTIONS
from ingress.proxy.transport.resolving import AddressRules
from ingress.proxy.upstream.pool import UpstreamPool
from ingress.proxy.upstream.rotation import Rotations
from ingress.settings import Settings, translate_options
from ingress.status.reporting import ClusterReporting
from ingress.tls.contexts import ServerContexts
from ingress.tls.generated import generate_certificate
from ingress.tls.groups import usable_groups
from ingress.tls.profile import VERSIONS
from ingress.tls.upstream import UpstreamContexts
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.reader import RouteKind, reported_by
from ingress.translate.readers.route_kinds import ROUTE_KINDS
from ingress.translate.snapshot import Snapshot

LONGEST_CLEARING_SECONDS = 120.0
"""How long the end waits for addresses to be removed from Ingresses, where that is asked for."""

# With the rest of an identity this stays within the 128 bytes that the API has for it.
_NAME_CHARACTERS = 90


def _now() -> datetime:
    return datetime.now(UTC)


def source_of(
    settings: Settings, reactor: Any, metrics: Metrics, kinds: Sequence[RouteKind] = ROUTE_KINDS
) -> Source:
    """Return the source that *settings* ask for: manifests when any are named, else an API server.

    It reads the route objects of *kinds*, and what these refer to.
    """
    objects = ObjectKinds(kinds)
    if settings.manifests:
        return ManifestSource(
            settings.manifests,
            settings.translate.annotations_prefix,
            settings.namespaces,
            reactor.callFromThread,
            reactor,
            kinds=objects,
            besides=tuple((Kind.CONFIG_MAP, key) for key in settings.config_maps),
        )
    return ApiServerSource(
        reactor,
        kubeconfig=settings.kubeconfig,
        context=settings.context,
        server=settings.server,
        namespaces=settings.namespaces,
        options=translate_options(settings),
        watch_secrets=settings.secret_mode == "watch",
        secret_selector=settings.secret_field_selector,
        single_service=settings.reporting.publish_service,
        single_config_maps=settings.config_maps,
        metrics=metrics.watch,
        kinds=objects,
    )


def reporting_of(
    settings: Settings,
    reactor: Any,
    source: Source,
    store: Store,
    metrics: Metrics,
    kinds: Sequence[RouteKind] = ROUTE_KINDS,
) -> ClusterReporting | None:
    """Return what reports back to the cluster that *source* reads; None where there is no cluster.

    It reports about objects of those of *kinds* whose status is ours to write.
    """
    if not isinstance(source, ApiServerSource):
        return None
    name = os.environ.get("POD_NAME") or gethostname()
    return ClusterReporting(
        reactor,
        source.connection,
        settings.reporting,
        translate_options(settings),
        store.state,
        lambda: source.namespace,
        # Another process of the same pod, or on the same host, is another candidate.
        f"{name[:_NAME_CHARACTERS]}_{uuid4()}",
        metrics.status,
        now=_now,
        random=Random().random,
        regained=source.rouse,
        outage=source.outage,
        kinds=reported_by(kinds),
    )


def _sessions(settings: Settings) -> SessionRules:
    return SessionRules(DownstreamSession, settings.http2, settings.http2_prior_knowledge)


class IngressService(Service):
    """The whole controller as one Twisted service.

    *source* finds the objects (``source_of``).  *failed* is told when the start
    cannot succeed; the process is then to end.  *metrics* are those that the source counts in,
    *kinds* those of the route objects that are served, for which it has been made, too.
    """

    log = Logger()
    name = "ingress"

    def __init__(
        self,
        settings: Settings,
        reactor: Any,
        source: Source,
        failed: Callable[[StartError], None],
        metrics: Metrics | None = None,
        settled: Callable[[], None] = lambda: None,
        given: Collection[str] = (),
        options: OptionSource | None = None,
        kinds: Sequence[RouteKind] = ROUTE_KINDS,
    ) -> None:
        """*settled* is called when all is known that there is at first, and nobody is served yet.

        *options* may say something else than *settings* while the process runs, except of what is
        *given* on the command line.
        """
        self._given = given
        self._settled = settled
        self._settings = settings
        self._beginning = settings
        """What is decided at the start: these, or what a second source says before anybody is served."""
        self._started_with: Settings | None = None
        """That, once the listeners open."""
        self._reactor = reactor
        self._source = source
        self._failed = failed
        self._snapshot: Snapshot | None = None
        self._listeners = OpenListeners(self._open, reactor, self._following_failed, self._refused)
        self._admin_ports: list[IListeningPort] = []
        self._is_listening = False
        self._is_stopping = False
        self._in_no_hurry = True
        self._in_force = Merged(settings)
        self._tcp_source: FollowedConfigMap[TcpServices] | None = None
        self._tcp_services: TcpServices | None = None
        self._waiting: Deferred[None] | None = None

        self._metrics = metrics or Metrics()
        self._deadlines = Deadlines(reactor)
        output = AccessOutput(settings.access_log)
        self._access_log = AccessLog(
            reactor,
            output.write,
            self._metrics.access_lines_dropped,
            reopen=output.reopen,
            from_thread=lambda call: reactor.callFromThread(call),
        )
        rules, yielding = AddressRules(), None
        if isinstance(source, ApiServerSource):
            rules, yielding = AddressRules(source.addresses), source.yielding
        groups = usable_groups(settings.tls_groups)
        self._network = network_for(reactor, settings.use_epoll, rules, yielding, UpstreamContexts(groups))
        serving, limits = settings.serving, settings.serving.limits
        self._serving = serving
        self._pool = UpstreamPool(
            self._network.connect,
            self._deadlines,
            self._metrics,
            limits.upstream,
            limits.max_endpoint_connections,
        )
        random = Random()
        rotations = Rotations(
            reactor,
            self._deadlines,
            self._metrics,
            random,
            Balancing(serving.load_balance),
            serving.slow_start_seconds,
        )
        states = States()
        self._replicas = ReplicaCount()
        self._sub_requests = SubRequests(
            self._pool,
            self._deadlines,
            self._metrics.sub_requests,
            rotations,
            lambda backend: self._resource.rotation_of(backend),
        )
        self._computing = ComputingThreads(lambda call, *arguments: reactor.callFromThread(call, *arguments))
        services = partial(
            FilterServices,
            clock=FilterClock(reactor, _now),
            random=random,
            metrics=self._metrics.filters,
            states=states,
            asker=self._sub_requests,
            replicas=self._replicas,
            computer=self._computing,
            secret=token_bytes(32),
        )
        chains = Chains(services, settings.filters)
        self._new_resource = partial(IngressProxyResource, reactor, rotations, chains, states, random)
        self._resource = self._new_resource()
        self._site = ProxySite(
            clock=reactor,
            resource=self._resource,
            pool=self._pool,
            deadlines=self._deadlines,
            replies=Replies(serving.not_found_page),
            access_log=self._access_log,
            metrics=self._metrics,
            random=random,
            trusted_proxies=trusted_by(serving),
            limits=limits,
            most_connections=connections_allowed(limits.max_connections, DEFAULT_CONNECTIONS),
            sessions=_sessions(settings),
        )
        self._site.context.takes_underscores = serving.underscores_in_headers
        self._access_log.follow(serving.access_log)
        self._groups = groups
        self._tables = ServedTables(self._resource, self._new_resource)
        store = self._store = Store()
        self._kinds = kinds
        self._reporting = reporting_of(settings, reactor, source, store, self._metrics, kinds)
        self._controller = Controller(
            store,
            self._translate_options(settings),
            self._publish,
            reactor,
            self._metrics,
            _now,
            self._reporting,
            kinds,
            serving=serving,
            listen=self._follow,
        )

        self._options = options
        self._sink: Sink = self._controller
        if settings.config_map is not None:
            from_config_map = config_map_source(settings.config_map, self._sink, reactor, given)
            self._options = self._sink = from_config_map
        if settings.tcp_services is not None:
            self._tcp_source = self._sink = tcp_services_source(settings.tcp_services, self._sink, reactor)
        if settings.udp_services is not None:
            self._configure(self._in_force)

        self._expiry = ExpiryWatch(self._current, _now, reactor)
        self._metrics.certificates.expiries = lambda: expiries(self._current())

    def _new_contexts(self) -> ServerContexts:
        return ServerContexts(
            generate_certificate(_now()),
            least_version=VERSIONS[self._beginning.tls_min_version],
            strict_sni=self._serving.strict_sni,
            http2=self._beginning.http2,
            groups=self._groups,
            seconds=self._reactor.seconds,
        )

    # Start

    def startService(self) -> None:
        super().startService()
        self._reactor.callWhenRunning(self._begin)

    def _begin(self) -> None:
        Deferred.fromCoroutine(self._start()).addErrback(self._start_failed)

    async def _start(self) -> None:
        self._deadlines.start()
        self._network.start()
        self._access_log.start()
        leader = None if self._reporting is None else self._reporting.picture
        settings = self._settings
        pages = partial(
            admin_site,
            self.missing,
            self._current,
            self._metrics,
            self._reactor,
            leader,
            names=settings.admin_hosts,
            served=self._served,
        )
        self._admin_ports.append(await listen(self._reactor, settings.admin, pages()))
        if settings.probes is not None:
            site = pages(only_probes=True)
            self._admin_ports.append(await listen(self._reactor, settings.probes, site))
        if self._options is not None:
            self._options.start(self._options_changed)
        if self._tcp_source is not None:
            self._tcp_source.start(self._tcp_services_changed)
        await self._source.start(self._sink)

    def _start_failed(self, failure: Failure) -> None:
        if self._is_stopping:
            self.log.info("The start broke off: {reason}", reason=failure.getErrorMessage())
        elif failure.check(StartError):
            self._failed(failure.value)  # type: ignore[arg-type]
        else:
            self.log.failure("The start failed, which is a bug", failure=failure)
            self._failed(StartError(f"the start failed: {failure.getErrorMessage()}"))

    def _publish(self, snapshot: Snapshot) -> None:
        """Make *snapshot* current."""
        self._snapshot = snapshot
        self._replicas.count = snapshot.replicas
        self._tables.publish(snapshot)
        if snapshot.serving is not self._serving:
            self._serve(snapshot.serving)

    def _follow(self, listeners: Sequence[Listener]) -> None:
        """Have just these *listeners* open; the first time nobody was served before."""
        if self._is_listening or self._listeners.is_working:
            Deferred.fromCoroutine(self._listeners.follow(listeners)).addErrback(self._following_failed)
        else:
            Deferred.fromCoroutine(self._listen(listeners)).addErrback(self._start_failed)

    def _following_failed(self, failure: Failure) -> None:
        self.log.failure("Opening and closing listeners failed, which is a bug", failure=failure)

    def _refused(self, refused: Mapping[Listener, str]) -> None:
        # Not now: this may be amid what the controller publishes.
        self._reactor.callLater(0, self._controller.refuse, refused)

    def _serve(self, serving: ServingSettings) -> None:
        """Put other options in force.  Connections that are open keep the limits that they began with."""
        before, self._serving = self._serving, serving
        site, limits = self._site, serving.limits
        site.context.limits = limits
        self._pool.limit(limits.upstream, limits.max_endpoint_connections)
        if serving.not_found_page != before.not_found_page:
            site.context.replies = Replies(serving.not_found_page)
        site.context.takes_underscores = serving.underscores_in_headers
        self._access_log.follow(serving.access_log)
        trusted = trusted_by(serving)
        if trusted is not trusted_by(before):
            site.trust(trusted)
            for served in self._tables.sites():
                served.site.trust(trusted)
        if limits.max_connections != before.limits.max_connections:
            site.connections.limit.allow(connections_allowed(limits.max_connections, DEFAULT_CONNECTIONS))
        for served in self._tables.sites():
            if served.contexts is not None:
                served.contexts.strict_sni = serving.strict_sni
        sharing = (serving.load_balance, serving.slow_start_seconds)
        if sharing != (before.load_balance, before.slow_start_seconds):
            for table in self._tables:
                table.resource.share(Balancing(serving.load_balance), serving.slow_start_seconds)

    # Options that change

    def _options_changed(self, said: OptionTexts) -> None:
        merged = merge(self._settings, self._given, said, self._started_with)
        if self._started_with is None:
            self._begin_with(merged.settings)
        options = self._configure(merged)
        if isinstance(self._source, ApiServerSource):
            # Not now: this may be amid what the source hands over.
            self._reactor.callLater(0, self._source.refer, options)
        self.log.info(
            "{kind} {namespace}/{object} decides {options}",
            kind=said.kind,
            namespace=said.namespace,
            object=said.name,
            options=", ".join(merged.in_force) or "no option",
        )

    def _tcp_services_changed(self, services: TcpServices) -> None:
        self._tcp_services = services
        self._configure(self._in_force)

    def _configure(self, merged: Merged) -> TranslateOptions:
        """Have *merged* in force; return what translation goes by."""
        self._in_force = merged
        options = self._translate_options(merged.settings)
        udp = self._settings.udp_services
        problems = merged.problems if udp is None else (*merged.problems, udp_services_problem(udp))
        self._controller.configure(options, merged.settings.serving, problems)
        return options

    def _begin_with(self, settings: Settings) -> None:
        """Have what is decided at the start as *settings* say; nobody is served yet."""
        self._beginning = settings
        self._site.sessions = _sessions(settings)

    def _translate_options(self, settings: Settings) -> TranslateOptions:
        """Return what translation goes by, with what this process knows of its surroundings."""
        options = translate_options(settings)
        source = self._source
        rules = endpoint_rules(
            settings.listeners,
            options.endpoint_networks,
            source.endpoints if isinstance(source, ApiServerSource) else tuple,
            allows_local=options.from_manifests,
        )
        return evolve(options, endpoint_rules=rules, tcp_services=self._tcp_services)

    async def _listen(self, listeners: Sequence[Listener]) -> None:
        self._started_with = self._beginning
        self._settled()
        self._expiry.start()
        await self._listeners.follow(listeners)
        self._is_listening = True
        self.log.info(
            "Serving HTTP on {http} and HTTPS on {https}",
            http=", ".join(self._settings.http),
            https=", ".join(self._settings.https),
        )
        if self._reporting is not None and not self._is_stopping:
            self._reporting.start()

    async def _open(self, listener: Listener) -> ServingPort:
        """Open *listener*; raises ``StartError``."""
        contexts = self._new_contexts() if listener.is_secure else None
        served = self._tables.new_site(listener, self._site, contexts)
        usual = self._beginning.use_proxy_protocol
        reads_header = usual if listener.reads_header is None else listener.reads_header
        rules = ConnectionStartRules(
            load_balancers=TrustedNow(served.site) if reads_header else None,
            passes_tls=self._settings.translate.ssl_passthrough,
        )
        new_factory = self._new_streams if listener.is_stream else ChannelFactory
        try:
            port = await self._network.listen(listener.description, served.site, contexts, rules, new_factory)
        except StartError:
            served.forget()
            raise
        grace = self._serving.shutdown_grace_seconds
        is_alone = not listener.is_required
        return ServingPort(port, served, self._reactor, grace, is_alone=is_alone)

    def _new_streams(self, site: ProxySite, secure: bool) -> StreamFactory:
        return StreamFactory(site, self._network.connect)

    # What the admin port shows

    def missing(self) -> tuple[str, ...]:
        """Say what keeps the controller from being ready; empty when it is."""
        if self._is_stopping:
            return ("stopping",)
        missing = self._source.missing()
        if not self._is_listening:
            missing = (*missing, "listeners not open")
        return missing

    def _current(self) -> Snapshot:
        return self._snapshot or Snapshot()

    def _served(self) -> Served:
        objects = KnownObjects(self._store.state(), self._controller.options, kinds=self._kinds)
        return Served(self._current(), _now(), self._settings.filters, objects)

    # Stop

    def stopService(self) -> Deferred[None]:
        super().stopService()
        return Deferred.fromCoroutine(self._stop())

    def reopen_files(self) -> None:
        """Open the access log anew: somebody moved its file away."""
        self._access_log.reopen()

    def hurry(self) -> None:
        """Wait for nothing any more: a second request to stop."""
        self._in_no_hurry = False
        if self._waiting is not None:
            self._waiting.cancel()

    async def _stop(self) -> None:
        self._is_stopping = True
        self._site.connections.begin_draining()
        # Another replica is to report while this one drains.
        reported = None if self._reporting is None else self._reporting.stop()
        if self._is_listening:
            delay = self._serving.shutdown_delay_seconds
            await self._wait(deferLater(self._reactor, delay, lambda: None), delay)
        await self._listeners.close()
        await self._wait(self._site.connections.drain(), self._serving.shutdown_grace_seconds)
        self._site.abort()
        self._sub_requests.close()
        self._computing.stop()
        self._expiry.stop()
        self._controller.stop()
        await self._source.stop()
        if self._options is not None:
            self._options.stop()
        if self._tcp_source is not None:
            self._tcp_source.stop()
        if reported is not None:
            if self._settings.reporting.clear_status_on_shutdown:
                await self._wait(reported, LONGEST_CLEARING_SECONDS)
            else:
                await reported
        self._pool.close()
        await self._network.stop()
        self._deadlines.stop()
        self._access_log.stop()
        for port in self._admin_ports:
            await maybeDeferred(port.stopListening)

    async def _wait(self, awaited: Deferred[None], seconds: float) -> None:
        """Wait until *awaited* fires, for at most *seconds*, and not at all in a hurry."""
        if awaited.called or not self._in_no_hurry:
            awaited.addErrback(lambda failure: failure.trap(CancelledError))
            awaited.cancel()
            return
        self._waiting = awaited
        # Cancels *awaited*, which fails with Twisted's TimeoutError then.
        awaited.addTimeout(seconds, self._reactor)
        try:
            await awaited
        except (CancelledError, TimeoutError):
            return
        finally:
            self._waiting = None
