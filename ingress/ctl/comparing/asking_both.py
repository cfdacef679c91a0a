"""Asks both sides for each sample, at a pace, until there are no more or one of them is down."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

from ingress.ctl.comparing.answers import Answer, SideDownError
from ingress.ctl.comparing.pace import Pace
from ingress.ctl.comparing.samples import Sample
from ingress.model.frozen import frozen

SILENT: Final = 20
"""Samples in a row to which one side says nothing, before it is taken to be down."""
SAFE_METHODS: Final = frozenset(("GET", "HEAD", "OPTIONS"))
"""Methods that may be asked again (RFC 9110 section 9.2.1)."""


class Asks(Protocol):
    """A side that can be asked."""

    @property
    def name(self) -> str:
        """What it is called."""

    def ask(self, sample: Sample) -> Answer:
        """Return its answer; raises ``SideDownError``."""


@frozen
class Pair:
    """What both sides say to a sample; *again* is what they said the second time, where they were asked twice."""

    sample: Sample
    theirs: Answer
    ours: Answer
    again: "tuple[Answer, Answer] | None" = None


class AskingBoth:
    """Asks *theirs* and then *ours*, one request after the other.

    *differ* says whether answers differ; these are asked for once more, so that what changes by itself is known.
    """

    def __init__(
        self, theirs: Asks, ours: Asks, pace: Pace, differ: Callable[[Sample, Answer, Answer], bool]
    ) -> None:
        self._sides = (theirs, ours)
        self._pace = pace
        self._differ = differ
        self._silent = {theirs.name: 0, ours.name: 0}
        self._was_well: set[tuple[str, str]] = set()
        self.sent = {theirs.name: 0, ours.name: 0}
        """How many requests each side got."""

    def pairs(self, samples: Iterable[Sample]) -> Iterator[Pair]:
        """Yield what they say; raises ``SideDownError`` when one of them is down."""
        for sample in samples:
            theirs, ours = self._both(sample)
            again = None
            if sample.method in SAFE_METHODS and self._differ(sample, theirs, ours):
                again = self._both(sample)
            yield Pair(sample, theirs, ours, again)

    def _both(self, sample: Sample) -> tuple[Answer, Answer]:
        theirs, ours = (self._ask(side, sample) for side in self._sides)
        return theirs, ours

    def _ask(self, side: Asks, sample: Sample) -> Answer:
        self._pace.wait()
        self.sent[side.name] += 1
        answer = side.ask(sample)
        self._note_silence(side, answer)
        self._note_load(side, sample, answer)
        return answer

    def _note_silence(self, side: Asks, answer: Answer) -> None:
        self._silent[side.name] = 0 if answer.status else self._silent[side.name] + 1
        if self._silent[side.name] >= SILENT:
            raise SideDownError(f"{side.name} gave {SILENT} requests in a row no answer: {answer.failure}")

    def _note_load(self, side: Asks, sample: Sample, answer: Answer) -> None:
        """Slow down for what answered well before, and does not now.

        What has never answered otherwise, such as a path whose Service has no endpoint, is not there, and not busy.
        """
        key = (side.name, sample.of)
        if not answer.is_overload:
            self._was_well.add(key)
            self._pace.speed_up()
        elif key in self._was_well or answer.retry_after or answer.is_late:
            self._pace.slow_down(answer.retry_after)
