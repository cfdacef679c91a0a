"""Injected faults: what the tests' API server does instead of answering a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from attrs import Factory, define, field, frozen

from tests.fakes.apiserver.calls import Call

#: How a raw body ends: properly, by FIN in its middle, by RST, or not at all.
Ending: TypeAlias = Literal["finish", "cut", "reset", "stay"]


@frozen
class Answer:
    """Answer with an HTTP status, and a ``Status`` object unless there is a body."""

    status: int
    headers: Mapping[str, str] = Factory(dict)
    body: bytes | None = None
    message: str = "injected by the test"
    reason: str | None = None


@frozen
class Drop:
    """Reset the connection without an answer."""


@frozen
class Hang:
    """Never answer; the connection stays open."""


@frozen
class Delay:
    """Answer as usual, but so many seconds later."""

    seconds: float


@define(eq=False)
class Hold:
    """Answer as usual, once the test says so."""

    waiting: list[Callable[[], None]] = field(factory=list)
    """What answers each request that came since, in order."""
    most: int = 0
    """So many requests waited at a time."""

    def add(self, answer: Callable[[], None]) -> None:
        """Keep a request."""
        self.waiting.append(answer)
        self.most = max(self.most, len(self.waiting))

    def release(self) -> None:
        """Answer all that wait, and hold on to what comes then."""
        waiting, self.waiting = self.waiting, []
        for answer in waiting:
            answer()


@frozen
class RawBody:
    """Answer with a chunked body of these bytes, and end it in one of four ways."""

    body: bytes
    ending: Ending = "finish"
    status: int = 200
    headers: Mapping[str, str] = Factory(lambda: {"Content-Type": "application/json"})


Fault: TypeAlias = Answer | Drop | Hang | Delay | Hold | RawBody


@define
class _Waiting:
    fault: Fault
    left: int | None
    wanted: Mapping[str, str]

    def is_for(self, call: Call) -> bool:
        return all(getattr(call, name) == value for name, value in self.wanted.items())


@define
class Faults:
    """A queue of faults. A request gets the oldest fault that it matches."""

    _waiting: list[_Waiting] = field(factory=list)

    def add(
        self,
        fault: Fault,
        *,
        times: int | None = 1,
        verb: str | None = None,
        resource: str | None = None,
        namespace: str | None = None,
        name: str | None = None,
    ) -> None:
        """Queue *fault* for so many requests (None: all) with this verb, plural, namespace, name."""
        wanted = {"verb": verb, "plural": resource, "namespace": namespace, "name": name}
        conditions = {key: value for key, value in wanted.items() if value is not None}
        self._waiting.append(_Waiting(fault, times, conditions))

    def clear(self) -> None:
        """Forget all faults that were not used."""
        self._waiting.clear()

    def take(self, call: Call) -> Fault | None:
        """Return the fault for a request, and count it as used."""
        for waiting in self._waiting:
            if waiting.is_for(call):
                if waiting.left is not None:
                    waiting.left -= 1
                    if not waiting.left:
                        self._waiting.remove(waiting)
                return waiting.fault
        return None

    def __len__(self) -> int:
        """Return how many faults wait, each counted once."""
        return len(self._waiting)
