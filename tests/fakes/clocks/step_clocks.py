"""A clock by which each slice of what is done in slices is one step."""

from collections.abc import Callable

from tests.fakes.counting import calls


class StepClock:
    """Each look takes a second; *calls* are what waits to be called."""

    def __init__(self) -> None:
        self.now = 0.0
        self.calls: list[Callable[[], object]] = []

    def seconds(self) -> float:
        """Return when it is."""
        self.now += 1.0
        return self.now

    def callLater(self, delay: float, call: Callable[[], object]) -> None:
        """Keep *call* until ``work``."""
        self.calls.append(call)

    def work(self) -> int:
        """Call what waits until nothing does; return how many calls the longest step takes."""
        found = 0
        while self.calls:
            found = max(found, calls(self.calls.pop()))
        return found
