"""Translation that takes only the steps which a change concerns.

``Translation`` remembers what ``translate`` works out on its way: what each Ingress asks
for, which Ingresses have a say about which host, which Service and Secret is named by
whom.  It is told which objects changed, and brings its snapshot up to date in a *round*
of small steps, between which the reactor may do other things.  The steps are the same
pure functions that ``translate`` calls; the result of a round is what ``translate`` makes
of the same state, and ``ingress.translate.self_check`` says whether that is so.

What a change concerns:

- an Ingress: its own reading, every host that it named before or names now, the
  certificates of its hosts, the backends that its routes name;
- an IngressClass: every Ingress is judged anew, and those whose verdict is another are read;
- a Service: the problems of the Ingresses that name it, and the backends of its ports;
- a Secret: the Ingresses that name it, the backends that it lets us speak TLS to, and the hosts it is brought for; a ConfigMap: the
  Ingresses that name it, and their hosts where anything that they need of it is another.  A host that
  begins or ceases to be secure has its routes made anew, since they may redirect;
- a Secret or ConfigMap that listeners of Gateways name: the handshakes of these, and no host;
- the owner of a host: its TLS, and the TLS of hosts without rule below it, if it is a wildcard;
- time: the Ingresses whose certificates begin or cease to be valid (``seconds_to_next`` says when);
- an EndpointSlice: the backends of its Service, and no host (``refresh``, outside of rounds, some backends at a time).

What objects ask for is read once, and backends are found once; the hosts of each table are decided about
by a ``TableCache`` of its own.  Listeners are chosen anew where an object asks for others than before.

What is published, and when.  A round takes the changes that were marked when it began, and
works on the next version of table, backends and certificates; the snapshot in force is not
touched.  The last step makes the next version the snapshot, in one assignment.  So a snapshot
has each Ingress entirely as it was or entirely as it is, on all of its hosts, however
many slices of time a round took.  What is marked while a round goes on waits for the next
one; so a round ends even if changes never do.  A step may see a Service or Secret that is
newer than the round; the mark of that change makes the next round look again.  Nothing
promises an order between objects anyway.

An exception leaves the caches in an unknown state: the snapshot in force stays good, and
whoever runs the round has to begin anew with another ``Translation``.
"""

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final

from attrs import evolve

from ingress.identity.certificates import Certificate
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey, Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.network.listeners import MAIN
from ingress.model.serving.serving_settings import ServingSettings
from ingress.model.stepwise import Stepwise, let_go
from ingress.translate.annotation_reading import annotation_reader
from ingress.translate.caches.backend_cache import BackendCache
from ingress.translate.caches.bookkeeping import ProblemIndex
from ingress.translate.caches.client_cache import ClientAuthenticationCache
from ingress.translate.caches.reference_cache import OPERATOR, ReferenceCache
from ingress.translate.caches.route_counts import RouteCounts
from ingress.translate.caches.table_cache import TableCache
from ingress.translate.claims import ParsedObject
from ingress.translate.endpoints.backends import default_backend_problems, service_key
from ingress.translate.gateway.attached_routes import NONE_REJECTED, AttachedCounts
from ingress.translate.gateway.claims import is_of_gateways
from ingress.translate.gateway.handshake_cache import HandshakeCache
from ingress.translate.gateway.side_by_side import SideBySideProblems
from ingress.translate.gateway.table_cache import GatewayTableCache
from ingress.translate.hosts.routes import forget_filters
from ingress.translate.listeners import NONE_REFUSED, Refused, choose_listeners
from ingress.translate.named_backends import NamedBackends
from ingress.translate.options import TranslateOptions
from ingress.translate.port_services import parse_port_services
from ingress.translate.readers.gateway.topology.ports import tables_beside
from ingress.translate.readers.reader import Readers, RouteKind
from ingress.translate.readers.route_kinds import ROUTE_KINDS
from ingress.translate.replicas import Replicas, replica_problems
from ingress.translate.snapshot import NO_TABLES, ProblemList, Snapshot

