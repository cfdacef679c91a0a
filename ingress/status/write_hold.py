"""Holds all writes of a leader: meanwhile they wait, and it is known when none is under way."""

from collections.abc import Callable

from ingress.cluster.api.api_client import ApiRequest
from ingress.cluster.api.api_thread import Outcome

Ask = Callable[[ApiRequest, Callable[[Outcome], None]], None]
"""Sends a request, and calls back with its outcome."""


class WriteHold:
    """Lets requests through to *ask*, in their order.

    How many wait is bounded by whoever asks: each writer has some under way, and asks for no more before these are answered.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._waiting: list[tuple[ApiRequest, Callable[[Outcome], None]]] | None = None
        self._under_way = 0

    def __repr__(self) -> str:
        state = "off" if self._waiting is None else f"on, {len(self._waiting)} wait"
        return f"<WriteHold {state}, {self._under_way} under way>"

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is under way of what went through."""
        return not self._under_way

    def ask(self, request: ApiRequest, done: Callable[[Outcome], None]) -> None:
        """Send *request*, now or when all is let go."""
        if self._waiting is not None:
            self._waiting.append((request, done))
            return
        self._under_way += 1

        def ended(outcome: Outcome) -> None:
            self._under_way -= 1
            done(outcome)

        self._ask(request, ended)

    def hold(self) -> None:
        """Let nothing through until ``go_on``."""
        if self._waiting is None:
            self._waiting = []

    def go_on(self) -> None:
        """Let everything through."""
        waiting, self._waiting = self._waiting, None
        for request, done in waiting or ():
            self.ask(request, done)
