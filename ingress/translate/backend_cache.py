"""The state of every backend that a route names, kept up to date backend by backend.

Part of incremental translation.  There are two versions: the *current* one, which is
published, and the next one, in which references of routes that come are found already
while a round goes on.  Endpoints do not wait for a round: ``refresh`` brings both up to date.
"""

from collections.abc import Collection, Iterable, Iterator

from attrs import evolve

from ingress.model.backends import BackendReference, BackendState
from ingress.model.listeners import Listener
from ingress.model.objects import ObjectKey
from ingress.model.shared_map import SharedMap
from ingress.model.state import ClusterState
from ingress.model.upstream_tls import ProtocolAsked, UpstreamTls, UpstreamTlsRequest
from ingress.translate.backends import resolve_backend, service_key
from ingress.translate.bookkeeping import Draft, Index, ProblemIndex
from ingress.translate.claims import SERVICE_KIND, ParsedObject
from ingress.translate.endpoint_rules import API_SERVER, Pair
from ingress.translate.options import TranslateOptions
from ingress.translate.upstream_tls import TlsFault, complete

_States = SharedMap[BackendReference, BackendState]


class BackendCache:
    """Keeps the states of the backends in use; tells the problems of their endpoints to *problem_index*.

    *current* is the version to publish; it changes by ``finish`` and ``refresh`` alone.
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
        self._by_secret: Index[ObjectKey, BackendReference] = Index()
        # By Secret: the requests of TLS that it completes, and what they come to.
        self._tls: dict[ObjectKey, dict[UpstreamTlsRequest, UpstreamTls | TlsFault]] = {}
        self._stale: dict[BackendReference, None] = {}
        self._unused: dict[BackendReference, None] = {}

    def use(self, reference: BackendReference, state: ClusterState) -> None:
        """Note that one more route names *reference*."""
        uses = self._uses.get(reference, 0)
        self._uses[reference] = uses + 1
        if uses:
            return
        self._stale[reference] = None
        self._unused.pop(reference, None)
        if reference.kind == SERVICE_KIND:
            self._by_service.add(shared_key(reference, state), reference)
        secret = _secret_of(reference)
        if secret is not None:
            self._by_secret.add(secret, reference)

    def drop(self, reference: BackendReference) -> None:
        """Note that one route less names *reference*."""
        self._uses[reference] -= 1
        if not self._uses[reference]:
            del self._uses[reference]
            self._unused[reference] = None

    def service_changed(self, service: ObjectKey) -> None:
        """Note that the backends of *service* may be different."""
        self._stale.update(dict.fromkeys(self._by_service.get(service)))

    def secret_changed(self, secret: ObjectKey) -> None:
        """Note that TLS to the backends that need *secret* may have other settings."""
        self._tls.pop(secret, None)
        self._stale.update(dict.fromkeys(self._by_secret.get(secret)))

    def complete(self, request: UpstreamTlsRequest, state: ClusterState) -> UpstreamTls | TlsFault:
        """Return what *request* comes to; a Secret is read once, until it changes."""
        if request.secret is None:
            return complete(request, state)
        known = self._tls.setdefault(request.secret, {})
        if request not in known:
            known[request] = complete(request, state)
        return known[request]

    def listeners_changed(self, listeners: Iterable[Listener]) -> None:
        """Note that just *listeners* are to be there: no endpoint may be one of them."""
        rules = self._rules.beside(listeners)
        if rules != self._options.endpoint_rules:
            self._options = evolve(self._options, endpoint_rules=rules)
            self._stale.update(dict.fromkeys(self._uses))

    def forget(self, secret: ObjectKey) -> None:
        """Keep nothing of *secret* any more, if no backend needs it."""
        if secret not in self._by_secret:
            self._tls.pop(secret, None)

    def _resolve(self, reference: BackendReference, state: ClusterState) -> BackendState:
        return resolve_backend(reference, state, self._options, lambda request: self.complete(request, state))

    def resolve(self, state: ClusterState) -> Iterator[None]:
        """Bring the next version up to date, one backend a step."""
        self.needs_round = False
        api_servers = self._options.endpoint_rules.api_servers(state)
        if api_servers != self._api_servers:
            # Whichever backend leads there, or did.
            self._api_servers = api_servers
            self._stale.update(dict.fromkeys(self._uses))
        while self._stale:
            reference, _ = self._stale.popitem()
            if reference in self._uses:
                found = self._resolve(reference, state)
                if found != self._next.get(reference):
                    self._put(reference, found)
                yield
        while self._unused:
            reference, _ = self._unused.popitem()
            self._put(reference, None)
            if reference.kind == SERVICE_KIND:
                self._by_service.discard(service_key(reference), reference)
            secret = _secret_of(reference)
            if secret is not None:
                self._by_secret.discard(secret, reference)
                # Others may demand the same; they have it completed again.
                self._tls.pop(secret, None)
            yield

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

    def refresh(self, services: Collection[ObjectKey], state: ClusterState) -> int:
        """Find the endpoints of *services* again; return how many backends of the current version changed."""
        if API_SERVER in services:
            self.needs_round = True
        is_settled = self._next.finished() is self.current
        changes: dict[BackendReference, BackendState | None] = {}
        for service in services:
            for reference in self._by_service.get(service):
                before = self.current.get(reference)
                if before is None:
                    # A round is on its way to it, or has been there already.
                    self._stale[reference] = None
                    continue
                found = self._resolve(reference, state)
                if found != before:
                    changes[reference] = found
                if reference in self._uses and found != self._next.get(reference):
                    self.needs_round |= self._put(reference, found)
        self.current = self._next.finished() if is_settled else self.current.patched(changes)
        return len(changes)


def shared_key(reference: BackendReference, state: ClusterState) -> ObjectKey:
    """Return the key of the Service of *reference*: that of the Service itself, if there is one, for memory's sake."""
    key = service_key(reference)
    service = state.services.get(key)
    return key if service is None else service.key


def services_named(parsed: ParsedObject | None, state: ClusterState) -> dict[ObjectKey, None]:
    """Return the Services that *parsed* names, each once."""
    services: dict[ObjectKey, None] = {}
    last: object = None
    for _, reference in () if parsed is None else parsed.named_backends():
        if reference is not last and reference.kind == SERVICE_KIND:
            services[shared_key(reference, state)] = None
        last = reference
    return services


def _secret_of(reference: BackendReference) -> ObjectKey | None:
    protocol = reference.protocol
    if not isinstance(protocol, ProtocolAsked) or protocol.tls is None:
        return None
    return protocol.tls.secret
