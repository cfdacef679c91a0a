"""The table of some listeners, kept up to date host by host: routes, certificates, handshake settings.

Part of incremental translation.  There is one for each name of a table; what objects ask for, backends
and client certificates are found once for all of them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from ingress.annotations.annotations import AnnotationReader
from ingress.identity.certificates import Certificate
from ingress.identity.server_names import HandshakeSettings, HandshakeSettingsTable
from ingress.model.cluster.objects import ObjectId, ObjectKey, Owner
from ingress.model.cluster.state import ClusterState
from ingress.model.shared_map import SharedMap
from ingress.model.stepwise import Stepwise, in_order
from ingress.routing.table import RouteTable
from ingress.translate.age import SORTED_AT_ONCE, by_age
from ingress.translate.caches.alias_budget_cache import AliasBudgetCache
from ingress.translate.caches.backend_cache import BackendCache
from ingress.translate.caches.bookkeeping import KEYS_AT_ONCE, Draft, Index, ProblemIndex
from ingress.translate.caches.certificate_cache import CertificateCache
from ingress.translate.caches.client_cache import ClientAuthenticationCache
from ingress.translate.caches.reference_cache import ReferenceCache
from ingress.translate.caches.route_counts import RouteCounts
from ingress.translate.caches.route_draft import RouteDraft
from ingress.translate.claims import ParsedObject
from ingress.translate.hosts.alias_budgets import routes_on
from ingress.translate.hosts.canaries import canary_hosts
from ingress.translate.hosts.decision import HostRules
from ingress.translate.hosts.further_hosts import Heard, further_hosts, further_targets, hear
from ingress.translate.hosts.merging import ALL_HOSTS, falls, hosts_asked
from ingress.translate.hosts.redirects import RedirectRule
from ingress.translate.options import TranslateOptions
from ingress.translate.ownership import owner_of
from ingress.translate.snapshot import ListenerTable


class TableCache:
    """Keeps the table *name* of what objects in *all_parsed* ask for; tells problems to *problem_index*.

    *counts* and *shown* count routes, and hosts of certificates, of all tables.
    """

    def __init__(
        self,
        name: str,
        options: TranslateOptions,
        annotations: AnnotationReader,
        all_parsed: Mapping[ObjectId, ParsedObject],
        clients: ClientAuthenticationCache,
        references: ReferenceCache,
        backends: BackendCache,
        counts: RouteCounts,
        shown: Counter[Certificate],
        problem_index: ProblemIndex,
    ) -> None:
        self._name = name
        self._host_source = f"host {name}" if name else "host"
        self._options = options
        self._parsed = all_parsed
        self._problem_index = problem_index
        # Who has a say about each host.
        self._by_host: Index[str, ObjectId] = Index()
        # The canaries of each, which have none.
        self._canaries: Index[str, ObjectId] = Index()
        # Who asks for each further host, and by which host of its rules.
        self._by_further: Index[str, ObjectId] = Index()
        self._by_target: Index[str, ObjectId] = Index()
        self._alias_budgets = AliasBudgetCache(self._routes_on, self._by_target.get)
        self._owners: dict[str, Owner] = {}
        # Of the hosts that others may fall to, those with a claim; and the hosts without any.
        self._wide: set[str] = set()
        self._barren: set[str] = set()
        self._draft = RouteDraft(RouteTable(), counts, backends)
        self._handshake_settings: Draft[str, HandshakeSettings, SharedMap[str, HandshakeSettings]] = Draft(
            SharedMap()
        )
        self._certificates = CertificateCache(options, self._owners, problem_index, shown, name)
        self._redirects = RedirectRule(options)
        self._rules = HostRules(
            options, annotations, clients.request_of, self._redirects, references.found_for
        )
        self._finished = ListenerTable()
        self._stale_owners: dict[str, None] = {}
        self._stale_hosts: dict[str, None] = {ALL_HOSTS: None}

    # What changed

    def object_changed(
        self, object_id: ObjectId, before: ParsedObject | None, after: ParsedObject | None
    ) -> Iterator[None]:
        """Note, in steps, that an object asked for *before* and asks for *after*; None where that is nothing in this table."""
        hosts_before = () if before is None else hosts_asked(before)
        hosts_after = () if after is None else hosts_asked(after)
        yield from self._by_host.replacing(object_id, hosts_before, hosts_after)
        behind_before = () if before is None else canary_hosts(before)
        behind_after = () if after is None else canary_hosts(after)
        if behind_before or behind_after:
            yield from self._canaries.replacing(object_id, behind_before, behind_after)
            # How many there are is part of whether an alias is served.
            yield from self._note_stale(dict.fromkeys((*behind_before, *behind_after)), owners_too=True)
        further_before, further_after = further_hosts(before), further_hosts(after)
        yield from self._by_further.replacing(object_id, further_before, further_after)
        yield from self._by_target.replacing(object_id, further_targets(before), further_targets(after))
        hosts = dict.fromkeys((*hosts_before, *hosts_after, *behind_before, *behind_after))
        self._alias_budgets.object_changed(object_id, after)
        yield from self._alias_budgets.hosts_changed(hosts)
        concerned = dict.fromkeys((*hosts_before, *hosts_after, *further_before, *further_after))
        yield from self._note_stale(concerned, owners_too=True)
        yield from self._certificates.object_changed(object_id, before, after)

    def concerned(self, parsed: ParsedObject) -> None:
        """Note that *parsed* asks something else of clients, or that something else was found of what it refers to."""
        self._stale_hosts.update(dict.fromkeys(self._with_further(hosts_asked(parsed))))

    def all_concerned(self) -> None:
        """Note that something else was found of what the operator refers to."""
        self._stale_hosts[ALL_HOSTS] = None
        self._stale_hosts.update(dict.fromkeys(self._by_host))
        self._stale_hosts.update(dict.fromkeys(self._by_further))

    def secret_changed(self, secret: ObjectKey) -> None:
        """Note that *secret* has to be read again."""
        self._certificates.secret_changed(secret)

    def seconds_to_next(self, now: datetime) -> float | None:
        """Return in how many seconds time alone makes it another one; see ``Translation.seconds_to_next``."""
        return self._certificates.seconds_to_next(now)

    def _note_stale(self, hosts: Iterable[str], *, owners_too: bool = False) -> Iterator[None]:
        """Note in steps that *hosts* have to be decided about again, with their further hosts."""
        for number, host in enumerate(self._with_further(hosts), 1):
            self._stale_hosts[host] = None
            if owners_too:
                self._stale_owners[host] = None
            if not number % KEYS_AT_ONCE:
                yield

    # A round

    def round(self, state: ClusterState, now: datetime) -> Iterator[None]:
        """Bring the next version up to date, step by step."""
        for host in (yield from self._alias_budgets.settle()):
            self._stale_owners[host] = self._stale_hosts[host] = None
        self._certificates.begin(now)
        yield from self._certificates.read(self._asking, state, now)
        while self._stale_owners:
            host, _ = self._stale_owners.popitem()
            yield from self._find_owner(host)
            yield
        for decided in self._certificates.decide(now):
            if decided is None:
                yield
                continue
            host, decision = decided
            for concerned in self._redirects.settle(host, decision, has_rule=host in self._owners):
                # The controller's own default backend has a route for all hosts that nobody has a say about.
                if concerned in self._by_host or concerned in self._by_further or concerned == ALL_HOSTS:
                    self._stale_hosts[concerned] = None
            yield
        while self._stale_hosts:
            host, _ = self._stale_hosts.popitem()
            yield from self._decide(host, state)
            yield

    def finish(self) -> ListenerTable:
        """Return the table as it is now; the same object as long as it is."""
        # A dictionary that was emptied keeps the room that it had.
        self._stale_owners, self._stale_hosts = {}, {}
        known = self._finished
        table, certificates = self._draft.finished(), self._certificates.finish()
        settings, by_host = known.handshake_settings, self._handshake_settings.finished()
        if by_host is not settings.by_host:
            settings = HandshakeSettingsTable(by_host)
        found = ListenerTable(table, certificates, settings)
        if not found.shares_all(known):
            self._finished = found
        return self._finished

    def clear(self, state: ClusterState) -> Iterator[None]:
        """Give up all routes, since no listener serves the table and nobody asks for anything in it."""
        return self._draft.clear(state)

    def _asking(self, object_id: ObjectId) -> ParsedObject | None:
        parsed = self._parsed.get(object_id)
        return parsed if parsed is not None and self._name in parsed.tables else None

    def _with_further(self, hosts: Iterable[str]) -> Iterator[str]:
        """Yield *hosts*, and the further hosts that go by one of them."""
        for host in hosts:
            yield host
            for object_id in self._by_target.get(host):
                parsed = self._parsed.get(object_id)
                if parsed is not None:
                    yield from (one.host for one in parsed.by_host.further_by_target.get(host, ()))

    def _naming(self, host: str) -> Stepwise[list[ParsedObject]]:
        """Return those that have a rule for *host*, or a default backend for all hosts, sorted oldest first."""
        return self._sorted(self._by_host.get(host))

    def _sorted(self, object_ids: Iterable[ObjectId]) -> Stepwise[list[ParsedObject]]:
        all_parsed = [self._parsed[one] for one in object_ids]
        if len(all_parsed) > 1:
            all_parsed = yield from in_order(all_parsed, lambda parsed: by_age(parsed.owner), SORTED_AT_ONCE)
        return all_parsed

    def _canaries_of(self, host: str) -> Stepwise[list[ParsedObject]]:
        """Return the canaries of *host*, sorted oldest first."""
        return self._sorted(self._canaries.get(host))

    def _routes_on(self, namespace: str, host: str) -> int:
        """Return how many routes come along from *host* to an alias that one of *namespace* asks for."""
        naming = map(self._parsed.__getitem__, self._by_host.get(host))
        canaries = map(self._parsed.__getitem__, self._canaries.get(host))
        return routes_on(host, namespace, naming, canaries, are_shared=self._options.shared_hosts)

    def _hear(self, host: str, *, is_whole: bool) -> Stepwise[Heard]:
        """Return who has a say about *host*; where that *is_whole*, with all that they claim there."""
        naming = yield from self._naming(host)
        if host not in self._by_further:
            return Heard(naming)
        askers = yield from self._sorted(self._by_further.get(host))
        is_shared = self._options.shared_hosts
        return (
            yield from hear(
                host,
                naming,
                askers,
                self._naming,
                self._canaries_of,
                is_shared=is_shared,
                is_whole=is_whole,
                limits=self._alias_budgets.limits,
            )
        )

    def _find_owner(self, host: str) -> Stepwise[None]:
        """See whose *host* is."""
        heard = yield from self._hear(host, is_whole=False)
        owner = owner_of(host, heard.all_parsed)
        if owner == self._owners.get(host):
            return
        if owner is None:
            del self._owners[host]
        else:
            self._owners[host] = owner
        self._certificates.owner_changed(host)

    def _decide(self, host: str, state: ClusterState) -> Iterator[None]:
        """Decide which routes *host* has."""
        heard = yield from self._hear(host, is_whole=True)
        canaries = yield from heard.canaries((yield from self._canaries_of(host)))
        decision = yield from self._rules.decide(host, heard.all_parsed, self._owners.get(host), canaries)
        told = []
        for number, problem in enumerate(heard.problems, 1):
            told.append(problem)
            if not number % KEYS_AT_ONCE:
                yield
        problems = (*told, *decision.problems)
        yield from self._problem_index.putting((self._host_source, host), problems)
        if decision.handshake_settings != self._handshake_settings.get(host):
            self._handshake_settings.put(host, decision.handshake_settings)
        would_fall = False
        if self._options.default_backend_service is None:
            if host == ALL_HOSTS or host.startswith("*"):
                self._widen(host, has_claims=decision.is_served)
            self._barren.discard(host)
            if decision.all_parsed and not decision.is_served:
                self._barren.add(host)
                would_fall = falls(host, self._wide)
        found = yield from self._rules.routes(decision, would_fall=would_fall)
        yield from self._draft.assign(host, found if found.routes else None, state)

    def _widen(self, host: str, *, has_claims: bool) -> None:
        if (host in self._wide) is not has_claims:
            if has_claims:
                self._wide.add(host)
            else:
                self._wide.remove(host)
            # Hosts without claims are blocked where they would fall to this one.
            self._stale_hosts.update(dict.fromkeys(self._barren))
