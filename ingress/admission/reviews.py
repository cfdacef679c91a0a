"""The reviews that wait, and the one that is judged: some of it in each slice, between which the reactor serves requests.

    body ──▶ read, in the order in which they came ──▶ nothing to judge: yes
                                                  └──▶ one of ours: judged, in their order ──▶ yes, with warnings

To read is short and comes first, since without it nobody can be answered.  However much there is to do, reviews have less than half of
the reactor's time, and whoever has waited for ``DEADLINE_SECONDS`` has his answer: yes, and that it was not looked at.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ingress.admission.json_steps import TextTooLargeError, decoding
from ingress.admission.review import (
    NOT_LOOKED_AT,
    UNREAD,
    AdmissionRequest,
    answer,
    read_review,
    told,
    warnings_of,
)
from ingress.metrics.series.admission import AdmissionMetrics, ReviewOutcome
from ingress.model.cluster.problems import Problem
from ingress.model.stepwise import Stepwise

SLICE_SECONDS: Final = 0.0004
REST_SECONDS: Final = 0.0005
"""Between two slices, in which the reactor does what else there is."""
DEADLINE_SECONDS: Final = 4.0
"""An API server waits for five."""
MOST_WAITING: Final = 16
"""Of those that are to be judged, besides the one that is."""

_OBJECT: Final = "object"

Judge = Callable[[AdmissionRequest], Stepwise[Sequence[Problem] | None]]
"""Finds, in steps, the problems that an Ingress would have; None for one that is not ours."""


class BusyError(Exception):
    """A review that was not even read in time; an API server takes that for a yes, as its configuration says."""


class _Review:
    def __init__(self, octets: bytes | bytearray) -> None:
        self.octets = octets
        self.asked: AdmissionRequest | None = None
        self.steps: Stepwise[None] | None = None
        self.deadline: IDelayedCall | None = None
        self.answered: Deferred[bytes] = Deferred()


class Reviews:
    """Answers reviews by what *judge* finds, as soon as it *is_ready*: before that with yes alone."""

    log = Logger()

    def __init__(
        self, judge: Judge, is_ready: Callable[[], bool], clock: IReactorTime, metrics: AdmissionMetrics
    ) -> None:
        self._judge = judge
        self._is_ready = is_ready
        self._clock = clock
        self._metrics = metrics
        self._unread: deque[_Review] = deque()
        self._to_judge: deque[_Review] = deque()
        self._at_work: _Review | None = None
        self._turn: IDelayedCall | None = None

    def review(self, octets: bytes | bytearray) -> Deferred[bytes]:
        """Return what fires with the answer to *octets*, and may be cancelled.

        It fails with ``ReviewRefusedError``, ``TextTooLargeError`` or ``ValueError`` for what is no review, and with ``BusyError``.
        """
        review = _Review(octets)
        review.answered = Deferred(lambda _: self._drop(review))
        review.deadline = self._clock.callLater(DEADLINE_SECONDS, self._late, review)
        review.steps = self._read(review)
        self._unread.append(review)
        self._continue()
        return review.answered

    def _continue(self) -> None:
        if self._turn is None and (self._unread or self._to_judge):
            self._turn = self._clock.callLater(REST_SECONDS, self._take_turn)

    def _take_turn(self) -> None:
        self._turn = None
        seconds = self._clock.seconds
        until = seconds() + SLICE_SECONDS
        while self._unread or self._to_judge:
            review = (self._unread or self._to_judge)[0]
            steps = review.steps
            assert steps is not None
            self._at_work = review
            try:
                next(steps)
            except StopIteration:
                # It has its answer, or waits in the other line.
                pass
            except Exception as error:
                if review.asked is None and isinstance(error, ValueError):
                    self._end(review, error)
                else:
                    self._broken(review)
            self._at_work = None
            if seconds() >= until:
                break
        self._continue()

    def _read(self, review: _Review) -> Stepwise[None]:
        octets, review.octets = review.octets, b""
        is_too_large = False
        try:
            document = yield from decoding(octets, UNREAD)
        except TextTooLargeError:
            # Without what is to be judged there may be little of it.
            is_too_large = True
            document = yield from decoding(octets, UNREAD | {_OBJECT})
        asked = review.asked = read_review(document)
        self._unread.remove(review)
        if is_too_large:
            self._answer_unread(review, "it is too large")
        elif asked.ingress is None:
            self._answer(review, ReviewOutcome.FOREIGN)
        elif not self._is_ready():
            self._answer(review, ReviewOutcome.UNREAD)
        elif len(self._to_judge) > MOST_WAITING:
            self._answer_unread(review, "too many others wait")
        else:
            review.steps = self._judged(review, asked)
            self._to_judge.append(review)

    def _judged(self, review: _Review, asked: AdmissionRequest) -> Stepwise[None]:
        problems = yield from self._judge(asked)
        if problems is None:
            self._answer(review, ReviewOutcome.FOREIGN)
            return
        warnings = warnings_of((yield from told(problems)))
        self._answer(review, ReviewOutcome.WARNED if warnings else ReviewOutcome.CLEAN, warnings)

    def _late(self, review: _Review) -> None:
        review.deadline = None
        if review.asked is None:
            self._end(review, BusyError())
        else:
            self._answer_unread(review, f"that took longer than {DEADLINE_SECONDS:g} seconds")

    def _broken(self, review: _Review) -> None:
        self.log.failure("Judging an Ingress for the admission webhook failed, which is a bug")
        if review.asked is None:
            self._end(review, BusyError())
        else:
            self._answer_unread(review, "there is a bug, which the controller's log tells of")

    def _answer_unread(self, review: _Review, why: str) -> None:
        self._answer(review, ReviewOutcome.UNREAD, (NOT_LOOKED_AT.format(why=why),))

    def _answer(self, review: _Review, outcome: ReviewOutcome, warnings: Sequence[str] = ()) -> None:
        assert review.asked is not None
        self._metrics.reviewed(outcome)
        self._drop(review)
        review.answered.callback(answer(review.asked.uid, warnings))

    def _end(self, review: _Review, error: Exception) -> None:
        self._drop(review)
        review.answered.errback(error)

    def _drop(self, review: _Review) -> None:
        """Have nothing more to do with *review*."""
        for line in (self._unread, self._to_judge):
            if review in line:
                line.remove(review)
        if review.deadline is not None:
            review.deadline.cancel()
            review.deadline = None
        if self._turn is not None and not self._unread and not self._to_judge:
            self._turn.cancel()
            self._turn = None
        steps, review.steps = review.steps, None
        if steps is not None and review is not self._at_work:
            steps.close()
