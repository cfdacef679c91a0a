"""Decisions that are awaited: each comes, is too late, or is not wanted any more, whichever is first, and once."""

from collections.abc import Awaitable, Callable
from inspect import iscoroutine
from weakref import WeakSet

from twisted.internet.defer import Deferred
from twisted.internet.error import AlreadyCalled
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.python.failure import Failure


class Decision:
    """One awaited decision; it begins with ``start``, and what is passed in is called at most once of all three.

    *decided* gets what was decided, *failed* what was raised in its place, and *late* nothing.
    """

    def __init__(
        self,
        coming: Awaitable[object],
        decided: Callable[[object], None],
        failed: Callable[[Failure], None],
        late: Callable[[], None],
    ) -> None:
        self._coming = deferred_of(coming)
        self._decided = decided
        self._failed = failed
        self._late = late
        self._timer: IDelayedCall | None = None
        self._is_over = False

    def start(self, clock: IReactorTime, seconds: float) -> None:
        """Wait, for *seconds* at most; what has come already is told at once."""
        self._timer = clock.callLater(seconds, self._expire)
        self._coming.addCallbacks(self._came, self._raised)

    def cancel(self) -> None:
        """Nobody waits any more: whatever comes now changes nothing."""
        if not self._is_over:
            self._end()
            self._coming.cancel()

    def _came(self, result: object) -> None:
        if not self._is_over:
            self._end()
            self._decided(result)

    def _raised(self, failure: Failure) -> None:
        if not self._is_over:
            self._end()
            self._failed(failure)

    def _expire(self) -> None:
        self._timer = None
        self._end()
        self._coming.cancel()
        self._late()

    def _end(self) -> None:
        self._is_over = True
        timer, self._timer = self._timer, None
        if timer is not None:
            try:
                timer.cancel()
            except AlreadyCalled:
                pass  # It is what calls us.


_waited_for: WeakSet[Deferred[object]] = WeakSet()


def deferred_of(coming: Awaitable[object]) -> Deferred[object]:
    """Return what fires with what *coming* gives.

    Raises ``ValueError`` for a Deferred that was here before: to the second who waits for one it would say that nothing
    was decided, which lets a request pass.
    """
    if isinstance(coming, Deferred):
        if coming in _waited_for:
            raise ValueError("two requests cannot wait for the same Deferred")
        _waited_for.add(coming)
        return coming
    if iscoroutine(coming):
        return Deferred.fromCoroutine(coming)

    async def awaited() -> object:
        return await coming

    return Deferred.fromCoroutine(awaited())
