"""What a script found: figures, each judged by its bound, and a verdict.  Pure."""

from enum import Enum
from math import isinf

from attrs import define, field, frozen


class Verdict(Enum):
    """What a row comes to."""

    PASSED = "pass"
    FAILED = "FAIL"
    UNPLAYED = "-"
    """The script asks for something that this proxy does not have, or broke before it could measure."""


@frozen
class Check:
    """One figure.  *bound* says in words what it must be; empty for a figure that is only told."""

    name: str
    value: float | bool | str
    unit: str = ""
    bound: str = ""
    is_met: bool = True

    def __str__(self) -> str:
        if isinstance(self.value, bool):
            return self.name if self.is_met else f"NOT: {self.name}"
        shown = f"{self.name} {number(self.value)}{f' {self.unit}' if self.unit else ''}"
        return shown if self.is_met else f"{shown} (must be {self.bound})"


def number(value: float | str) -> str:
    """A figure with the digits that it is worth; an infinite one stands for what did not happen."""
    if isinstance(value, str):
        return value
    if isinf(value):
        return "never"
    if isinstance(value, int) or value == int(value):
        return f"{int(value):,}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


@define
class Checks:
    """The figures of one script at one proxy, in the order in which they were found."""

    found: list[Check] = field(factory=list)

    def none(self, name: str, value: int) -> None:
        """There must be none of these."""
        self.found.append(Check(name, value, "", "0", value == 0))

    def at_most(self, name: str, value: float, bound: float, unit: str = "") -> None:
        """The figure must not exceed *bound*."""
        self.found.append(Check(name, value, unit, f"at most {number(bound)}", value <= bound))

    def between(self, name: str, value: float, least: float, most: float, unit: str = "") -> None:
        """The figure must lie between two bounds, or on one of them."""
        bound = f"{number(least)} to {number(most)}"
        self.found.append(Check(name, value, unit, bound, least <= value <= most))

    def equal(self, name: str, value: float | str, wanted: float | str) -> None:
        """The figure must be this."""
        self.found.append(Check(name, value, "", number(wanted), value == wanted))

    def holds(self, name: str, is_met: bool) -> None:
        """The statement *name* must be true."""
        self.found.append(Check(name, is_met, "", "true", is_met))

    def note(self, name: str, value: float | str, unit: str = "") -> None:
        """Tell a figure that nothing is asked of."""
        self.found.append(Check(name, value, unit))

    @property
    def verdict(self) -> Verdict:
        """Passed if every bound is met, and there was one."""
        judged = [check for check in self.found if check.bound]
        if not judged:
            return Verdict.UNPLAYED
        return Verdict.PASSED if all(check.is_met for check in judged) else Verdict.FAILED

    def __str__(self) -> str:
        return "; ".join(map(str, self.found))


@frozen
class Finding:
    """What one script found at one proxy."""

    fault: str
    target: str
    verdict: Verdict
    measured: str
    checks: tuple[Check, ...] = ()
    seconds: float = 0.0
