"""What is still to come, for one who waits for it: what a ``Deferred`` is, for a fraction of its cost.

It has one listener, and no chain of callbacks.  Whoever makes it sees to it that it comes to an end.
"""

from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred

T = TypeVar("T")


def _nobody(outcome: object) -> None:
    """Who listens before anybody does, and once nobody does any more."""


def _nothing() -> None:
    """What cancelling does once it is over."""


class Pending(Generic[T]):
    """One thing to come; *cancelled* is called if nobody wants it any more before it has."""

    __slots__ = ("_came", "_cancelled", "_error", "_failed", "_is_over", "_value")

    def __init__(self, cancelled: Callable[[], object]) -> None:
        self._cancelled = cancelled
        self._came: Callable[[T], object] = _nobody
        self._failed: Callable[[BaseException], object] = _nobody
        self._value: tuple[T] | None = None
        self._error: BaseException | None = None
        self._is_over = False

    def listen(self, came: Callable[[T], object], failed: Callable[[BaseException], object]) -> None:
        """Have one of these called with what comes, or with what was raised in its place: at once if it is there."""
        value, error = self._value, self._error
        self._value = self._error = None
        if value is not None:
            came(value[0])
        elif error is not None:
            failed(error)
        elif not self._is_over:
            self._came, self._failed = came, failed

    def come(self, value: T) -> None:
        """Here it is; nothing happens if nobody wants it any more."""
        if not self._is_over:
            came = self._end()[0]
            if came is _nobody:
                self._value = (value,)
            else:
                came(value)

    def fail(self, error: BaseException) -> None:
        """It will not come; nothing happens if nobody wants it any more."""
        if not self._is_over:
            failed = self._end()[1]
            if failed is _nobody:
                self._error = error
            else:
                failed(error)

    def cancel(self) -> None:
        """Nobody wants it any more."""
        if not self._is_over:
            cancelled = self._cancelled
            self._end()
            cancelled()

    def _end(self) -> tuple[Callable[[T], object], Callable[[BaseException], object]]:
        listeners = self._came, self._failed
        self._is_over = True
        # What is called knows who waits, who knows this: nobody needs to look for what is left of a circle.
        self._came = self._failed = _nobody
        self._cancelled = _nothing
        return listeners

    def __await__(self) -> Generator[Any, Any, T]:
        deferred: Deferred[T] = Deferred(lambda _: self.cancel())
        self.listen(deferred.callback, deferred.errback)
        return deferred.__await__()
