"""The composition root: builds every part from the settings; orders start, readiness, drain, stop.

Start: admin port, source, first complete content, first snapshot, and only then
the listeners.  Stop: not ready, a delay in which load balancers turn away, no
more accepting, a grace in which running exchanges end, and then everything else.
What cannot work is told to *failed* as a ``StartError`` of one line.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import chain
from socket import socket
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any, cast

from attrs import evolve
from twisted.application.service import Service
from twisted.internet.defer import CancelledError, Deferred, TimeoutError, maybeDeferred
from twisted.internet.interfaces import IListeningPort, IProtocolFactory
from twisted.internet.task import deferLater
from twisted.logger import Logger, globalLogPublisher
from twisted.python.failure import Failure

from ingress.admin.contract.page_sources import PageSources, Published, Workers
from ingress.admin.pages.live_views import shown_by
from ingress.admin.pages.readiness import is_enough, workers_missing
from ingress.admin.pages.versions import versions
from ingress.admin.port.access import Access
from ingress.admin.port.connections import AdminConnections, AdminPort
from ingress.admin.port.site import admin_site
from ingress.admin.port.tokens import TokenFile
from ingress.cluster.source import Sink, Source
from ingress.cluster.store import Store
from ingress.cluster_side import as_api_server, own_node, pod_name, pod_namespace, reporting_of
from ingress.controller import Controller
from ingress.data_plane import DataPlane, OwnDataPlane, now
from ingress.errors import StartError
from ingress.expiry import ExpiryWatch, Shown, expiries
from ingress.explain.objects import KnownObjects
from ingress.explain.served import Served
from ingress.history.change_recorder import ChangeRecorder
from ingress.history.failures import Failures
from ingress.history.rings import Rings
from ingress.live.live import Live
from ingress.metrics.metrics import Metrics
from ingress.model.network.listeners import Listener
from ingress.model.observability.changes_and_failures import ChangeSort, Mark
from ingress.model.serving.serving_settings import ServingSettings
from ingress.model.stepwise import Stepwise
from ingress.options.merging import OptionSource
from ingress.options_in_force import OptionsInForce
from ingress.process.caps.caps import caps_of_system, connections_fitting, tell_caps
from ingress.process.caps.memory_watch import own_memory
from ingress.process.lag_watch import LagWatch
from ingress.process.logs.program_log import ProgramLog
from ingress.process.one_each_turn import OneEachTurn
from ingress.process.systemd.sockets import HandedOver
from ingress.process.version import running_code, running_version
from ingress.proxy.listening.listeners import listen
from ingress.proxy.transport.connection_limit import DEFAULT_CONNECTIONS
from ingress.proxy.transport.resolving import AddressRules
from ingress.settings import Settings
from ingress.takeover.takeover import Takeover
from ingress.translate.endpoints.unready import Unready, unready_endpoints
from ingress.translate.readers.reader import RouteKind
from ingress.translate.readers.route_kinds import ROUTE_KINDS
from ingress.translate.snapshot import Snapshot
from ingress.wording import number_of

if TYPE_CHECKING:
    # For who asks for it, as below.
    from ingress.admission.own_certificate import OwnCertificate

REST_SECONDS = 5.0
"""How long connections at rest, and those to the pages, may go on with another request where another process has taken over."""

LONGEST_CLEARING_SECONDS = 120.0
"""How long the end waits for addresses to be removed from Ingresses, where that is asked for."""


class IngressService(Service):
    """The whole controller as one Twisted service.

    *source* finds the objects (``cluster_side.source_of``).  *failed* is told when the start
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
        handed_over: HandedOver | None = None,
        takeover: Takeover | None = None,
        left: Callable[[int], None] = lambda process: None,
        program_log: ProgramLog | None = None,
    ) -> None:
        """*settled* is called when all is known that there is at first, and nobody is served yet.

        *options* may say something else than *settings* while the process runs, except of what is
        *given* on the command line.  *handed_over* are the sockets that were open before the process.  *takeover* is how this
        process follows another one, and the next one this; *left* is called with the process id of the next one when that
        has taken over, for this one to stop.  *program_log* is that of whatever this service becomes a part of.
        """
        self._program_log = program_log or ProgramLog()
        self._handed_over = handed_over or HandedOver()
        self._settled = settled
        self._settings = settings
        self._reactor = reactor
        self._source = source
        self._failed = failed
        self._published = Published(Snapshot())
        self._tokens: TokenFile | None = None
        if settings.admin_token_file is not None:
            self._tokens = TokenFile(settings.admin_token_file, reactor)
            self._tokens.begin()
        self._takeover = takeover or Takeover(reactor)
        self._left = left
        self._has_left = False
        """Whether another process serves in place of this one."""
        self._admin_ports: dict[str, IListeningPort] = {}
        self._admin_connections = AdminConnections()
        self._own_certificate: OwnCertificate | None = None
        """That of the admission webhook, once that is asked."""
        self._shows = False
        self._live: Live | None = None
        """What whoever looks is told; None before the pages are shown."""
        self._caps = caps_of_system()
        self._is_listening = False
        self._have_all_served = False
        """Whether all workers did, if there are any: to be ready, one of them is enough from then on."""
        self._is_stopping = False
        self._knows_objects = True
        """Whether changes of objects still come to be known."""
        self._in_no_hurry = True
        self._waiting: Deferred[None] | None = None

        self._rings = Rings()
        self._change_recorder = ChangeRecorder(self._rings.changes, now, reactor.seconds, self._in_reactor)
        self._metrics = metrics or Metrics()
        addresses: Callable[[], Collection[str]] = tuple
        yielding = None
        api_server = as_api_server(settings, source)
        if api_server is not None:
            addresses, yielding = api_server.addresses, api_server.yielding
        slices = OneEachTurn(reactor) if api_server is None else api_server.slices
        self._options = OptionsInForce(
            settings, given, reactor, api_server, self._handed_over, options, own_node(settings)
        )
        self._data_plane: DataPlane
        if settings.workers is None:
            self._data_plane = OwnDataPlane(
                settings,
                reactor,
                self._metrics,
                self._refused,
                AddressRules(addresses),
                yielding,
                self._socket_of,
                failed=Failures(
                    self._rings.failures, reactor.seconds, now, shows_queries=settings.show_queries
                ).ended,
                slices=slices,
            )
        else:
            # A megabyte of modules, for who asks for workers.
            from ingress.workers.pool import WorkerPool

            self._data_plane = WorkerPool(
                settings,
                reactor,
                settings.workers,
                self._refused,
                addresses,
                failed,
                partial(self._options.tell_of, "workers"),
                socket_of=self._socket_of,
                metrics=self._metrics,
                failures=self._rings.failures,
            )
        self._metrics.workers.states = self._data_plane.workers
        store = self._store = Store()
        self._kinds = kinds
        self._reporting = reporting_of(settings, reactor, source, store, self._metrics, kinds)
        self._controller = Controller(
            store,
            self._options.translation(settings),
            self._publish,
            slices,
            self._metrics,
            now,
            self._reporting,
            kinds,
            serving=settings.serving,
            listen=self._follow,
            tell=self._change_recorder.tell,
            amid_change=source.is_amid_change,
        )

        self._sink: Sink = self._options.govern(self._controller, self._data_plane)

        self._expiry = ExpiryWatch(self._shown, now, reactor)
        self._metrics.certificates.expiries = lambda: expiries(self._shown())
        self._metrics.build.versions = versions()
        self._metrics.memory.cap = own_memory()
        self._metrics.shows_durations_by_service = settings.durations_by_service
        self._lag = LagWatch(reactor, self._metrics.reactor.looked)

    def setServiceParent(self, parent: Any) -> None:
        """Be a part of *parent*, whose log is begun after this."""
        self._program_log.belong_to(parent)
        super().setServiceParent(parent)

    # Start

    def _in_reactor(self, call: Callable[[], object]) -> None:
        if current_thread() is main_thread():
            call()
        else:
            self._reactor.callFromThread(call)

    def startService(self) -> None:
        self._change_recorder.follow(globalLogPublisher)
        self.log.info(
            "txingress {version} ({code}), on Python {python}, Twisted {twisted} and OpenSSL {openssl}",
            **self._metrics.build.versions,
        )
        self._takeover.prepare()
        self._data_plane.prepare()
        super().startService()
        self._reactor.callWhenRunning(self._begin)

    def _begin(self) -> None:
        Deferred.fromCoroutine(self._start()).addErrback(self._start_failed)

    async def _start(self) -> None:
        self._data_plane.start()
        self._lag.start()
        await self._takeover.begin(self)
        if bound := self._takeover.bound_to():
            # Tenants must not reach what we listen on ourselves, by whatever way it came.
            self._handed_over.learn(bound)
            self._options.apply()
        if not self._takeover.is_following:
            await self._show()
        self._options.start()
        await self._source.start(self._sink)

    async def _show(self) -> None:
        """Open the pages for operators, once."""
        if self._shows or self._is_stopping:
            return
        self._shows = True
        settings = self._settings
        pages = partial(
            admin_site,
            self._page_sources(),
            self._reactor,
            names=settings.admin_hosts,
            connections=self._admin_connections,
        )
        knows_peers = not settings.admin.startswith("haproxy:")
        access = Access(self._tokens, self._reactor, self._metrics.admin, knows_peers)
        await self._open_admin_port("--admin", settings.admin, pages(access=access))
        if settings.probes is not None:
            await self._open_admin_port("--probes", settings.probes, pages(only_probes=True))
        if settings.admission is not None:
            await self._open_admin_port("--admission", settings.admission, self._admission())

    async def _open_admin_port(self, option: str, description: str, factory: IProtocolFactory) -> None:
        """Listen on *description*; raises ``StartError`` naming *option*, for nobody may have written what is its default."""
        sock = self._open_socket(description)
        try:
            self._admin_ports[description] = await listen(
                self._reactor, description, factory, AdminPort, sock
            )
        except StartError as error:
            raise StartError(f"{option}: {error}") from error

    def _admission(self) -> IProtocolFactory:
        """Return what answers reviews of Ingresses."""
        # For who asks for it: TLS is that of other processes, where there are workers.
        from ingress.admission.key_files import KeyFiles
        from ingress.admission.own_certificate import OwnCertificate
        from ingress.admission.webhook import Judged, admission_factory

        settings = self._settings
        api_server = as_api_server(settings, self._source)
        judged = Judged(
            self._store.state,
            lambda: self._controller.options,
            now,
            (lambda kind, key, keys: True) if api_server is None else api_server.knows,
            self._kinds,
            self._source.reads,
        )
        files = KeyFiles(
            settings.admission_certificate or "",
            settings.admission_key or "",
            settings.tls_min_version,
            self._reactor,
        )
        tell = partial(self._options.tell_of, "admission")
        self._own_certificate = OwnCertificate(files, pod_namespace(), now, self._reactor, tell)
        self._own_certificate.start()
        return admission_factory(
            judged,
            lambda: self._published.number > 0 and self._knows_objects,
            files,
            self._reactor,
            self._metrics.admission,
            self._admin_connections,
        )

    def _page_sources(self) -> PageSources:
        """Return what the pages for operators are made of."""
        sources = PageSources(
            self.missing,
            lambda: self._published,
            self._metrics,
            None if self._reporting is None else self._reporting.picture,
            self._served,
            Workers(self._data_plane.workers, self._data_plane.told),
            self._data_plane.endpoints,
            self._unready,
            now,
            rings=self._rings,
            version=running_version(),
            code=running_code(),
            pod=pod_name(),
        )
        self._live = Live(shown_by(sources, self._most_connections), self._reactor)
        return evolve(sources, live=self._live)

    def _unready(self) -> Stepwise[Unready]:
        return unready_endpoints(self._current().backends, self._store.state(), self._controller.options)

    def _open_socket(self, description: str) -> socket | None:
        """Return the socket for *description* that another process had, or opened for us; None where it is to be bound."""
        return self._takeover.take(description) or self._handed_over.take(description)

    async def _socket_of(self, listener: Listener) -> socket | None:
        return self._open_socket(listener.description)

    def _start_failed(self, failure: Failure) -> None:
        self._has_left = self._has_left or self._takeover.is_following
        error = failure.value
        self._takeover.failed(error.message if isinstance(error, StartError) else failure.getErrorMessage())
        if self._is_stopping:
            self.log.info("The start broke off: {reason}", reason=failure.getErrorMessage())
        elif failure.check(StartError):
            self._failed(failure.value)  # type: ignore[arg-type]
        else:
            self.log.failure("The start failed, which is a bug", failure=failure)
            self._failed(StartError(f"the start failed: {failure.getErrorMessage()}"))

    def _publish(self, snapshot: Snapshot) -> None:
        """Make *snapshot* current."""
        self._published = Published(snapshot, self._published.number + 1, now())
        self._program_log.heed(snapshot.serving.log_level)
        self._data_plane.publish(snapshot)

    def _follow(self, listeners: Sequence[Listener]) -> None:
        """Have just these *listeners* open; the first time nobody was served before."""
        if self._is_listening or self._data_plane.is_opening:
            Deferred.fromCoroutine(self._data_plane.follow(listeners)).addErrback(self._following_failed)
        else:
            Deferred.fromCoroutine(self._listen(listeners)).addErrback(self._start_failed)

    def _following_failed(self, failure: Failure) -> None:
        self.log.failure("Opening and closing listeners failed, which is a bug", failure=failure)

    def _refused(self, refused: Mapping[Listener, str]) -> None:
        # Not now: this may be amid what the controller publishes.
        self._reactor.callLater(0, self._controller.refuse, refused)

    async def _listen(self, listeners: Sequence[Listener]) -> None:
        self._options.keep_beginning()
        self._settled()
        self._expiry.start()
        await self._data_plane.follow(listeners)
        self._is_listening = True
        self._handed_over.tell_unused()
        self.log.info(
            "Serving HTTP on {http} and HTTPS on {https}",
            http=", ".join(self._settings.http),
            https=", ".join(self._settings.https),
            change=Mark(ChangeSort.LISTENER, "opened"),
        )
        tell_caps(self._caps, self._most_connections())
        # Not before the listeners: until then another process answers there.
        await self._show()
        if not self._is_stopping:
            self._takeover.serves()

    # Takeover: from the process before this one, and by the next one

    def report(self, identity: str) -> None:
        """Report to the cluster, under the name *identity* if one is given: no other process does under that."""
        if self._reporting is not None and not self._is_stopping:
            self._reporting.start(identity)

    def show(self) -> None:
        """Open the pages for operators, since the process before this one is gone."""
        Deferred.fromCoroutine(self._show()).addErrback(self._start_failed)

    def fail(self, error: StartError) -> None:
        """End: the process before this one serves on."""
        self._has_left = True
        self._failed(error)

    @property
    def identity(self) -> str:
        """The name by which this process is a candidate; empty where there is no election."""
        return "" if self._reporting is None else self._reporting.identity

    def why_not(self) -> str:
        """Say why another process cannot take over now; empty if it can."""
        if self._is_stopping:
            return "it is stopping"
        if not self._is_listening or self._takeover.is_following:
            return "it does not serve yet"
        return ""

    def sockets(self) -> Mapping[str, int]:
        """Return the descriptors of all sockets that listen, by the descriptions of their listeners."""
        pages = {description: cast(Any, port).fileno() for description, port in self._admin_ports.items()}
        return {**self._data_plane.sockets(), **pages}

    async def hold(self) -> None:
        """Report nothing more; returns when nothing of it is under way."""
        if self._reporting is not None:
            await self._reporting.hold()

    def go_on(self) -> None:
        """Report again."""
        if self._reporting is not None:
            self._reporting.go_on()

    def renew(self) -> str:
        """Have the processes that serve below this one followed by new ones; say why not, if that cannot be."""
        return self._data_plane.renew(REST_SECONDS, self._serving().shutdown_grace_seconds)

    def leave(self, process: int) -> None:
        """Accept no more, let connections end, and end: *process* has taken over."""
        self._has_left = True
        if self._reporting is not None:
            self._reporting.leave()
        self._takeover.left()
        self._left(process)

    # What the admin port shows

    def missing(self) -> tuple[str, ...]:
        """Say what keeps the controller from being ready; empty when it is, be it in another process that has taken over."""
        if self._has_left:
            return ()
        if self._is_stopping:
            return ("stopping",)
        missing = self._source.missing()
        if not self._is_listening:
            missing = (*missing, "listeners not open")
        workers = self._data_plane.workers()
        if not is_enough(workers, self._have_all_served):
            return (*missing, *workers_missing(workers))
        self._have_all_served |= self._is_listening
        return missing

    def serving_in_words(self) -> str:
        """Say what is served, in one line."""
        snapshot = self._current()
        return (
            f"serves {number_of(snapshot.route_count, 'route')} of {number_of(snapshot.host_count, 'host')}"
        )

    def _current(self) -> Snapshot:
        return self._published.snapshot

    def _shown(self) -> Shown:
        own = self._own_certificate
        return chain(self._current().shown(), () if own is None else own.shown())

    def _most_connections(self) -> int:
        """Return how many connections of clients there may be, those of all workers together."""
        asked = self._serving().limits.max_connections
        if asked is not None:
            return asked
        # Each worker has as many as one process, as far as the memory suffices for all.
        workers = max(1, len(self._data_plane.workers()))
        return workers * connections_fitting(self._caps.divided_by(workers), DEFAULT_CONNECTIONS)

    def _serving(self) -> ServingSettings:
        """Return the options in force that may change while the process runs."""
        published = self._published
        return published.snapshot.serving if published.number else self._settings.serving

    def _served(self) -> Served:
        objects = KnownObjects(self._store.state(), self._controller.options, kinds=self._kinds)
        return Served(self._current(), now(), self._settings.filters, objects)

    # Stop

    def stopService(self) -> Deferred[None]:
        super().stopService()
        return Deferred.fromCoroutine(self._stop())

    def reopen_files(self) -> None:
        """Open the access log anew: somebody moved its file away."""
        self._data_plane.reopen_files()

    def hurry(self) -> None:
        """Wait for nothing any more: a second request to stop."""
        self._in_no_hurry = False
        if self._waiting is not None:
            self._waiting.cancel()

    async def _stop(self) -> None:
        self._is_stopping = True
        if self._live is not None:
            self._live.end("the process is stopping")
        self._data_plane.begin_draining()
        if self._takeover.stop() and self._reporting is not None:
            # A process that was about to take over reports by our name.
            self._reporting.leave()
        # Another replica is to report while this one drains.
        reported = None if self._reporting is None else self._reporting.stop()
        patience = 0.0
        asked: Deferred[None] | None = None
        if self._has_left:
            patience = REST_SECONDS
            await self._hide()
            # The ports stay open for others: who came to this process before has an answer, too.
            asked = self._admin_connections.drain()
        elif self._is_listening:
            delay = self._serving().shutdown_delay_seconds
            self.log.info(
                "Stopping: {still}what is under way has at most {grace:g} s to end; a second signal ends all at once",
                still=f"new requests are served for {delay:g} s more, then " if delay else "",
                grace=self._serving().shutdown_grace_seconds,
            )
            await self._wait(deferLater(self._reactor, delay, lambda: None), delay)
        await self._data_plane.close()
        await self._wait(self._data_plane.drain(patience), self._serving().shutdown_grace_seconds)
        self._data_plane.abort()
        self._expiry.stop()
        if self._own_certificate is not None:
            self._own_certificate.stop()
        self._lag.stop()
        self._knows_objects = False
        self._controller.stop()
        await self._source.stop()
        self._options.stop()
        if reported is not None:
            if self._settings.reporting.clear_status_on_shutdown:
                await self._wait(reported, LONGEST_CLEARING_SECONDS)
            else:
                await reported
        await self._data_plane.stop()
        await self._hide()
        if asked is not None:
            await self._wait(asked, REST_SECONDS)
        self._change_recorder.leave(globalLogPublisher)

    async def _hide(self) -> None:
        """Accept no more on the ports for operators."""
        while self._admin_ports:
            _, port = self._admin_ports.popitem()
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
