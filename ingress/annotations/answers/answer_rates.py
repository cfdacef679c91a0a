"""How fast an answer is sent: ``limit-rate`` and ``limit-rate-after``.

As in ingress-nginx a bare number is kilobytes: by the second, for each request by itself, and before the rate holds.  A size with
a unit is taken, too.  As in nginx the first second's bytes may go at once.

Whoever sends the body is made to wait, so nothing piles up here; others on the same connection of HTTP/2 go on.
"""

import re
from typing import ClassVar, Final

from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import Annotation, Family, ValueRefused
from ingress.filters import AnswerHead, BodyFlow, BodyStage, Clock, Facts, Filter, FilterSpec, Phase, Services
from ingress.model.frozen import frozen

SHORTEST_WAIT_SECONDS: Final = 0.05
"""What is ahead by less goes on: so many timers a second for an answer, and no more."""

_match_size = re.compile(r"([0-9]{1,9})([kKmMgG]?)", re.ASCII).fullmatch
_UNITS: Final = {"": 1024, "k": 1024, "m": 1024**2, "g": 1024**3}


def parse_kilobytes(text: str) -> int:
    """Read a number of kilobytes, or a size with ``k``, ``m`` or ``g``; return bytes."""
    match = _match_size(text.strip())
    if match is None:
        raise ValueRefused('is not a number of kilobytes, nor a size such as "512k" or "2m"')
    return int(match[1]) * _UNITS[match[2].lower()]


@frozen
class AnswerRateSettings:
    """What an Ingress, or the operator, says about it; in bytes."""

    by_second: int = 0
    """0 is no limit."""
    after: int = 0


@frozen
class AnswerRate:
    """Sends bodies of answers no faster than so many bytes *by_second*, *after* the first ones."""

    phase: ClassVar[Phase] = Phase.LIMITS
    name: ClassVar[str] = "answer-rate"

    by_second: int
    after: int = 0

    def describe(self) -> str:
        """Say how fast."""
        after = f" after the first {self.after}" if self.after else ""
        return f"sends an answer at {self.by_second} bytes a second{after}"

    def make(self, services: Services) -> Filter:
        """Make the filter that slows down."""
        return _SlowsDown(self, services.clock)


class _SlowsDown(Filter):
    watches_bodies = True

    def __init__(self, spec: AnswerRate, clock: Clock) -> None:
        self._spec = spec
        self._clock = clock

    def on_answer_body(self, facts: Facts, head: AnswerHead, flow: BodyFlow) -> BodyStage | None:
        """Return what sets the pace, of a body that is not known to be within what goes at once."""
        length = head.content_length
        if length is not None and length <= self._spec.after + self._spec.by_second:
            return None
        return _Pace(self._spec, self._clock, flow)


class _Pace:
    """Lets a body pass, and has it wait as long as it is ahead of its rate."""

    def __init__(self, spec: AnswerRate, clock: Clock, flow: BodyFlow) -> None:
        self._by_second = spec.by_second
        self._clock = clock
        self._flow = flow
        self._began = clock.seconds()
        self._ahead = -(spec.after + spec.by_second)
        """Bytes that were sent beyond what might be sent when it began."""

    def feed(self, piece: bytes) -> bytes:
        """Let it pass."""
        self._ahead += len(piece)
        seconds = self._ahead / self._by_second - (self._clock.seconds() - self._began)
        if seconds >= SHORTEST_WAIT_SECONDS:
            self._flow.pause()
            self._clock.call_later(seconds, self._flow.resume)
        return piece

    def finish(self) -> bytes:
        """Add nothing."""
        return b""


def answer_rate_filters(settings: AnswerRateSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return what slows answers down, where anybody asks for it."""
    return (AnswerRate(settings.by_second, settings.after),) if settings.by_second else ()


_VALUES: Final = "kilobytes, or a size with `k`, `m` or `g`; `0` by default"

ANSWER_RATES: Final = Family(
    name="answer_rates",
    settings=AnswerRateSettings(),
    acts="how fast an answer is sent",
    phases=(Phase.LIMITS,),
    filters=answer_rate_filters,
    filters_unasked=True,
    annotations={
        "limit-rate": Annotation(
            "by_second",
            parse_kilobytes,
            instead="answers are sent as fast as they are taken",
            values=_VALUES,
            meaning="how much of an answer is sent in a second; `0` is no limit",
            differs="takes units, too",
            operators=True,
        ),
        "limit-rate-after": Annotation(
            "after",
            parse_kilobytes,
            values=_VALUES,
            meaning="how much of an answer is sent before limit-rate holds",
            differs="takes units, too",
            operators=True,
        ),
    },
)
