"""How long a rule lets its requests take, and when they are tried again: ``timeouts`` and ``retry`` of an HTTPRoute.

``request`` bounds the whole exchange, ``backendRequest`` each attempt, from when it is sent until its answer is whole; ``0s`` is no bound.
Where such a bound is, or none is wanted, it counts in place of the time that an endpoint may be silent by default.

A rule with ``retry`` has requests sent again: of any method where nothing was done with them, be it that no connection could be made or
that the answer has one of ``codes``, which is what its owner says of these; and those that may be repeated (RFC 9110 section 9.2.2) where
a connection broke off or an attempt took too long.  Where no endpoint is left that was not tried, the same one
is asked again.  Without ``retry`` other endpoints are tried as for any route, but not after ``backendRequest`` has passed.

Source: ``HTTPRouteTimeouts`` and ``HTTPRouteRetry`` of ``gateway.networking.k8s.io/v1``; of ``attempts``, version 1.7 says what nothing means
(1) and what 0 does (no retry).
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.serving.limits import ENDLESS, AskedTimeouts
from ingress.model.upstream.retries import DEFAULT_RETRIES, RetryRule
from ingress.translate.readers.gateway.objects.routes import HTTPRule, Retry

DEFAULT_ATTEMPTS: Final = 1
DEFAULT_BACKOFF_SECONDS: Final = 0.025
"""Before the first retry at an endpoint that has failed the request, where ``backoff`` says nothing."""
MOST_ATTEMPTS: Final = 100
"""More are not made, however many are asked for."""
MOST_CODES: Final = 200
_TICKS: Final = 2.0
_CODES: Final = range(400, 600)


class RuleTimes(NamedTuple):
    """What a rule says about time."""

    timeouts: AskedTimeouts | None = None
    """None where it says nothing about them."""
    retries: RetryRule = DEFAULT_RETRIES
    problems: tuple[Problem, ...] = ()
    is_refused: bool = False
    """Whether it says what makes no sense, so that its requests are refused (``refusals.BAD_RULE``)."""


_USUAL: Final = RuleTimes()
_PAUSING: Final = AskedTimeouts(spares_tunnels=True)


class _RuleError(ValueError):
    """A value that makes no sense, and where it stands in the rule."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def read_times(rule: HTTPRule, owner: Owner) -> RuleTimes:
    """Return what *rule* of *owner* says."""
    if not rule.request_timeout and not rule.backend_timeout and rule.retry is None:
        return _USUAL
    try:
        timeouts = _timeouts(rule.request_timeout, rule.backend_timeout, rule.retry is not None)
        retries = DEFAULT_RETRIES if rule.retry is None else _retries(rule.retry)
    except _RuleError as refused:
        message = f"{refused}; requests get 500"
        problem = owner.problem(Reason.UNSUPPORTED_VALUE, message, f"{rule.field}.{refused.field}")
        return RuleTimes(problems=(problem,), is_refused=True)
    return RuleTimes(timeouts, retries)


def _seconds(text: str, field: str) -> float:
    seconds = read_duration(text)
    if seconds is None:
        raise _RuleError(field, f"{text[:64]!a} is no duration, such as 10s or 1m30s")
    return seconds


@lru_cache(maxsize=1024)
def _timeouts(request: str, backend: str, may_pause: bool) -> AskedTimeouts | None:
    """Return what is asked for, the same value for the same texts; *may_pause* says that exchanges need a clock of their own."""
    if not request and not backend:
        return _PAUSING if may_pause else None
    whole = _seconds(request, "timeouts.request") if request else None
    attempt = _seconds(backend, "timeouts.backendRequest") if backend else None
    if whole and attempt and attempt > whole:
        message = f"{backend} is longer than the {request} that the whole request may take"
        raise _RuleError("timeouts.backendRequest", message)
    # Connections look after their times by ticks; what is to the point comes first.
    silent = (whole if attempt is None else attempt) or ENDLESS
    return AskedTimeouts(
        read_seconds=silent + _TICKS,
        send_seconds=silent + _TICKS,
        request_seconds=whole or 0.0,
        attempt_seconds=attempt or 0.0,
        spares_tunnels=True,
    )


@lru_cache(maxsize=1024)
def _retries(retry: Retry) -> RetryRule:
    attempts = DEFAULT_ATTEMPTS if retry.attempts is None else retry.attempts
    if attempts < 0:
        raise _RuleError("retry.attempts", f"{attempts} is no number of attempts")
    if len(retry.codes) > MOST_CODES:
        raise _RuleError("retry.codes", f"there are more than {MOST_CODES} codes")
    for code in retry.codes:
        if code not in _CODES:
            raise _RuleError("retry.codes", f"{code} is none of {_CODES.start} to {_CODES.stop - 1}")
    backoff = _seconds(retry.backoff, "retry.backoff") if retry.backoff else None
    return RetryRule(
        on_late=True,
        statuses=frozenset(retry.codes),
        any_method_by_status=True,
        returns=True,
        backoff_seconds=DEFAULT_BACKOFF_SECONDS if backoff is None else backoff,
        always_waits=bool(backoff),
        max_tries=1 + min(attempts, MOST_ATTEMPTS),
    )


_UNITS: Final = {"h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
"""In milliseconds."""
_is_duration = re.compile(r"(?:[0-9]{1,5}(?:h|m|s|ms)){1,4}", re.ASCII).fullmatch
_parts = re.compile(r"([0-9]{1,5})(ms|h|m|s)", re.ASCII).findall


def read_duration(text: str) -> float | None:
    """Return the seconds of *text*, 0 to some 400,000 hours; None where it is no duration.

    Source: GEP-2257: up to four numbers of up to five digits, each with its unit, in any order.
    """
    if len(text) > 28 or _is_duration(text) is None:
        return None
    return sum(int(number) * _UNITS[unit] for number, unit in _parts(text)) / 1000
