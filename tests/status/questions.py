"""A thread that stands still: a test sees what is asked of it, and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ingress.cluster.api.api_client import ApiRequest
from ingress.cluster.api.api_status import ObjectMissingError
from ingress.cluster.api.api_thread import Outcome
from ingress.errors import KubernetesError

DONE: Mapping[str, Any] = {}
FORBIDDEN = KubernetesError(403, "Forbidden", "it is forbidden")
MISSING = ObjectMissingError(KubernetesError(404, "NotFound", "it is not there"))
UNREACHABLE = KubernetesError(0, "Unreachable", "Connection refused")


class ManyQuestions:
    """What was asked, of which several at a time are open."""

    def __init__(self) -> None:
        self.asked: list[ApiRequest] = []
        self.open: list[tuple[ApiRequest, Callable[[Outcome], None]]] = []

    def ask(self, request: ApiRequest, done: Callable[[Outcome], None]) -> None:
        """Take a request."""
        self.asked.append(request)
        self.open.append((request, done))

    def answer(self, number: int = 0, outcome: Outcome = DONE) -> ApiRequest:
        """Answer one of the open requests, the oldest by default, and return it."""
        request, done = self.open.pop(number)
        done(outcome)
        return request


class Questions:
    """What was asked, of which one at a time is open."""

    def __init__(self) -> None:
        self.asked: list[ApiRequest] = []
        self._open: Callable[[Outcome], None] | None = None

    def ask(self, request: ApiRequest, done: Callable[[Outcome], None]) -> None:
        """Take a request."""
        assert self._open is None, "two requests at a time"
        self.asked.append(request)
        self._open = done

    @property
    def is_open(self) -> bool:
        """Whether a request waits for its answer."""
        return self._open is not None

    def answer(self, outcome: Outcome = DONE) -> ApiRequest:
        """Answer the open request, and return it."""
        done, self._open = self._open, None
        assert done is not None, "nothing is asked"
        done(outcome)
        return self.asked[-1]
