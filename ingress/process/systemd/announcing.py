"""Keeps the service manager told of how far the process is: what it waits for, that it is ready, what it serves, that it ends.

Ready is what ``/readyz`` says.  A start that waits, for an API server that is away, say, is given time as long as the reactor
runs, and so is an end that lets requests end: both have bounds of their own.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from twisted.internet.interfaces import IDelayedCall

from ingress.errors import StartError
from ingress.process.systemd.notify import EXTENSION_SECONDS, Systemd
from ingress.wording import first_of

STARTING_SECONDS: Final = 0.1
"""How often it is looked whether the process is ready."""
SERVING_SECONDS: Final = 5.0
"""How often it is looked what is served."""
REPEATED_SECONDS: Final = 60.0
"""How often what has not changed is told again: who takes over is heard only when it is the process to watch."""
_EXTENDING_SECONDS: Final = EXTENSION_SECONDS / 3
_NAMED: Final = 3


class Announcer:
    """Looks what *missing* says, nothing when the process is ready, and tells *systemd*; *serving* has words for what is served."""

    def __init__(
        self,
        systemd: Systemd,
        reactor: Any,
        missing: Callable[[], Sequence[str]],
        serving: Callable[[], str],
    ) -> None:
        self._systemd = systemd
        self._reactor = reactor
        self._missing = missing
        self._serving = serving
        self._told = ""
        self._told_at = 0.0
        self._why_it_ends = "stops: requests that run end"
        self._is_ready = self._is_stopping = False
        self._extended_at = float("-inf")
        self._next: IDelayedCall | None = None

    def __repr__(self) -> str:
        state = "stopping" if self._is_stopping else "ready" if self._is_ready else "starting"
        return f"<Announcer {state}>"

    def start(self) -> None:
        """Begin to look, if anybody wants to know.  The reactor runs."""
        if self._systemd.is_there:
            self._systemd.start(self._reactor)
            self._reactor.addSystemEventTrigger("before", "shutdown", self._stopping)
            self._reactor.addSystemEventTrigger("after", "shutdown", self._stop)
            self._look()

    def failed(self, error: StartError) -> None:
        """Say why the process is about to end, as the last that is heard of it; whoever asks the service manager may read that."""
        self._why_it_ends = error.message
        self._systemd.status(error.message)

    def _stopping(self) -> None:
        self._is_stopping = True
        self._systemd.stopping(self._why_it_ends)
        self._extend()

    def _stop(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None
        self._systemd.stop()

    def _look(self) -> None:
        if not self._is_stopping:
            self._tell(self._missing())
        is_waiting = self._is_stopping or not self._is_ready
        now = self._reactor.seconds()
        if is_waiting and now - self._extended_at >= _EXTENDING_SECONDS:
            self._extend()
        seconds = SERVING_SECONDS if self._is_ready else STARTING_SECONDS
        self._next = self._reactor.callLater(seconds, self._look)

    def _tell(self, missing: Sequence[str]) -> None:
        text = f"not ready: {first_of(missing, _NAMED)}" if missing else self._serving()
        if not missing and not self._is_ready:
            self._is_ready = True
            self._systemd.ready(text)
        elif text != self._told or self._reactor.seconds() - self._told_at >= REPEATED_SECONDS:
            self._systemd.status(text)
        else:
            return
        self._told, self._told_at = text, self._reactor.seconds()

    def _extend(self) -> None:
        self._extended_at = self._reactor.seconds()
        self._systemd.extend()
