"""When another endpoint is tried: ``proxy-next-upstream``, ``-tries`` and ``-timeout``.

The words are those of nginx' ``proxy_next_upstream``.  Whatever they say, nothing is
tried again once a part of the answer went downstream, or when a body cannot be sent again.
"""

import re
from typing import Final

from attrs import evolve

from ingress.annotations.contract.values import Annotation, Family, Risk, ValueRefused
from ingress.model.frozen import frozen
from ingress.model.upstream.retries import DEFAULT_RETRIES, MAX_TRIES, RetryRule

MOST_TRIES: Final = 100
"""More are not made of one request, however many are asked for: a Service may have thousands of endpoints that are all gone."""

_NOTHING: Final = RetryRule(on_error=False, on_timeout=False)
_FLAGS: Final = {
    "error": "on_error",
    "timeout": "on_timeout",
    "invalid_header": "on_invalid",
    "non_idempotent": "non_idempotent",
}
_STATUSES: Final = {f"http_{status}": status for status in (403, 404, 429, 500, 502, 503, 504)}
# As many digits as a number has that ingress-nginx can read.
_match_count = re.compile(r"[0-9]{1,19}", re.ASCII).fullmatch
_match_seconds = re.compile(r"([0-9]{1,19})s?", re.ASCII).fullmatch


def parse_conditions(text: str) -> RetryRule:
    """Read the words after which the next endpoint is tried; ``off`` alone means none."""
    words = text.split()
    if words == ["off"]:
        return _NOTHING
    if not words or "off" in words:
        raise ValueRefused('says nothing, or "off" beside other words')
    flags = {_FLAGS[word]: True for word in words if word in _FLAGS}
    statuses = frozenset(_STATUSES[word] for word in words if word in _STATUSES)
    if any(word not in _FLAGS and word not in _STATUSES for word in words):
        known = " ".join([*_FLAGS, *_STATUSES])
        raise ValueRefused(f'holds a word that is not known; there are "{known}" and "off"')
    return evolve(_NOTHING, statuses=statuses, **flags)


def parse_tries(text: str) -> int:
    """Read how many tries there may be; 0 means no limit but ``MOST_TRIES``."""
    if _match_count(text.strip()) is None:
        raise ValueRefused('is not a number of tries; write "3", or "0" for no limit')
    return int(text)


def parse_seconds(text: str) -> float:
    """Read a number of seconds, with or without ``s``; 0 means no limit."""
    match = _match_seconds(text.strip())
    if match is None:
        raise ValueRefused('is not a number of seconds; write "10", or "0" for no limit')
    return float(match[1])


@frozen
class RetrySettings:
    """What the annotations of one Ingress say about further attempts."""

    conditions: RetryRule = DEFAULT_RETRIES
    tries: int = MAX_TRIES
    seconds: float = 0.0

    def rule(self) -> RetryRule:
        """Return all of it as one rule."""
        if self == _DEFAULT:
            return DEFAULT_RETRIES
        tries = min(self.tries or MOST_TRIES, MOST_TRIES)
        return evolve(self.conditions, max_tries=tries, max_seconds=self.seconds)


_DEFAULT: Final = RetrySettings()

RETRIES: Final = Family(
    name="retries",
    settings=RetrySettings(),
    acts="further attempts",
    annotations={
        "proxy-next-upstream": Annotation(
            "conditions",
            parse_conditions,
            operators=True,
            values="words such as `error`, `timeout`, `http_502`, `non_idempotent`, `off`; error timeout",
            meaning="when another endpoint is tried",
            risk=Risk.MEDIUM,
        ),
        "proxy-next-upstream-tries": Annotation(
            "tries",
            parse_tries,
            operators=True,
            values="a number, `0` for no bound; 3",
            meaning="how many endpoints are tried, the first included",
            differs="100 at most, however many are asked for",
        ),
        "proxy-next-upstream-timeout": Annotation(
            "seconds",
            parse_seconds,
            operators=True,
            values="seconds, `0` for no bound; 0",
            meaning="within what time after the first attempt another one is begun",
        ),
    },
)
