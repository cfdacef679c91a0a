"""How long endpoints may take: ``proxy-connect-timeout``, ``proxy-read-timeout`` and ``proxy-send-timeout``.

Whole seconds without a unit, as ingress-nginx reads them.  What is not asked for is as the
operator set it for all.
"""

import re
from typing import Final

from ingress.annotations.contract.values import Annotation, Family, ValueRefused
from ingress.model.frozen import frozen
from ingress.model.serving.limits import AskedTimeouts

MAX_SECONDS: Final = 31_536_000
"""A year; what is meant to be endless is often written as some such number."""

_match_number = re.compile(r"[0-9]{1,9}", re.ASCII).fullmatch
_match_unit = re.compile(r"([0-9]{1,6}) ?(ms|s|m|h|d)", re.ASCII).fullmatch
_UNITS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
"""In milliseconds."""


def parse_timeout(text: str) -> float:
    """Read a whole number of seconds, at least 1; a unit is refused, as in ingress-nginx, with the number that is meant."""
    with_unit = _match_unit(text.strip())
    if with_unit is not None:
        seconds = max(1, int(with_unit[1]) * _UNITS[with_unit[2]] // 1000)
        raise ValueRefused(
            f'is not a number of seconds: it has a unit, which ingress-nginx does not read either; write "{seconds}"'
        )
    if _match_number(text.strip()) is None or not 1 <= int(text) <= MAX_SECONDS:
        raise ValueRefused(f'is not a number of seconds from 1 to {MAX_SECONDS}; write "60", without a unit')
    return float(int(text))


@frozen
class TimeoutSettings:
    """What the annotations of one Ingress say."""

    connect_seconds: float | None = None
    read_seconds: float | None = None
    send_seconds: float | None = None

    def asked(self) -> AskedTimeouts | None:
        """Return what is asked for; None for nothing."""
        if self == _NOTHING:
            return None
        return AskedTimeouts(self.connect_seconds, self.read_seconds, self.send_seconds)


_NOTHING: Final = TimeoutSettings()

TIMEOUTS: Final = Family(
    name="timeouts",
    settings=TimeoutSettings(),
    acts="how long endpoints may take",
    annotations={
        "proxy-connect-timeout": Annotation(
            "connect_seconds",
            parse_timeout,
            operators=True,
            values="seconds; 5",
            meaning="how long making a connection to an endpoint may take; then 504",
        ),
        "proxy-read-timeout": Annotation(
            "read_seconds",
            parse_timeout,
            operators=True,
            values="seconds; 60",
            meaning="how long an endpoint may be silent; then 504. Also how long a WebSocket may be",
        ),
        "proxy-send-timeout": Annotation(
            "send_seconds",
            parse_timeout,
            operators=True,
            values="seconds; 60",
            meaning="how long an endpoint may take nothing of a request, or of a WebSocket that waits for it",
        ),
    },
)
