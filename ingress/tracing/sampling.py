"""Which traces are sampled: a share of them, and never more than so many a second.

The share goes by the trace id, as OpenTelemetry's ``TraceIdRatioBased`` does, so all who have the same ratio decide alike.
"""

from typing import Final

_ALL: Final = 1 << 64


def bound_of(ratio: float) -> str:
    """Return what the last 16 digits of the ids stand before, as text, that are drawn by *ratio*, 0 to 1."""
    bound = round(ratio * _ALL)
    return "g" if bound >= _ALL else f"{bound:016x}"


class SecondlyBound:
    """Lets *most* pass in a second, 0 for any number."""

    __slots__ = ("_most", "_passed", "_second")

    def __init__(self, most: int) -> None:
        self._most = most
        self._second = -1
        self._passed = 0

    def passes(self, seconds: float) -> bool:
        """Whether another one passes when the clock is at *seconds*."""
        if not self._most:
            return True
        second = int(seconds)
        if second != self._second:
            self._second, self._passed = second, 0
        if self._passed >= self._most:
            return False
        self._passed += 1
        return True
