"""The state of every backend that a route names, kept up to date backend by backend.

Part of incremental translation.  There are two versions: the *current* one, which is
published, and the next one, in which references of routes that come are found already
while a round goes on.  Endpoints do not wait for a round: ``refresh`` brings both up to date.
"""

from collections.abc import Iterable, Iterator

from ingress.model.backends import BackendReference, BackendState
from ingress.model.objects import ObjectKey
from ingress.model.shared_map import SharedMap
from ingress.model.state import ClusterState
from ingress.translate.backends import resolve_backend, service_key
from ingress.translate.bookkeeping import Draft, Index
from ingress.translate.options import TranslateOptions
from ingress.translate.rules import SERVICE_KIND

_States = SharedMap[BackendReference, BackendState]


class BackendBook:
    """Keeps the states of the backends in use.

    *current* is the version to publish; it changes by ``finish`` and ``refresh`` alone.
    """

    def __init__(self, options: TranslateOptions) -> None:
        self._options = options
        self.current: _States = SharedMap()
        self._next: Draft[BackendReference, BackendState, _States] = Draft(self.current)
        # How many routes of the next version name each.
        self._uses: dict[BackendReference, int] = {}
        # Those in use, and those that were until the round began.
        self._by_service: Index[ObjectKey, BackendReference] = Index()
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

    def drop(self, reference: BackendReference) -> None:
        """Note that one route less names *reference*."""
        self._uses[reference] -= 1
        if not self._uses[reference]:
            del self._uses[reference]
            self._unused[reference] = None

    def service_changed(self, service: ObjectKey) -> None:
        """Note that the backends of *service* may be different."""
        self._stale.update(dict.fromkeys(self._by_service.get(service)))

    def resolve(self, state: ClusterState) -> Iterator[None]:
        """Bring the next version up to date, one backend a step."""
        while self._stale:
            reference, _ = self._stale.popitem()
            if reference in self._uses:
                found = resolve_backend(reference, state, self._options)
                if found != self._next.get(reference):
                    self._next.put(reference, found)
                yield
        while self._unused:
            reference, _ = self._unused.popitem()
            self._next.put(reference, None)
            if reference.kind == SERVICE_KIND:
                self._by_service.discard(service_key(reference), reference)
            yield

    def finish(self) -> None:
        """Make the next version the current one."""
        self._stale, self._unused = {}, {}
        self.current = self._next.finished()

    def refresh(self, services: Iterable[ObjectKey], state: ClusterState) -> int:
        """Find the endpoints of *services* again; return how many backends of the current version changed."""
        is_settled = self._next.finished() is self.current
        changes: dict[BackendReference, BackendState | None] = {}
        for service in services:
            for reference in self._by_service.get(service):
                before = self.current.get(reference)
                if before is None:
                    # A round is on its way to it, or has been there already.
                    self._stale[reference] = None
                    continue
                found = resolve_backend(reference, state, self._options)
                if found != before:
                    changes[reference] = found
                if reference in self._uses and found != self._next.get(reference):
                    self._next.put(reference, found)
        self.current = self._next.finished() if is_settled else self.current.patched(changes)
        return len(changes)


def shared_key(reference: BackendReference, state: ClusterState) -> ObjectKey:
    """Return the key of the Service of *reference*: that of the Service itself, if there is one, for memory's sake."""
    key = service_key(reference)
    service = state.services.get(key)
    return key if service is None else service.key
