"""The rotations of backends that were asked for, as snapshots have their endpoints.

They are one for all tables.  Where thousands of backends are others in one snapshot, those whose endpoints are known get the new ones in
slices behind the publication, as they do where EndpointSlices change: a request may go to an endpoint of before for some milliseconds.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.model.backends import BackendReference, BackendState
from ingress.model.balancing import Balancing
from ingress.model.shared_map import SharedMap
from ingress.model.stepwise import Stepwise
from ingress.process.in_slices import first_at_once
from ingress.proxy.upstream.rotation import Rotation

AT_ONCE: Final = 50
"""Backends whose rotations get other endpoints in one step."""
SEEN_AT_ONCE: Final = 400
"""Backends that are looked at in one step."""

_Portion = list[tuple[BackendReference, BackendState | None]]


class KnownRotations:
    """Those that there are; *clock* delays."""

    log: ClassVar[Logger] = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._backends: SharedMap[BackendReference, BackendState] = SharedMap()
        self.usual: dict[BackendReference, Rotation] = {}
        """That of each backend; always the same dictionary."""
        self.asked_for: dict[BackendReference, dict[Balancing, Rotation]] = {}
        """Those of routes that share requests in a way of their own; always the same dictionary."""
        self._changes: deque[Iterator[_Portion]] = deque()
        """What is different from one snapshot to the next; there while rotations get their endpoints."""

    def __iter__(self) -> Iterator[Rotation]:
        yield from self.usual.values()
        for some in self.asked_for.values():
            yield from some.values()

    def of(self, backend: BackendReference) -> Iterable[Rotation]:
        """Return all rotations of *backend*."""
        usual = self.usual.get(backend)
        return () if usual is None else (usual, *self.asked_for.get(backend, {}).values())

    def follow(self, backends: SharedMap[BackendReference, BackendState]) -> None:
        """Give rotations the endpoints that *backends* has, soon; costs what is different, if it is made of those before."""
        before, self._backends = self._backends, backends
        if backends is before or not (self.usual or self._changes):
            return
        self._changes.append(backends.portions_since(before))
        if len(self._changes) == 1:
            try:
                # Few take one step, and have theirs at once.
                assigned = first_at_once(self._clock, self._assign())
            except Exception:
                self._changes.clear()
                raise
            assigned.addErrback(self._failed)

    def forget(self) -> None:
        """Have rotations made anew when they are asked for."""
        for rotation in self:
            rotation.show(False)
        self.usual.clear()
        self.asked_for.clear()

    def _assign(self) -> Stepwise[None]:
        done = seen = 0
        while self._changes:
            for portion in self._changes[0]:
                for backend, _ in portion:
                    if backend in self.usual:
                        self._bring_up(backend)
                        done += 1
                        if not done % AT_ONCE:
                            yield
                seen += len(portion)
                if seen >= SEEN_AT_ONCE:
                    seen = 0
                    yield
            self._changes.popleft()

    def _bring_up(self, backend: BackendReference) -> None:
        """Give the rotations of *backend* the endpoints of now, whatever it was that changed."""
        state = self._backends.get(backend)
        endpoints, elsewhere = ((), ()) if state is None else (state.endpoints, state.elsewhere)
        for each in self.of(backend):
            each.assign(endpoints, elsewhere)
            each.show(state is not None)
        if state is None:
            del self.usual[backend]
            self.asked_for.pop(backend, None)

    def _failed(self, failure: Failure) -> None:
        self._changes.clear()
        self.log.failure("Endpoints could not be given to their rotations, which is a bug", failure=failure)
