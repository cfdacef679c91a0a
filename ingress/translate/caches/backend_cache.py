"""The state of every backend that a route names, kept up to date backend by backend.

Part of incremental translation.  There are two versions: the *current* one, which is
published, and the next one, in which references of routes that come are found already
while a round goes on.  Endpoints do not wait for a round: ``refresh`` brings both up to date.

Of a *large* backend, one with more than some dozens of endpoints, these are found in several steps, be it in a round or by
``refresh``, while objects go on changing.  Whoever began last is right: what a round takes up ``refresh`` begins anew, and what
``refresh`` has found since a round took it up stays.  No other backend waits for a large one.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from attrs import evolve

from ingress.model.cluster.objects import ObjectId, ObjectKey
from ingress.model.cluster.state import ClusterState
from ingress.model.network.listeners import Listener
from ingress.model.shared_map import SharedMap
from ingress.model.stepwise import Stepwise, finished
from ingress.model.upstream.backends import BackendReference, BackendState
from ingress.model.upstream.upstream_tls import ProtocolAsked, UpstreamTls, UpstreamTlsRequest
from ingress.translate.caches.bookkeeping import Draft, Index, Members, ProblemIndex
from ingress.translate.claims import SERVICE_KIND
from ingress.translate.endpoints.backends import port_of, protocol_of, resolving_backend, service_key
from ingress.translate.endpoints.endpoint_rules import API_SERVER, Pair
from ingress.translate.endpoints.slices import NOTHING_BEFORE
from ingress.translate.endpoints.upstream_tls import TlsFault, complete
from ingress.translate.options import TranslateOptions

WORK_AT_ONCE: Final = 25
"""Backends whose endpoints are found in one turn, if they have few: as many as take about a slice."""
_ENDPOINTS_LIKE_ONE: Final = 8
"""So many endpoints more take as long as another backend."""
_FEW: Final = 50
"""Slices, or endpoints, of a backend that is not large; where they are looked at most thoroughly they take a millisecond."""

_States = SharedMap[BackendReference, BackendState]


class BackendCache:
    """Keeps the states of the backends in use; tells the problems of their endpoints to *problem_index*.

    *current* is the version to publish; it changes by ``finish`` and ``refresh`` alone.  *services* are those of its backends,
    as of the last ``finish``: the same set as long as they are the same.
    *needs_round* says whether ``refresh`` left something for a round to do or to publish.
    """

    def __init__(self, options: TranslateOptions, problem_index: ProblemIndex) -> None:
        self._options = options
        self._rules = options.endpoint_rules
        self._problem_index = problem_index
        self.needs_round = False
        self._api_servers: Collection[Pair] = frozenset()
        self.current: _States = SharedMap()
        self._next: Draft[BackendReference, BackendState, _States] = Draft(self.current)
        # How many routes of the next version name each.
        self._uses: dict[BackendReference, int] = {}
        # Those in use, and those that were until the round began.
        self._by_service: Index[ObjectKey, BackendReference] = Index()
        self.services: Members[ObjectKey] = Members(self._by_service)
        # By Secret or ConfigMap: those that it completes the TLS of.  Which these are may change with a policy.
        self._by_source: Index[ObjectId, BackendReference] = Index()
        self._sources: dict[BackendReference, tuple[ObjectId, ...]] = {}
        # What requests of TLS come to, and which there are by what completes them.
        self._tls: dict[UpstreamTlsRequest, UpstreamTls | TlsFault] = {}
        self._requests: Index[ObjectId, UpstreamTlsRequest] = Index()
        self._stale: dict[BackendReference, None] = {}
        self._unused: dict[BackendReference, None] = {}
        # Those whose endpoints are others, whatever rounds do.
        self._waiting: dict[BackendReference, None] = {}
        # Those of them that are large, and the one of which ``refresh`` has found a part, with the steps that are left.
        self._large: dict[BackendReference, None] = {}
        self._begun: tuple[BackendReference, Stepwise[BackendState]] | None = None
        # The one that a round has taken up.
        self._in_round: BackendReference | None = None

    def use(self, reference: BackendReference, state: ClusterState) -> None:
        """Note that one more route names *reference*."""
        uses = self._uses.get(reference, 0)
        self._uses[reference] = uses + 1
        if uses:
            return
        self._stale[reference] = None
        self._unused.pop(reference, None)
        if reference.kind == SERVICE_KIND:
            key = shared_key(reference, state)
            if key not in self._by_service:
                self.services.note(key)
            self._by_service.add(key, reference)

    def drop(self, reference: BackendReference) -> None:
        """Note that one route less names *reference*."""
        self._uses[reference] -= 1
        if not self._uses[reference]:
            del self._uses[reference]
            self._unused[reference] = None

    def service_changed(self, service: ObjectKey) -> None:
        """Note that the backends of *service* may be different."""
        self._stale.update(dict.fromkeys(self._by_service.get(service)))

    def source_changed(self, source: ObjectId) -> None:
        """Note that TLS to the backends that need *source*, a Secret or ConfigMap, may have other settings."""
        self._forget(source)
        self._stale.update(dict.fromkeys(self._by_source.get(source)))

    def complete(self, request: UpstreamTlsRequest, state: ClusterState) -> UpstreamTls | TlsFault:
        """Return what *request* comes to; what completes it is read once, until it changes."""
        known = self._tls.get(request)
        if known is None:
            known = complete(request, state)
            if request.sources:
                self._tls[request] = known
                for source in request.sources:
                    self._requests.add(source, request)
        return known

    def listeners_changed(self, listeners: Iterable[Listener]) -> None:
        """Note that just *listeners* are to be there: no endpoint may be one of them."""
        rules = self._rules.beside(listeners)
        if rules != self._options.endpoint_rules:
            self._options = evolve(self._options, endpoint_rules=rules)
            self._stale.update(dict.fromkeys(self._uses))

    def forget(self, source: ObjectId) -> None:
        """Keep nothing of *source* any more, if no backend needs it."""
        if source not in self._by_source:
            self._forget(source)

    def _forget(self, source: ObjectId) -> None:
        for request in tuple(self._requests.get(source)):
            self._tls.pop(request, None)
            for one in request.sources:
                self._requests.discard(one, request)

    def _place(self, reference: BackendReference, sources: tuple[ObjectId, ...]) -> None:
        """Keep *reference* under what completes its TLS."""
        before = self._sources.get(reference, ())
        if sources == before:
            return
        self._by_source.replace(reference, before, sources)
        if sources:
            self._sources[reference] = sources
        else:
            del self._sources[reference]
        for source in before:
            # Others may demand the same; they have it completed again.
            self.forget(source)

    def _resolving(self, reference: BackendReference, state: ClusterState) -> Stepwise[BackendState]:
        if reference.protocol is not None:
            protocol = protocol_of(reference, port_of(reference, state), state)
            request = protocol.tls if isinstance(protocol, ProtocolAsked) else None
            self._place(reference, () if request is None else request.sources)
        return resolving_backend(
            reference,
            state,
            self._options,
            lambda request: self.complete(request, state),
            self._next.get(reference) or NOTHING_BEFORE,
        )

    def resolve(self, state: ClusterState) -> Iterator[None]:
        """Bring the next version up to date, at most one backend a step."""
        self.needs_round = False
        api_servers = self._options.endpoint_rules.api_servers(state)
        if api_servers != self._api_servers:
            # Whichever backend leads there, or did.
            self._api_servers = api_servers
            self._stale.update(dict.fromkeys(self._uses))
        while self._stale:
            reference, _ = self._stale.popitem()
            if reference in self._uses:
                if self._begun is not None and self._begun[0] == reference:
                    self._begun = None
                    self._large[reference] = None
                self._in_round = reference
                found = yield from self._resolving(reference, state)
                if self._in_round is not None and found != self._next.get(reference):
                    self._put(reference, found)
                self._in_round = None
                yield
        while self._unused:
            reference, _ = self._unused.popitem()
            self._leave(reference)
            yield

    def _leave(self, reference: BackendReference) -> None:
        """Keep nothing of *reference*, which no route names any more."""
        self._put(reference, None)
        if reference.kind == SERVICE_KIND:
            key = service_key(reference)
            others = self._by_service.get(key)
            if len(others) == 1 and reference in others:
                self.services.note(key)
            self._by_service.discard(key, reference)
        self._place(reference, ())

    def _put(self, reference: BackendReference, found: BackendState | None) -> bool:
        """Give *reference* this state in the next version; return whether its problems are others."""
        before = self._next.get(reference)
        self._next.put(reference, found)
        told = () if before is None else before.problems
        tells = () if found is None else found.problems
        if tells == told:
            return False
        self._problem_index.put(("endpoints", reference), tells)
        return True

    def finish(self) -> None:
        """Make the next version the current one."""
        self._stale, self._unused = {}, {}
        self.current = self._next.finished()
        if self.services.are_others:
            self.services = Members(self._by_service)

    # Endpoints

    def endpoints_changed(self, services: Collection[ObjectKey]) -> None:
        """Note that the endpoints of *services* are others; ``refresh`` finds them."""
        if API_SERVER in services:
            self.needs_round = True
        for service in services:
            self._waiting.update(dict.fromkeys(self._by_service.get(service)))

    @property
    def has_waiting(self) -> bool:
        """Whether there is anything for ``refresh`` to do."""
        return bool(self._waiting or self._large) or self._begun is not None

    @property
    def takes_more(self) -> bool:
        """Whether nothing is left for it, but for large backends."""
        return not self._waiting

    def refresh(self, state: ClusterState) -> int:
        """Find the endpoints of some backends again for which that was asked, and some of a large one; return how many of the current version changed."""
        is_settled = self._next.finished() is self.current
        found: list[tuple[BackendReference, BackendState]] = []
        work = 0
        while self._waiting and work < WORK_AT_ONCE:
            reference, _ = self._waiting.popitem()
            size = _size(reference, state)
            if size > _FEW:
                self._large[reference] = None
                work += 1
            elif self._is_known(reference):
                try:
                    found.append((reference, finished(self._resolving(reference, state))))
                except BaseException:
                    self._failed(reference, found)
                    raise
                work += 1 + size // _ENDPOINTS_LIKE_ONE
        try:
            found += self._some_of_a_large_one(state)
        except BaseException:
            begun, self._begun = self._begun, None
            self._failed(None if begun is None else begun[0], found)
            raise
        changes: dict[BackendReference, BackendState | None] = {}
        for reference, backend in found:
            if reference == self._in_round:
                self._in_round = None
            before, coming = self.current.get(reference), self._next.get(reference)
            # What nobody has published before a round does.
            is_settled = is_settled and before is not None
            is_other = backend != coming
            # Of very many endpoints to compare them once is enough, as long as no round has found others.
            if before is not None and (is_other if before is coming else backend != before):
                changes[reference] = backend
            if is_other and reference in self._uses:
                self.needs_round |= self._put(reference, backend)
        if not self._waiting:
            # A dictionary that was emptied keeps the room that it had.
            self._waiting = {}
        self.current = self._next.finished() if is_settled else self.current.patched(changes)
        return len(changes)

    def _failed(
        self, reference: BackendReference | None, found: Iterable[tuple[BackendReference, BackendState]]
    ) -> None:
        """Have what was *found* with it found again, and *reference*, of which a step failed, in the next round."""
        if reference is not None:
            self._stale[reference] = None
        self._waiting.update(dict.fromkeys(one for one, _ in found))

    def _some_of_a_large_one(self, state: ClusterState) -> Iterator[tuple[BackendReference, BackendState]]:
        """Take a step for one large backend; yield it if that was the last."""
        while self._begun is None and self._large:
            reference = next(iter(self._large))
            del self._large[reference]
            if self._is_known(reference):
                self._begun = reference, self._resolving(reference, state)
        if self._begun is not None:
            reference, steps = self._begun
            try:
                next(steps)
            except StopIteration as end:
                self._begun = None
                yield reference, end.value

    def _is_known(self, reference: BackendReference) -> bool:
        """Whether *reference* has a state that may be another now; else a round is on its way to it, or nobody names it any more."""
        return reference == self._in_round or not (
            self.current.get(reference) is None and self._next.get(reference) is None
        )


def _size(reference: BackendReference, state: ClusterState) -> int:
    """Return how many endpoints the slices of *reference* have, if there are few slices, and else how many these are."""
    slices = state.slices.get(service_key(reference), ())
    if len(slices) > _FEW:
        return len(slices)
    return sum(len(one.ready) + len(one.draining) + len(one.unready) for one in slices)


def shared_key(reference: BackendReference, state: ClusterState) -> ObjectKey:
    """Return the key of the Service of *reference*: that of the Service itself, if there is one, for memory's sake."""
    key = service_key(reference)
    service = state.services.get(key)
    return key if service is None else service.key
