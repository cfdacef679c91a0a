"""A filter that says on each answer what time of day it is.

``--filter time-of-day`` puts ``X-Time-Of-Day: morning`` on all answers, ``--filter time-of-day=X-When`` calls it ``X-When``.
"""

import re
from typing import ClassVar

from attrs import frozen

from ingress.filters import AnswerEdit, Clock, Facts, Filter, Phase, Services

NAMES = ("night", "morning", "afternoon", "evening")
"""From midnight (UTC) on, six hours each."""

_is_field_name = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}").fullmatch


def read(arguments: str) -> "TimeOfDay":
    """Make the spec of ``--filter time-of-day[=FIELD]``."""
    field = arguments or "X-Time-Of-Day"
    if _is_field_name(field) is None:
        raise ValueError(f"{field!r} is not the name of a field")
    return TimeOfDay(field)


@frozen
class TimeOfDay:
    """What was asked for: plain data, in the snapshot."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "time-of-day"

    field: str = "X-Time-Of-Day"

    def describe(self) -> str:
        """Say what its filter does."""
        return f"says the time of day in {self.field}"

    def make(self, services: Services) -> Filter:
        """Make the filter."""
        return _Says(self.field.encode("ascii"), services.clock)


class _Says(Filter):
    """What lives in the proxy."""

    def __init__(self, field: bytes, clock: Clock) -> None:
        self._field = field
        self._clock = clock

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        """Put the field."""
        edit.put(self._field, NAMES[self._clock.now().hour // 6].encode("ascii"))
