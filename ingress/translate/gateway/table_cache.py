"""A table of Gateways, kept up to date host by host: routes, beside the handshakes that ``handshake_cache.py`` keeps.

Part of incremental translation; it takes the steps of ``ingress.translate.gateway.table`` for what a change concerns.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime

from ingress.model.cluster.objects import ObjectId, ObjectKey
from ingress.model.cluster.problems import Problem
from ingress.model.cluster.state import ClusterState
from ingress.routing.route import Route
from ingress.routing.table import RouteTable
from ingress.translate.age import by_age
from ingress.translate.caches.backend_cache import BackendCache
from ingress.translate.caches.bookkeeping import Index, ProblemIndex
from ingress.translate.caches.route_counts import RouteCounts
from ingress.translate.caches.route_draft import RouteDraft
from ingress.translate.caches.stream_draft import StreamDraft
from ingress.translate.claims import ParsedObject
from ingress.translate.gateway.claims import routes_of
from ingress.translate.gateway.handshake_cache import HandshakeCache
from ingress.translate.gateway.host_routes import AT_ONCE, decide_host
from ingress.translate.gateway.kind_conflicts import NO_CONFLICTS, OTHERS, find_kind_conflicts
from ingress.translate.gateway.streams import decide_stream
from ingress.translate.gateway.table import hosts_served, may_conflict
from ingress.translate.snapshot import ListenerTable


class GatewayTableCache:
    """Keeps the table *name* of what objects in *all_parsed* ask for; tells problems to *problem_index*.

    *counts* counts the routes of all tables.
    """

    def __init__(
        self,
        name: str,
        all_parsed: Mapping[ObjectId, ParsedObject],
        backends: BackendCache,
        counts: RouteCounts,
        handshakes: HandshakeCache,
        problem_index: ProblemIndex,
    ) -> None:
        self._name = name
        self._host_source = f"host {name}"
        self._parsed = all_parsed
        self._problem_index = problem_index
        # Who names each host, and which hosts each names; the routes of each by host, where there are others, or many.
        self._by_host: Index[str, ObjectId] = Index()
        self._hosts: dict[ObjectId, tuple[str, ...]] = {}
        self._routes: dict[str, dict[ObjectId, tuple[Route, ...]]] = {}
        # Of the kinds that exclude each other, where both are here.
        self._excluding: dict[ObjectId, None] = {}
        self._kinds: Counter[str] = Counter()
        self.conflicts = NO_CONFLICTS
        self._conflicts_are_stale = False
        self._draft = RouteDraft(RouteTable(covers_labels=True), counts, backends)
        self._streams = StreamDraft(counts, backends)
        self._handshakes = handshakes
        self._finished = ListenerTable(RouteTable(covers_labels=True))
        self._stale_hosts: dict[str, None] = {}
        # In how many portions the problems of a host are told, where it is not one.
        self._portions: dict[str, int] = {}

    # What changed

    def object_changed(
        self, object_id: ObjectId, before: ParsedObject | None, after: ParsedObject | None
    ) -> Iterator[None]:
        """Note, in steps, that an object asked for *before* and asks for *after*; None where that is nothing in this table."""
        yield from self._assign_hosts(object_id, after)
        if object_id[0] in OTHERS:
            self._kinds[object_id[0]] += (after is not None) - (before is not None)
            if after is None:
                self._excluding.pop(object_id, None)
            else:
                self._excluding[object_id] = None
            self._conflicts_are_stale |= self.conflicts is not NO_CONFLICTS or all(
                self._kinds[kind] for kind in OTHERS
            )

    def concerned(self, parsed: ParsedObject) -> None:
        """Note that *parsed* asks something else of clients, or that something else was found of what it refers to."""
        self._stale_hosts.update(dict.fromkeys(self._hosts.get(parsed.owner.id, ())))

    def all_concerned(self) -> None:
        """Nothing that the operator refers to is for this table."""

    def secret_changed(self, secret: ObjectKey) -> None:
        """Secrets are for those who keep the handshakes."""

    def seconds_to_next(self, now: datetime) -> float | None:
        """Time alone never makes it another one."""
        return None

    # A round

    def round(self, state: ClusterState, now: datetime) -> Iterator[None]:
        """Bring the next version up to date, step by step."""
        if self._conflicts_are_stale:
            yield from self._find_conflicts()
        while self._stale_hosts:
            host, _ = self._stale_hosts.popitem()
            yield from self._decide(host, state)
            yield

    def finish(self) -> ListenerTable:
        """Return the table as it is now; the same object as long as it is."""
        # A dictionary that was emptied keeps the room that it had.
        self._stale_hosts = {}
        known = self._finished
        handshakes = self._handshakes.of(self._name)
        found = ListenerTable(self._draft.finished(), *handshakes, self._streams.finished())
        if not found.shares_all(known):
            self._finished = found
        return self._finished

    def clear(self, state: ClusterState) -> Iterator[None]:
        """Give up all routes, since no listener serves the table and nobody asks for anything in it."""
        yield from self._draft.clear(state)
        self._streams.clear(state)

    def _asking(self, object_id: ObjectId) -> ParsedObject | None:
        parsed = self._parsed.get(object_id)
        return parsed if parsed is not None and self._name in parsed.tables else None

    def _assign_hosts(self, object_id: ObjectId, parsed: ParsedObject | None) -> Iterator[None]:
        """Note, in steps, which hosts an object names now."""
        before = self._hosts.pop(object_id, ())
        for host in before:
            if host in self._routes:
                self._routes[host].pop(object_id, None)
        after = () if parsed is None else hosts_served(parsed, self._name, self.conflicts)
        if after:
            self._hosts[object_id] = after
        yield from self._by_host.replacing(object_id, before, after)
        self._stale_hosts.update(dict.fromkeys((*before, *after)))

    def _find_conflicts(self) -> Iterator[None]:
        """See which routes exclude each other."""
        self._conflicts_are_stale = False
        before = self.conflicts
        routes = [parsed for one in self._excluding if (parsed := self._asking(one)) is not None]
        found = NO_CONFLICTS
        if may_conflict(routes):
            yield
            routes.sort(key=lambda parsed: by_age(parsed.owner))
            yield
            found = yield from find_kind_conflicts(self._name, routes)
        self._problem_index.put(("kind conflicts", self._name), found.problems)
        if found.rejected == before.rejected:
            return
        self.conflicts = found if found.rejected else NO_CONFLICTS
        changed = dict.fromkeys(owner.id for owner, _ in before.rejected ^ found.rejected)
        for number, object_id in enumerate(changed, 1):
            yield from self._assign_hosts(object_id, self._asking(object_id))
            if not number % AT_ONCE:
                yield

    def _decide(self, host: str, state: ClusterState) -> Iterator[None]:
        """Decide which routes *host* has."""
        claiming: list[ParsedObject] = []
        claims, is_kept, is_large = 0, False, False
        for object_id in tuple(self._by_host.get(host)):
            parsed = self._parsed[object_id]
            claiming.append(parsed)
            is_kept = is_kept or parsed.gateway.keeps(self._name, host)
            claims += len(parsed.gateway.matches) + 1
            if claims > AT_ONCE:
                claims, is_large = 0, True
                yield
        known = self._routes.pop(host, {})
        if len(claiming) > 1 or is_large:
            self._routes[host] = known
        decision = yield from decide_host(
            host,
            ((parsed, self._routes_of(parsed, host, known)) for parsed in claiming),
            is_kept=is_kept,
        )
        if len(claiming) > AT_ONCE:
            yield
        stream, told = yield from decide_stream(self._name, host, claiming)
        yield from self._tell(host, (*decision.problems, *told))
        yield from self._draft.assign(host, decision.routes, state)
        self._streams.assign(host, stream, state)

    def _tell(self, host: str, problems: tuple[Problem, ...]) -> Iterator[None]:
        """Tell the problems of *host*, of which there may be thousands, in portions."""
        known = self._portions.pop(host, 1)
        portions = max(1, -(-len(problems) // AT_ONCE))
        if portions > 1:
            self._portions[host] = portions
        for number in range(max(known, portions)):
            portion = problems[number * AT_ONCE : (number + 1) * AT_ONCE]
            self._problem_index.put((self._host_source, host, number), portion)
            if portions > 1:
                yield

    def _routes_of(
        self, parsed: ParsedObject, host: str, known: dict[ObjectId, tuple[Route, ...]]
    ) -> tuple[Route, ...]:
        """Return the routes of *parsed* for *host*: those *known* as long as it asks for the same."""
        routes = known.get(parsed.owner.id)
        if routes is None:
            routes = known[parsed.owner.id] = routes_of(parsed.owner, parsed.gateway, self._name, host)
        return routes
