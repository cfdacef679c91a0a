"""What takes long, a slice at a time, between which the reactor does other things; and one for all who ask at once."""

from collections.abc import Callable
from functools import partial
from typing import Final, Generic, TypeVar

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.python.failure import Failure

from ingress.model.stepwise import Stepwise

T = TypeVar("T")

SLICE_SECONDS: Final = 0.00015
"""How long such work keeps requests waiting at a time, give or take a step of it.

A request meets two or three turns of the reactor on its way, so while much is under way it waits for as many slices;
and a turn by itself takes some hundredths of a millisecond, so shorter ones would mostly be turns.
"""


def in_slices(clock: IReactorTime, steps: Stepwise[T]) -> Deferred[T]:
    """Take *steps*, some of them in each turn of the reactor; fires with what they find, and may be cancelled."""
    call: IDelayedCall | None = None
    is_stepping = is_over = False

    def cancel(_: Deferred[T]) -> None:
        nonlocal is_over
        is_over = True
        if call is not None and call.active():
            call.cancel()
        if not is_stepping:
            # Else a step has led here, after which there is no other.
            steps.close()

    found: Deferred[T] = Deferred(cancel)

    def go_on(again: Callable[..., None]) -> None:
        # It is handed itself: a function that refers to itself is a cycle, and so is all that it knows.
        nonlocal call, is_stepping
        call = None
        until = clock.seconds() + SLICE_SECONDS
        is_stepping = True
        try:
            while not is_over:
                next(steps)
                if clock.seconds() >= until:
                    break
        except StopIteration as end:
            if not is_over:
                found.callback(end.value)
        except Exception:
            if is_over:
                raise
            found.errback()
        else:
            if is_over:
                steps.close()
            else:
                call = clock.callLater(0, partial(again, again))
        finally:
            is_stepping = False

    call = clock.callLater(0, partial(go_on, go_on))
    return found


def first_at_once(clock: IReactorTime, steps: Stepwise[T]) -> Deferred[T]:
    """Take the first of *steps* now, and others, if there are any, as ``in_slices`` does; raises what the first one does."""
    try:
        next(steps)
    except StopIteration as end:
        return succeed(end.value)
    return in_slices(clock, steps)


class OneForAll(Generic[T]):
    """Asks by *ask*, once for all who want to know meanwhile."""

    def __init__(self, ask: Callable[[], Deferred[T]]) -> None:
        self._ask = ask
        self._waiting: list[Deferred[T]] = []
        self._is_asking = False

    def __call__(self) -> Deferred[T]:
        """Return what fires with the answer, or fails as asking did; it may be cancelled."""
        waiting: Deferred[T] = Deferred(self._waiting.remove)
        self._waiting.append(waiting)
        if not self._is_asking:
            self._is_asking = True
            self._ask().addCallbacks(self._answered, self._failed)
        return waiting

    def _answered(self, answer: T) -> None:
        for one in self._all():
            one.callback(answer)

    def _failed(self, failure: Failure) -> None:
        for one in self._all():
            one.errback(failure)

    def _all(self) -> list[Deferred[T]]:
        self._is_asking = False
        waiting, self._waiting = self._waiting, []
        return waiting