_AT_ONCE: Final = 1000
"""Objects that are noted in one step."""


class Translation:
    """A snapshot that follows the cluster state.

    *snapshot* is the result of the last round, None before the first; *certificates* counts the different ones in it.
    """

    def __init__(self, options: TranslateOptions, kinds: Iterable[RouteKind] = ROUTE_KINDS) -> None:
        self._options = options
        self._serving = ServingSettings()
        self._annotations = annotation_reader(options)
        self._readers = Readers(kinds, options)
        self.snapshot: Snapshot | None = None
        self.certificates = 0

        self._marked: dict[ObjectId, None] = {}
        self._parsed: dict[ObjectId, ParsedObject] = {}
        self._served: Counter[Kind] = Counter()
        self._counts = RouteCounts()
        self._shown: Counter[Certificate] = Counter()

        self._problem_index = ProblemIndex()
        self._problems = ProblemList(self._problem_index.by_source())
        self._backends = BackendCache(options, self._problem_index)
        self._named = NamedBackends(
            options, self._annotations, self._parsed, self._backends, self._problem_index
        )
        self._clients = ClientAuthenticationCache(self._annotations, self._problem_index)
        self._references = ReferenceCache(self._annotations, self._problem_index)
        self._handshakes = HandshakeCache(options, self._problem_index, self._shown)
        self._tables: dict[str, TableCache | GatewayTableCache] = {}
        self._attached = AttachedCounts()
        # How many objects ask for something in each of the other tables, and which ask for listeners.
        self._members: Counter[str] = Counter()
        self._asking: dict[ObjectId, ParsedObject] = {}
        self._listeners = options.listeners
        self._listeners_are_stale = True
        self._refused = NONE_REFUSED
        self._beside_names = tables_beside(options.listeners)
        self._beside = SideBySideProblems(self._problem_index)
        self._table_of(MAIN)

        self._stale_objects: dict[ObjectId, None] = {}
        # Kinds of which all objects are to be judged again.
        self._stale_kinds: dict[Kind, None] = {}
        self._default_is_stale = True
        self._replicas = Replicas()
        self._replicas_changed = False

    def let_go(self) -> Iterator[None]:
        """Free in steps what is remembered of objects, once another translation is in force."""
        parsed = [*self._parsed.values()]
        self._parsed.clear()
        return let_go(parsed)

    # What changed

    def mark(self, changed: Iterable[ObjectId]) -> None:
        """Note that these objects are different, for the next round.

        Of an EndpointSlice that is its problems; its endpoints are a matter of ``refresh``.
        """
        self._marked.update(dict.fromkeys(changed))

    def configure(self, serving: ServingSettings, problems: tuple[Problem, ...]) -> None:
        """Have the proxy go by *serving* from the next round on; *problems* are those of all options."""
        if serving != self._serving:
            self._serving = serving
        self._problem_index.put("options", problems)

    def refuse(self, refused: Refused) -> None:
        """Note which listeners cannot be opened, for the next round."""
        if refused != self._refused:
            self._refused = refused
            self._listeners_are_stale = True

    def mark_everything(self, state: ClusterState) -> None:
        """Note that everything in *state* is new: for the first round."""
        self._stale_kinds.update((kind, None) for kind, _ in self._readers)
        self._marked.update(dict.fromkeys(state.problems_of))
        self._mark_port_services()

    def follow(self, options: TranslateOptions) -> None:
        """Go by *options* from the next round on, of which nothing but the port services is different."""
        self._mark_port_services()
        self._options = options
        self._mark_port_services()

    def _mark_port_services(self) -> None:
        for services in self._options.port_services:
            self._stale_objects[services.owner.id] = None

    def endpoints_changed(self, services: Collection[ObjectKey]) -> None:
        """Note that the endpoints of *services* are others; ``refresh`` finds them, as often as ``awaits_endpoints``."""
        self._backends.endpoints_changed(services)
        self._replicas_changed |= self._options.own_service in services

    @property
    def awaits_endpoints(self) -> bool:
        """Whether there are endpoints for ``refresh`` to find."""
        return self._replicas_changed or self._backends.has_waiting

    @property
    def takes_more_endpoints(self) -> bool:
        """Whether ``endpoints_changed`` may be told of more, since nothing waits but endpoints of which there are very many."""
        return self._backends.takes_more

    def refresh(self, state: ClusterState) -> int:
        """Put the present endpoints of some backends into the snapshot; return how much of it they change."""
        changed = self._backends.refresh(state)
        if self._replicas_changed:
            self._replicas_changed = False
            changed += self._replicas.find(state, self._options)
        if changed and self.snapshot is not None:
            self.snapshot = evolve(
                self.snapshot,
                backends=self._backends.current,
                replicas=self._replicas.count,
                replica_addresses=self._replicas.addresses,
            )
        return changed

    @property
    def is_marked(self) -> bool:
        """Whether anything was marked, or found with endpoints, that no round has taken."""
        return bool(self._marked) or self._backends.needs_round

    def seconds_to_next(self, now: datetime) -> float | None:
        """Return in how many seconds time alone makes the snapshot another one: 0 if it has, None for never.

        It is infinite where only a clock that is set back does so.
        """
        moments = [table.seconds_to_next(now) for table in self._tables.values()]
        moments.append(self._handshakes.seconds_to_next(now))
        return min((seconds for seconds in moments if seconds is not None), default=None)

    @property
    def owners(self) -> Container[ObjectKey]:
        """The objects with a route in the snapshot."""
        return self._counts.owners

    @property
    def backend_services(self) -> Container[ObjectKey]:
        """The Services that a route of the snapshot leads to."""
        return self._backends.services

    @property
    def served(self) -> Mapping[Kind, int]:
        """How many objects are ours, by kind."""
        return self._served

    def reasons(self) -> dict[Reason, int]:
        """Return how many different problems there are, by reason."""
        return self._problem_index.by_reason()

    def route_news(self) -> tuple[int, int, int]:
        """Return how many routes came, went, and changed in place since this was last asked."""
        return self._counts.news()

    def problem_news(self) -> Stepwise[tuple[list[Problem], list[Problem]]]:
        """Return the problems that came and those that went since this was last asked, each sorted."""
        return self._problem_index.news()

    def status_news(self) -> Collection[ObjectId]:
        """Return what of the statuses to be written may be another since this was last asked: see ``AttachedCounts.news``."""
        return self._attached.news()

    def gateways_of(self, service: ObjectKey) -> Collection[Owner]:
        """Return the Gateways from which routes lead to *service*, oldest first."""
        return self._attached.gateways_of(service)

    # A round

    def round(self, state: ClusterState, now: datetime) -> Iterator[None]:
        """Take the steps that what was marked asks for; when they end, *snapshot* is up to date.

        *state* is the one of the store, which may go on changing between steps.  Rounds do
        not overlap.
        """
        marked, self._marked = self._marked, {}
        while marked:
            object_id, _ = marked.popitem()
            self._take_mark(object_id, state)
            yield
        while self._stale_kinds:
            kind, _ = self._stale_kinds.popitem()
            yield from self._judge_again(kind, state)
            yield
        try:
            yield from self._readers.prepare(state)
            while self._stale_objects:
                object_id, _ = self._stale_objects.popitem()
                yield from self._read(object_id, state)
                yield
                if object_id in self._parsed:
                    yield from self._parsed[object_id].read_expressions()
        finally:
            state.derived.release()
        for changed in self._clients.read(self._parsed, state):
            if changed in self._parsed:
                self._tell_tables(self._parsed[changed])
            yield
        for changed in self._references.read(self._parsed, state):
            if changed is not None:
                forget_filters()
            if changed == OPERATOR:
                for table in self._tables.values():
                    table.all_concerned()
            elif changed in self._parsed:
                self._tell_tables(self._parsed[changed])
            yield
        yield from self._handshakes.round(state, now)
        yield from self._choose_listeners()
        for name, table in list(self._tables.items()):
            yield from table.round(state, now)
            if isinstance(table, GatewayTableCache):
                yield from self._attached.rejected(name, table.conflicts.rejected)
            if not self._is_wanted(name):
                yield from table.clear(state)
                yield from self._attached.rejected(name, NONE_REJECTED)
                del self._tables[name]
                del self._members[name]
            else:
                # Of hundreds of tables, one a step; and what is put together for the main one is a step by itself.
                table.finish()
                yield
        yield from self._look_beside()
        yield from self._named.round(state)
        if self._default_is_stale:
            self._default_is_stale = False
            self._problem_index.put("default backend", default_backend_problems(state, self._options))
        yield from self._backends.resolve(state)
        self._replicas.find(state, self._options)
        self._problem_index.put("replicas", replica_problems(state, self._options))
        self._finish()

    def _finish(self) -> None:
        # A dictionary that was emptied keeps the room that it had.
        self._stale_objects = {}
        before = self.snapshot
        main, *others = [(name, table.finish()) for name, table in self._tables.items()]
        by_source = self._problem_index.by_source()
        self._backends.finish()
        if self._problems.by_source is not by_source:
            self._problems = ProblemList(by_source)
        self._counts.finish()
        default = main[1].certificates.default
        self.certificates = len(self._shown) + (default is not None and default not in self._shown)
        known = NO_TABLES if before is None else before.others
        after = Snapshot(
            main[1].routes,
            self._backends.current,
            main[1].certificates,
            main[1].handshake_settings,
            self._problems,
            self._serving,
            self._listeners,
            known if list(known.items()) == others else dict(others),
            self._replicas.count,
            self._attached.finished(),
            self._replicas.addresses,
        )
        if before is None or not after.shares_all(before):
            self.snapshot = after

    # Tables and listeners

    def _table_of(self, name: str) -> TableCache | GatewayTableCache:
        """Return the table *name*, which begins to be where it is first asked for."""
        table = self._tables.get(name)
        if table is None and is_of_gateways(name):
            table = self._tables[name] = GatewayTableCache(
                name, self._parsed, self._backends, self._counts, self._handshakes, self._problem_index
            )
        elif table is None:
            table = self._tables[name] = TableCache(
                name,
                self._options,
                self._annotations,
                self._parsed,
                self._clients,
                self._references,
                self._backends,
                self._counts,
                self._shown,
                self._problem_index,
            )
        return table

    def _is_wanted(self, name: str) -> bool:
        """Whether there is to be a table *name*."""
        return name == MAIN or self._members[name] > 0 or any(one.table == name for one in self._listeners)

    def _look_beside(self) -> Iterator[None]:
        """See which hosts routes of Gateways lose to Ingresses."""
        beside = {
            name: table.finish().routes for name, table in self._tables.items() if name in self._beside_names
        }
        if beside or self._beside.is_needed:
            yield from self._beside.round(self._tables[MAIN].finish().routes, beside)

    def _choose_listeners(self) -> Iterator[None]:
        """Find out which listeners there are to be, where anybody asks for others than before."""
        if not self._listeners_are_stale:
            return
        self._listeners_are_stale = False
        asking = list(self._asking.values())
        listeners, problems = yield from choose_listeners(self._options.listeners, asking, self._refused)
        self._problem_index.put("listeners", problems)
        if listeners != self._listeners:
            self._listeners = listeners
            self._backends.listeners_changed(listeners)
        for listener in listeners:
            self._table_of(listener.table)

    def _put_in_tables(
        self, object_id: ObjectId, before: ParsedObject | None, after: ParsedObject | None
    ) -> Iterator[None]:
        """Tell, in steps, the tables in which an object asks for something, or did, and note the listeners that it asks for."""
        had = dict.fromkeys(() if before is None else before.tables)
        has = dict.fromkeys(() if after is None else after.tables)
        for name in (had | has) if had else has:
            if name != MAIN:
                self._members[name] += (name in has) - (name in had)
            yield from self._table_of(name).object_changed(
                object_id, before if name in had else None, after if name in has else None
            )
        if (() if before is None else before.listeners) != (() if after is None else after.listeners):
            self._listeners_are_stale = True
            self._asking.pop(object_id, None)
            if after is not None and after.listeners:
                self._asking[object_id] = after

    def _tell_tables(self, parsed: ParsedObject) -> None:
        for name in parsed.tables:
            self._table_of(name).concerned(parsed)

    def _take_mark(self, object_id: ObjectId, state: ClusterState) -> None:
        """Note what the change of one object concerns."""
        kind, key = object_id
        self._problem_index.put(object_id, state.problems_of.get(object_id, ()))
        self._stale_kinds.update(dict.fromkeys(self._readers.judged_by(kind)))
        if self._readers.get(kind) is not None:
            self._stale_objects[object_id] = None
        elif kind is Kind.SERVICE:
            self._named.service_changed(key)
            default = self._options.default_backend_service
            if default is not None and service_key(default) == key:
                self._default_is_stale = True
        elif kind is Kind.CONFIG_MAP:
            self._references.target_changed(object_id)
            self._handshakes.target_changed(object_id)
            self._named.source_changed(object_id)
        elif kind is Kind.SECRET:
            self._references.target_changed(object_id)
            self._handshakes.target_changed(object_id)
            for table in self._tables.values():
                table.secret_changed(key)
            self._clients.secret_changed(key)
            self._named.source_changed(object_id)

    def _judge_again(self, kind: Kind, state: ClusterState) -> Iterator[None]:
        # Between steps objects may come and go.
        for number, key in enumerate(tuple(state.of(kind)), 1):
            self._stale_objects[kind, key] = None
            if not number % _AT_ONCE:
                yield

    def _read(self, object_id: ObjectId, state: ClusterState) -> Iterator[None]:
        """Read one object, and note what it concerns."""
        kind, key = object_id
        if kind is Kind.CONFIG_MAP:
            services = self._port_services(object_id)
            for name in () if services is None else services.tables:
                self._table_of(name)
                yield
            yield from self._replace(object_id, services, (), state)
            return
        value = state.of(kind).get(key)
        before = self._parsed.get(object_id)
        after: ParsedObject | None = None
        problems: tuple[Problem, ...] = ()
        if value is not None:
            reader = self._readers[kind]
            verdict = reader.judge(value, state)
            problems = verdict.problems
            if verdict.is_ours:
                if before is not None and before.source is value and before.related == verdict.related:
                    after = before
                else:
                    after = yield from self._readers.reading(kind, value, verdict.related)
        yield from self._replace(object_id, after, problems, state)

    def _port_services(self, object_id: ObjectId) -> ParsedObject | None:
        """Return what the ConfigMap asks for; the same value as long as that is the same."""
        before = self._parsed.get(object_id)
        asking = parse_port_services(self._options)
        after = next((one for one in asking if one.owner.id == object_id), None)
        return before if after == before else after

    def _replace(
        self,
        object_id: ObjectId,
        after: ParsedObject | None,
        problems: tuple[Problem, ...],
        state: ClusterState,
    ) -> Iterator[None]:
        """Have an object ask for *after*, and note, in steps, what that concerns; *problems* are those that it has besides."""
        before = self._parsed.get(object_id)
        kind = object_id[0]
        if after is not None:
            problems += after.problems
        yield from self._problem_index.putting(("object", object_id), problems)
        if after is before:
            return
        if after is not None:
            yield from after.sort_by_host()
        yield from self._named.object_changed(object_id, before, after, state)
        self._clients.object_changed(object_id, before, after)
        self._references.object_changed(object_id, before, after)
        self._handshakes.object_changed(object_id, before, after)
        yield from self._attached.object_changed(before, after, state)
        yield from self._put_in_tables(object_id, before, after)
        if after is None:
            del self._parsed[object_id]
        else:
            self._parsed[object_id] = after
        if self._readers.get(kind) is not None:
            self._served[kind] += (after is not None) - (before is not None)
