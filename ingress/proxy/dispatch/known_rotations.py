"""The rotations of backends that were asked for, as snapshots have their endpoints.

They are one for all tables.  Where many backends are others in one snapshot, all rotations are *behind*: steps give them the endpoints of
now, while that snapshot is in force already, and whoever asks for one before has it brought up at once.  So no request that comes then
goes by endpoints of before.
"""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.model.shared_map import SharedMap
from ingress.model.stepwise import Stepwise
from ingress.model.upstream.backends import BackendReference, BackendState
from ingress.model.upstream.balancing import Balancing
from ingress.process.in_slices import in_slices
from ingress.proxy.upstream.rotation import Rotation

AT_ONCE: Final = 50
"""Rotations that get other endpoints in one step, or amid a publication."""
SEEN_AT_ONCE: Final = 800
"""Backends that are looked at amid a publication, of both snapshots."""

_Portion = list[tuple[BackendReference, BackendState | None]]


class KnownRotations:
    """Those that there are; *clock* delays."""

    log: ClassVar[Logger] = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self.backends: SharedMap[BackendReference, BackendState] = SharedMap()
        """Those of the current snapshot."""
        self.usual: dict[BackendReference, Rotation] = {}
        """That of each backend, but for those that are behind; always the same dictionary."""
        self.asked_for: dict[BackendReference, dict[Balancing, Rotation]] = {}
        """Those of routes that share requests in a way of their own; always the same dictionary."""
        self._behind: dict[BackendReference, Rotation] = {}
        self._is_catching_up = False

    def __iter__(self) -> Iterator[Rotation]:
        yield from self.usual.values()
        yield from self._behind.values()
        for some in self.asked_for.values():
            yield from some.values()

    def brought_up(self, backend: BackendReference) -> Rotation | None:
        """Return the rotation of *backend*, if it was behind and the snapshot has that backend."""
        rotation = self._behind.pop(backend, None)
        if rotation is None:
            return None
        self._bring_up(backend, rotation)
        return self.usual.get(backend)

    def follow(self, backends: SharedMap[BackendReference, BackendState]) -> None:
        """Give rotations the endpoints that *backends* has; costs what is different, if it is made of those before."""
        before, self.backends = self.backends, backends
        if backends is before or not (self.usual or self._behind):
            return
        few = None if self._behind else self._few(backends.portions_since(before, SEEN_AT_ONCE))
        if few is None:
            self._behind.update(self.usual)
            self.usual.clear()
        else:
            self._behind.update((backend, self.usual.pop(backend)) for backend in few)
            for backend in few:
                self.brought_up(backend)
        if self._behind and not self._is_catching_up:
            self._is_catching_up = True
            in_slices(self._clock, self._catch_up()).addErrback(self._failed)

    def forget(self) -> None:
        """Have rotations made anew when they are asked for."""
        for rotation in self:
            rotation.show(False)
        self.usual.clear()
        self._behind.clear()
        self.asked_for.clear()

    def _few(self, portions: Iterable[_Portion]) -> list[BackendReference] | None:
        """Return which rotations are to have other endpoints; None where that are many, or takes long to find out."""
        found: list[BackendReference] = []
        for number, portion in enumerate(portions):
            found += [backend for backend, _ in portion if backend in self.usual]
            if number or len(found) > AT_ONCE:
                return None
        return found

    def _catch_up(self) -> Stepwise[None]:
        done = 0
        # More are behind again where another snapshot comes meanwhile; those that are so for longer have their turn first.
        while self._behind:
            for backend in [*self._behind]:
                self.brought_up(backend)
                done += 1
                if not done % AT_ONCE:
                    yield
        self._is_catching_up = False

    def _bring_up(self, backend: BackendReference, usual: Rotation) -> None:
        """Give the rotations of *backend* the endpoints of now, or forget them where it is gone."""
        state = self.backends.get(backend)
        endpoints, elsewhere = ((), ()) if state is None else (state.endpoints, state.elsewhere)
        for each in (usual, *self.asked_for.get(backend, {}).values()):
            each.assign(endpoints, elsewhere)
            each.show(state is not None)
        if state is None:
            self.asked_for.pop(backend, None)
        else:
            self.usual[backend] = usual

    def _failed(self, failure: Failure) -> None:
        """Tell of a bug: what is behind is brought up when it is asked for, or after the next publication."""
        self._is_catching_up = False
        self.log.failure("Endpoints could not be given to their rotations, which is a bug", failure=failure)
