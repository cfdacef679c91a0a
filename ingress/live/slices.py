"""Long work in short steps, between which the reactor serves requests, and no more of it in a second than a share of one."""

from collections.abc import Iterator

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ingress.process.in_slices import SLICE_SECONDS


class Slices:
    """Goes on with one piece of work after the other."""

    log = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._work: list[Iterator[object]] = []
        self._turn: IDelayedCall | None = None

    @property
    def is_working(self) -> bool:
        """Whether anything is under way."""
        return bool(self._work)

    def begin(self, work: Iterator[object]) -> None:
        """Do *work*, after what is under way; a step is what it does between two of its values."""
        self._work.append(work)
        self._continue()

    def stop(self) -> None:
        """Do no more of it."""
        self._work.clear()
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None

    def _continue(self) -> None:
        if self._turn is None and self._work:
            self._turn = self._clock.callLater(0, self._take_turn)

    def _take_turn(self) -> None:
        self._turn = None
        seconds = self._clock.seconds
        until = seconds() + SLICE_SECONDS
        work = self._work[0]
        try:
            for _ in work:
                if seconds() >= until:
                    break
            else:
                self._done(work)
        except Exception:
            self.log.failure("Making numbers of the moment failed, which is a bug")
            self._done(work)
        self._continue()

    def _done(self, work: Iterator[object]) -> None:
        if self._work and self._work[0] is work:
            del self._work[0]
