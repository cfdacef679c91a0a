"""Failures on their way from a worker, which had the requests, to its parent, which shows them.

They go in batches, and wait for nobody: of a parent that does not read, those that come meanwhile are counted alone.  The parent
takes a worker's word for what a failure can be, and for so much of it a second.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ingress.history.failures import MOST_A_SECOND
from ingress.history.rings import Ring
from ingress.model.exchanges.causes import Cause
from ingress.model.observability.changes_and_failures import (
    MOST_ATTEMPTS,
    MOST_CHARACTERS,
    FailedAttempt,
    Failure,
)
from ingress.process.framing import NonsenseError

BATCH: Final = 10
"""Of so many a message is made and read in a fraction of a millisecond."""
SECONDS: Final = 0.2
"""How long one waits for others that go with it."""
MOST_UNSENT: Final = 262_144
"""Bytes that may wait for the parent; beyond that failures are counted, and not sent."""
MOST_MESSAGES: Final = 2 * MOST_A_SECOND // BATCH + 10
"""How many messages of one worker are read in a second."""
MOST_LEFT_OUT: Final = 10**9
"""Of one message; no worker has as many between two."""
_LAST_TIME: Final = 1e11
"""Seconds since the epoch; what comes later no calendar here knows."""
_LONGEST_SECONDS: Final = 1e9
_CAUSES: Final = frozenset(cause.value for cause in Cause)


class FailureSender:
    """Has *push* called with batches; *unsent* returns how many bytes still wait for the parent."""

    def __init__(self, clock: IReactorTime, push: Callable[[bytes], None], unsent: Callable[[], int]) -> None:
        self._clock = clock
        self._push = push
        self._unsent = unsent
        self._waiting: list[Failure] = []
        self._call: IDelayedCall | None = None
        self.left_out = 0
        """How many were not kept since the last message."""

    def add(self, failure: Failure, /) -> None:
        """Send *failure* soon."""
        self._waiting.append(failure)
        if len(self._waiting) >= BATCH:
            self.flush()
        elif self._call is None:
            self._call = self._clock.callLater(SECONDS, self.flush)

    def flush(self) -> None:
        """Send what waits now."""
        call, self._call = self._call, None
        if call is not None and call.active():
            call.cancel()
        failures, self._waiting = self._waiting, []
        if not failures and not self.left_out:
            return
        if self._unsent() > MOST_UNSENT:
            self.left_out += len(failures)
            self._call = self._clock.callLater(SECONDS, self.flush)
            return
        left_out, self.left_out = min(self.left_out, MOST_LEFT_OUT), 0
        self._push(failures_to_bytes(failures, left_out))


class ToldFailures:
    """Puts what workers tell into *ring*; *slot_of* knows whose life is which, *seconds* returns those of a clock that nobody sets."""

    def __init__(
        self, ring: Ring[Failure], slot_of: Callable[[int], int | None], seconds: Callable[[], float]
    ) -> None:
        self._ring = ring
        self._slot_of = slot_of
        self._seconds = seconds
        self._since = 0.0
        self._messages: dict[int, int] = {}

    def took(self, life: int, octets: bytes) -> None:
        """Take a message of the worker in that *life*; raises ``NonsenseError`` for what is none."""
        now = self._seconds()
        if not 0 <= now - self._since < 1.0:
            self._since = now
            self._messages.clear()
        count = self._messages[life] = self._messages.get(life, 0) + 1
        if count > MOST_MESSAGES:
            self._ring.left_out += BATCH
            return
        failures, left_out = failures_from_bytes(octets, self._slot_of(life))
        self._ring.left_out += left_out
        for failure in failures:
            self._ring.add(failure)


def failures_to_bytes(failures: list[Failure], left_out: int) -> bytes:
    """Return them as they travel, with how many were *left_out*."""
    return json.dumps([left_out, list(map(_to_plain, failures))]).encode()


def failures_from_bytes(octets: bytes, slot: int | None) -> tuple[list[Failure], int]:
    """Return what the worker of *slot* told: failures, and how many were left out.  Raises ``NonsenseError``."""
    try:
        left_out, found = json.loads(octets)
        if len(found) > BATCH:
            raise ValueError
        return [_from_plain(one, slot) for one in found], _whole(left_out, MOST_LEFT_OUT)
    except (ValueError, TypeError, RecursionError):
        raise NonsenseError("failures that are none") from None


def _to_plain(failure: Failure) -> list[object]:
    return [
        failure.at.timestamp(), failure.cause, failure.status, failure.reason, failure.method, failure.host, failure.path,
        failure.seconds, failure.ingress, failure.backend, failure.filter,
        [[one.endpoint, one.outcome, one.began, one.seconds, one.connected, one.is_reused] for one in failure.attempts],
        failure.more_attempts, failure.protocol, failure.trace, failure.id, failure.query, failure.client,
    ]  # fmt: skip


def _from_plain(plain: Any, slot: int | None) -> Failure:
    at, cause, status, reason, method, host, path, seconds, ingress, backend, name, *rest = plain
    attempts, more, protocol, trace, request_id, query, client = rest
    if cause not in _CAUSES or not isinstance(attempts, list) or len(attempts) > MOST_ATTEMPTS:
        raise ValueError
    return Failure(
        datetime.fromtimestamp(_number(at, 0.0, _LAST_TIME), UTC),
        cause,
        _whole(status, 999),
        _text(reason),
        _text(method),
        _text(host),
        _text(path),
        _number(seconds, 0.0, _LONGEST_SECONDS),
        _text(ingress),
        _text(backend),
        _text(name),
        tuple(map(_attempt_from_plain, attempts)),
        _whole(more, MOST_LEFT_OUT),
        _text(protocol),
        _text(trace),
        _text_or_none(request_id),
        _text_or_none(query),
        _text_or_none(client),
        slot,
    )


def _attempt_from_plain(plain: Any) -> FailedAttempt:
    endpoint, outcome, began, seconds, connected, is_reused = plain
    if not isinstance(is_reused, bool):
        raise TypeError
    return FailedAttempt(
        _text(endpoint),
        _text(outcome),
        _number(began, 0.0, _LONGEST_SECONDS),
        _number(seconds, 0.0, _LONGEST_SECONDS),
        _number(connected, -1.0, _LONGEST_SECONDS),
        is_reused,
    )


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MOST_CHARACTERS or not value.isprintable():
        raise ValueError
    return value


def _number(value: Any, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ValueError
    return float(value)


def _whole(value: Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise ValueError
    return value
