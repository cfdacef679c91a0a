"""The API server as a source of objects: one reflector thread for each kind and namespace.

The reactor thread only starts and stops threads here.  Loading the configuration may read
files and run a plugin, so it has a thread too, as has waiting for the threads to end.

Secrets and ConfigMaps come last: which of them are needed is known when all Ingresses and classes are, and
no others are kept (``ingress.cluster.secrets.needed_secrets``).  Secrets are watched, unless the operator does
without; ConfigMaps are read by name, but for the one that the operator wants followed.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from random import random as random_number
from threading import Thread
from time import monotonic
from typing import Any

from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.cluster.api.api_client import ApiAccess, ApiConnection
from ingress.cluster.api.backoff import Backoff
from ingress.cluster.api.credentials import CredentialSource
from ingress.cluster.api.outage import Outage
from ingress.cluster.api.server_addresses import addresses_of, port_of
from ingress.cluster.delta_queue import DeltaQueue
from ingress.cluster.kinds import CONFIG_MAPS, KINDS, NODES, REFERRED_TO, SECRETS, SERVICES, ObjectKinds
from ingress.cluster.secrets.needed_secrets import ReferencedObjects
from ingress.cluster.secrets.secret_reader import CONFIG_MAP_REFRESH_SECONDS, REFRESH_SECONDS, ObjectReader
from ingress.cluster.secrets.secret_references import ObjectReferences
from ingress.cluster.secrets.secret_rights import rights_awaited
from ingress.cluster.secrets.watched_secrets import WatchedObjects
from ingress.cluster.selected_namespaces import SelectedNamespaces, is_read
from ingress.cluster.source import Sink
from ingress.cluster.watching.defined_kinds import DefinedKinds, Discovery
from ingress.cluster.watching.on_demand import OnDemandSink, OnDemandWatch, Scope
from ingress.cluster.watching.reflector import Receiver, Reflector, reflector_name, scope_name
from ingress.metrics.series.watch import WatchMetrics
from ingress.model.cluster.label_selectors import LabelSelector
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.process.one_each_turn import OneEachTurn
from ingress.process.yielding import YieldToTraffic
from ingress.translate.annotation_reading import needs_of_options
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.kinds import VERSION
from ingress.translate.readers.gateway.objects.names import DEFINITION
from ingress.translate.readers.reader import KindRead

log = Logger()

_STOP_SECONDS = 1.0


class ApiServerSource:
    """Reads all *kinds* from one API server, in all *namespaces* when none are given.

    IngressClasses belong to no namespace, and are asked for in the whole cluster in any case.
    With *namespace_selector*, *kinds* have Namespaces, and of route objects those are handed on that are where it is met.
    *options* decide which route objects are ours, and so which Secrets are needed.
    *watch_secrets* says how these are read: by a watch of what *secret_selector* (a field
    selector, empty for all) shows, or each by its name.  *single_service* is read wherever it
    is, and so is each of *single_config_maps*, by a watch of its own, whoever refers to it, and the Node *single_node*.  *reactor* has ``callFromThread`` and
    ``callLater``, *clock* returns monotonic seconds, *random* a number in [0, 1).  The timeouts
    are those of ``ingress.cluster.api.api_client.ApiAccess``, *backoff_seconds* is the wait after a
    first error, *refresh_seconds* and *config_map_refresh_seconds* those of ``ingress.cluster.secrets.secret_reader``.
    """

    def __init__(
        self,
        reactor: Any,
        *,
        kubeconfig: str | None,
        context: str | None,
        server: str | None,
        namespaces: tuple[str, ...],
        options: TranslateOptions,
        namespace_selector: LabelSelector | None = None,
        watch_secrets: bool = True,
        secret_selector: str = SECRETS.field_selector,
        single_service: ObjectKey | None = None,
        single_config_maps: Collection[ObjectKey] = (),
        single_node: str = "",
        metrics: WatchMetrics | None = None,
        kinds: ObjectKinds = KINDS,
        environ: Mapping[str, str] = os.environ,
        connect_seconds: float = 5.0,
        read_seconds: float = 75.0,
        backoff_seconds: float = 0.8,
        refresh_seconds: float = REFRESH_SECONDS,
        config_map_refresh_seconds: float = CONFIG_MAP_REFRESH_SECONDS,
        clock: Callable[[], float] = monotonic,
        random: Callable[[], float] = random_number,
    ) -> None:
        self._reactor = reactor
        self._access = ApiAccess(
            CredentialSource(kubeconfig, context, server, environ, clock=clock),
            connect_seconds=connect_seconds,
            read_seconds=read_seconds,
            clock=clock,
        )
        self._scopes: list[Scope] = []
        for read in kinds.values():
            # What needs a definition is asked for as soon as that is there.
            if read not in REFERRED_TO and not read.definition:
                self._scopes += [(read, namespace) for namespace in read.scopes(namespaces)]
        if single_service is not None and namespaces and single_service.namespace not in namespaces:
            self._scopes.append(_single(SERVICES, single_service))
        self._config_maps = tuple(single_config_maps)
        self._scopes += [_single(CONFIG_MAPS, key) for key in self._config_maps]
        if single_node:
            self._scopes.append(_single(NODES, ObjectKey("", single_node)))
        secrets = evolve(SECRETS, field_selector=secret_selector)
        self._secret_scopes: list[Scope] = []
        if watch_secrets:
            self._secret_scopes += [(secrets, namespace) for namespace in secrets.scopes(namespaces)]
        self._namespaces = namespaces
        self._namespace_selector = namespace_selector
        self._selected: SelectedNamespaces | None = None
        self._options = options
        self._needs_of_operator = needs_of_options(options)
        self._kinds = kinds
        self._metrics = metrics or WatchMetrics()
        self._backoff_seconds = backoff_seconds
        self._refresh_seconds = {
            Kind.SECRET: refresh_seconds,
            Kind.CONFIG_MAP: config_map_refresh_seconds,
        }
        self._clock = clock
        self._random = random
        self._news = Backoff(clock, random, first_seconds=backoff_seconds)
        self._next_news_at = 0.0
        self.outage = Outage(clock)
        """What all who ask this API server say together when it is away."""
        self.yielding = YieldToTraffic()
        """What the threads hold while they decode."""
        self.slices = OneEachTurn(reactor)
        """Who has a slice next of what changes of objects bring about: taking them over, and all that follows."""
        self._watched = {read.kind: WatchedObjects() for read in REFERRED_TO}
        self._delta_queue: DeltaQueue | None = None
        # What is referred to, each kind in front of the next; and what reads it by name.
        self._referenced: tuple[ReferencedObjects, ...] = ()
        self._readers: list[ObjectReader] = []
        self._reflectors: dict[str, Reflector] = {}
        self._withdrawn: dict[str, Reflector] = {}
        self._on_demand: list[OnDemandWatch] = []
        self._addresses: frozenset[str] = frozenset()
        self._port = 0
        self._secrets_have_begun = False
        self._is_stopping = False

    def start(self, sink: Sink) -> Deferred[None]:
        """Load the configuration and begin to read.  Fails with ``StartError``.

        When ``stop`` comes before the configuration is loaded, it fires with None all the same.
        """
        started: Deferred[None] = Deferred()
        config_maps = self._make_referenced(sink, CONFIG_MAPS)
        secrets = self._make_referenced(config_maps, SECRETS, counts=self._metrics.handed_over)
        self._referenced = secrets, config_maps
        chosen: Sink = secrets
        if self._namespace_selector is not None:
            chosen = self._selected = SelectedNamespaces(
                secrets,
                self._namespace_selector,
                self._kinds.selected,
                self._reactor,
            )
        self._delta_queue = DeltaQueue(
            self._reactor.callFromThread,
            DefinedKinds(
                chosen,
                (read for read in self._kinds.values() if read.definition),
                self._kind_came,
                self._kind_went,
            ),
            (reflector_name(*scope) for scope in (*self._scopes, *self._secret_scopes)),
            self._progressed,
            soon=lambda deliver: self.slices.callLater(0, deliver),
        )
        Thread(target=self._load, args=(started,), name="ingress credentials", daemon=True).start()
        return started

    def stop(self) -> Deferred[None]:
        """Stop the threads; fires when they ended, or after a second without those that did not.

        They are daemon threads: one that is still connecting does not keep the process.
        """
        stopped: Deferred[None] = Deferred()
        self._is_stopping = True
        if self._delta_queue is not None:
            self._delta_queue.stop()
        if self._selected is not None:
            self._selected.stop()
        for referenced in self._referenced:
            referenced.stop()
        for reader in self._readers:
            reader.stop()
        for reflector in (*self._reflectors.values(), *self._withdrawn.values()):
            reflector.stop()
        for watch in self._on_demand:
            watch.stop()
        Thread(target=self._join, args=(stopped,), name="ingress stop", daemon=True).start()
        return stopped

    def refer(self, options: TranslateOptions) -> None:
        """Learn that the operator refers to other Secrets and ConfigMaps now.  Nothing else of *options* is looked at."""
        for referenced in self._referenced:
            referenced.refer(options)

    def knows(self, kind: Kind, key: ObjectKey, keys: frozenset[str]) -> bool:
        """Whether the sink has what there is under *keys* of a Secret or ConfigMap, be it nothing."""
        return any(one.kind is kind and one.knows(key, keys) for one in self._referenced)

    def addresses(self) -> frozenset[str]:
        """The IP addresses of the API server, as far as they are known."""
        return self._addresses

    def endpoints(self) -> frozenset[tuple[str, int]]:
        """The IP addresses and the port of the API server, as far as they are known."""
        return frozenset((address, self._port) for address in self._addresses)

    @property
    def namespace(self) -> str:
        """The namespace that we are in, once started."""
        return self._access.namespace

    def connection(self) -> ApiConnection:
        """Make a connection to the same API server with the same credentials, once started."""
        return ApiConnection(self._access)

    def rouse(self) -> None:
        """Let all reflectors try again that wait for the API server, since it answers.  Any thread.

        An answer may begin well and come to nothing, time and again: then that is news ever more rarely.
        """
        now = self._clock()
        if now < self._next_news_at:
            return
        self._next_news_at = now + self._news.failed()
        others = (reflector for watch in tuple(self._on_demand) for reflector in watch.reflectors)
        for reflector in (*self._reflectors.values(), *others):
            reflector.rouse()

    def watch_on_demand(self, scopes: Sequence[Scope], sink: OnDemandSink) -> Callable[[], None]:
        """Watch *scopes* for *sink* alone, once started; return what ends that.  Reactor thread.

        The sink of the source gets nothing of it but the problem that the API server refuses the watch, and does not wait for it.
        Where the source was stopped, nothing is watched.
        """
        if self._is_stopping:
            return lambda: None
        assert self._delta_queue is not None, "start() comes first"

        def make(read: KindRead, namespace: str, receiver: Receiver) -> Reflector:
            before = self._withdrawn.pop(reflector_name(read, namespace), None)
            return self._reflector(read, namespace, receiver, before)

        watch = OnDemandWatch(self._reactor.callFromThread, scopes, sink, make, self._delta_queue.put)
        self._on_demand.append(watch)

        def stop() -> None:
            if watch in self._on_demand:
                self._on_demand.remove(watch)
                watch.stop()
                for reflector in watch.reflectors:
                    self._withdrawn[reflector.name] = reflector
                    self._metrics.over(reflector.counts)

        return stop

    def reads(self, namespace: str) -> bool:
        """Whether objects of *namespace* are handed over, as far as is known."""
        return is_read(namespace, self._namespaces, self._selected)

    def is_amid_change(self) -> bool:
        """Whether objects of a namespace are still to come, or to go, whose labels changed."""
        return self._selected is not None and self._selected.is_turning

    def missing(self) -> tuple[str, ...]:
        """What the first sync waits for: lists, and Secrets, each with what is wrong, if anything."""
        if self._delta_queue is None:
            return tuple(reflector_name(*scope) for scope in (*self._scopes, *self._secret_scopes))
        lists = []
        for name in self._delta_queue.missing():
            reflector = self._reflectors.get(name)
            trouble = reflector.trouble if reflector is not None else ""
            lists.append(f"{name}: {trouble}" if trouble else name)
        return (*lists, *(one for some in self._referenced for one in some.missing()))

    def _load(self, started: Deferred[None]) -> None:
        """Thread: load the configuration, and let the reactor go on."""
        try:
            url = self._access.load()
        except Exception:
            # StartError, or a bug; either way the one who waits must learn of it.
            self._reactor.callFromThread(started.errback, Failure())
        else:
            self._reactor.callFromThread(self._begin, started)
            # Nobody waits for this: the objects that it is needed for come later.
            self._port = port_of(url)
            self._addresses = addresses_of(url)

    def _begin(self, started: Deferred[None]) -> None:
        if not self._is_stopping:
            self._reflect(self._scopes)
        started.callback(None)

    def _progressed(self) -> None:
        """See whether it is the turn of what is referred to: when all that decides about it is known."""
        assert self._delta_queue is not None
        secrets, config_maps = self._referenced
        if self._secrets_have_begun:
            # A list of Secrets that was refused may have come.
            secrets.read_changed()
            return
        missing = self._delta_queue.missing()
        deciding = [scope for scope in self._scopes if scope[0].kind in self._kinds.deciding]
        if any(reflector_name(*scope) in missing for scope in deciding):
            return
        self._secrets_have_begun = True
        config_maps.begin(list_follows=False)
        secrets.begin(list_follows=bool(self._secret_scopes), judged=self._list_secrets)

    def _list_secrets(self) -> None:
        """Have Secrets listed, since it is known which of them are needed."""
        self._reflect(self._secret_scopes)

    def _kind_came(self, read: KindRead) -> None:
        """Ask for a kind whose definition is there, at once, whether or not it was before."""
        if self._is_stopping:
            return
        assert self._delta_queue is not None
        scopes = self._scopes_of(read)
        names = [reflector_name(*scope) for scope in scopes]
        if names[0] in self._reflectors:
            for name in names:
                self._reflectors[name].rouse()
            return
        self._delta_queue.expect(names)
        self._scopes += scopes
        self._reflect(scopes)

    def _kind_went(self, read: KindRead) -> None:
        """Ask no more for a kind whose definition is gone, and have all of its objects be gone, too."""
        for scope in self._scopes_of(read):
            name = reflector_name(*scope)
            self._scopes.remove(scope)
            self._withdrawn[name] = reflector = self._reflectors.pop(name)
            reflector.withdraw()
            self._metrics.over(reflector.counts)

    def _scopes_of(self, read: KindRead) -> list[Scope]:
        return [(read, namespace) for namespace in read.scopes(self._namespaces)]

    def _reflect(self, scopes: list[Scope]) -> None:
        assert self._delta_queue is not None
        for read, namespace in scopes:
            name = reflector_name(read, namespace)
            self._reflectors[name] = self._reflector(
                read, namespace, self._delta_queue, self._withdrawn.pop(name, None)
            )
            self._reflectors[name].start()

    def _reflector(
        self, read: KindRead, namespace: str, receiver: Receiver, after: Reflector | None
    ) -> Reflector:
        connection = ApiConnection(self._access)
        discovery = Discovery(connection, VERSION, receiver.put)
        return Reflector(
            read,
            namespace,
            connection,
            receiver,
            self._options.annotations_prefix,
            decoding=self.yielding,
            clock=self._clock,
            random=self._random,
            backoff_seconds=self._backoff_seconds,
            selection=self._watched.get(read.kind),
            counts=self._metrics.reflector(read.kind, scope_name(read, namespace), self._clock),
            regained=self.rouse,
            outage=self.outage,
            # With Roles alone nobody may read what belongs to no namespace.
            is_dispensable=bool(self._namespaces) and not read.namespaced and read.kind is not Kind.NODE,
            instead=discovery.look if read.kind is DEFINITION else lambda: True,
            after=after,
        )

    def _make_referenced(
        self, sink: Sink, read: KindRead, counts: Callable[[int], None] | None = None
    ) -> ReferencedObjects:
        """Make what keeps the objects of the kind of *read* that are referred to, in front of *sink*."""
        is_secret, watched = read is SECRETS, self._watched[read.kind]
        always = () if is_secret else self._config_maps
        references = ObjectReferences(self._options, self._kinds.routes, read.kind, always)
        referenced = ReferencedObjects(
            sink,
            references,
            watched,
            self._metrics,
            soon=lambda judge: self._reactor.callLater(0, judge),
            counts=counts,
        )
        reader = ObjectReader(
            self._reactor,
            lambda: ApiConnection(self._access),
            read,
            watched,
            deliver=referenced.deliver,
            changed=referenced.read_changed,
            decoding=self.yielding,
            clock=self._clock,
            random=self._random,
            backoff_seconds=self._backoff_seconds,
            refresh_seconds=self._refresh_seconds[read.kind],
            metrics=self._metrics,
            outage=self.outage,
        )
        referenced.attach(reader, self._rights_awaited if is_secret else self._config_map_awaited)
        self._readers.append(reader)
        return referenced

    def _rights_awaited(self, needed: Iterable[ObjectKey], forbidden: Set[ObjectKey]) -> tuple[str, ...]:
        assert self._delta_queue is not None
        refused = {
            namespace
            for read, namespace in self._secret_scopes
            if self._delta_queue.is_refused(reflector_name(read, namespace))
        }
        return rights_awaited(
            needed,
            forbidden,
            operators=self._needs_of_operator,
            namespaces=self._namespaces,
            refused_lists=refused if self._secret_scopes else None,
        )

    def _config_map_awaited(self, needed: Iterable[ObjectKey], forbidden: Set[ObjectKey]) -> tuple[str, ...]:
        """Without the operator's ConfigMap a guard may be missing; without any other, fields are, and nobody waits for these."""
        return tuple(
            f"ConfigMap: no right to get configmaps in namespace {key.namespace}: {key.name}"
            for key in self._config_maps
            if key in forbidden
        )

    def _join(self, stopped: Deferred[None]) -> None:
        """Thread: wait for the reflectors."""
        deadline = monotonic() + _STOP_SECONDS
        others = (reflector for watch in self._on_demand for reflector in watch.reflectors)
        late = [
            reflector.name
            for reflector in (*self._reflectors.values(), *self._withdrawn.values(), *others)
            if not reflector.join(max(0.0, deadline - monotonic()))
        ]
        for reader in self._readers:
            if not reader.join(max(0.0, deadline - monotonic())):
                late.append(f"single {reader.kind}s")
        if late:
            log.info("not waiting for the threads of {names}", names=", ".join(late))
        self._reactor.callFromThread(stopped.callback, None)


def _single(read: KindRead, key: ObjectKey) -> Scope:
    """Return the scope of one object, which is watched wherever it is."""
    return evolve(read, field_selector=f"metadata.name={key.name}", optional=True), key.namespace
