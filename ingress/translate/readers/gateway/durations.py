"""Durations of the Gateway API, such as ``1h30m`` or ``500ms``.

Source: GEP-2257: up to four numbers of up to five digits, each with its unit, in any order.
"""

import re
from typing import Final

_UNITS: Final = {"h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
"""In milliseconds."""
_is_duration = re.compile(r"(?:[0-9]{1,5}(?:h|m|s|ms)){1,4}", re.ASCII).fullmatch
_parts = re.compile(r"([0-9]{1,5})(ms|h|m|s)", re.ASCII).findall


def read_duration(text: str) -> float | None:
    """Return the seconds of *text*, 0 to some 400,000 hours; None where it is no duration."""
    if len(text) > 28 or _is_duration(text) is None:
        return None
    return sum(int(number) * _UNITS[unit] for number, unit in _parts(text)) / 1000
