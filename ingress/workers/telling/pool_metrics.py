"""The metrics of all workers, in their parent: adds up what they tell, and asks them when somebody wants to see it."""

from collections.abc import Callable, Collection, Mapping

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ingress.metrics.metrics import Metrics
from ingress.metrics.totals.tallies import TallyError
from ingress.metrics.totals.totals import Life, Totals
from ingress.workers.telling.tally_rounds import TallyRounds


class PoolMetrics:
    """Has *metrics* show what workers tell; *ask* is that of ``TallyRounds``, by life."""

    log = Logger()

    def __init__(
        self,
        metrics: Metrics,
        clock: IReactorTime,
        ask: Callable[[Collection[int]], Mapping[int, Deferred[bytes]]],
    ) -> None:
        self._totals = Totals(metrics)
        self._rounds = TallyRounds(clock, ask)
        self._lives: dict[int, Life] = {}
        self._told_of: set[int] = set()
        """Lives of which the log has said that they tell nonsense."""

    def began(self, life: int, slot: int) -> None:
        """A worker begins in *slot*; *life* is a number that no other has."""
        self._lives[life] = self._totals.begin(slot)

    def gone(self, life: int) -> None:
        """It is gone: its counters stay, its gauges go."""
        ended = self._lives.pop(life, None)
        if ended is not None:
            ended.ended()
        self._told_of.discard(life)

    def took(self, life: int, octets: bytes) -> None:
        """It told *octets*."""
        known = self._lives.get(life)
        if known is None:
            return
        try:
            known.take(octets)
        except TallyError as error:
            if life not in self._told_of:
                self._told_of.add(life)
                self.log.error(
                    "Worker {slot} tells numbers that make no sense, and that are left out: {error}",
                    slot=known.slot,
                    error=str(error),
                )

    def told(self) -> Deferred[None]:
        """Return what fires when all workers have told what they counted, or some time is over."""
        return self._rounds.told()
