"""Candidates on machines of their own, and an API server for their Lease, all on one ``task.Clock``.

A machine can stand still: nothing of it runs then, and what was due runs when it goes on.  Its
clock that nobody sets began at another time than those of the others, and the one on its wall
is wrong.  Requests to the API server take time, are lost on the way there or on the way back, or
arrive after their sender has given up.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import Clock

from ingress.cluster.api.api_client import ApiRequest
from ingress.cluster.api.api_status import UNREACHABLE, ObjectMissingError
from ingress.cluster.api.api_thread import Outcome
from ingress.errors import KubernetesError
from ingress.metrics.series.status import StatusMetrics
from ingress.model.cluster.objects import ObjectKey
from ingress.status.election import Terms
from ingress.status.elector import Elector
from ingress.status.refusals import Refusals
from tests.fakes.apiserver.history import History
from tests.fakes.apiserver.kinds import KindTable
from tests.fakes.apiserver.statuses import StatusError
from tests.fakes.apiserver.writing import Writer

KEY = ObjectKey("ours", "leader")
TERMS = Terms()


class LeaseServer:
    """The part of the tests' API server that keeps Leases, without HTTP, and a network before it.

    *trip* returns the seconds of one way, None for what is lost.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.kinds = KindTable()
        self.history = History()
        self.writer = Writer(self.history, self.kinds, self._now, random.Random(0))
        self.kind = self.kinds.named("Lease")
        self.requests: list[ApiRequest] = []
        self.error: Outcome | None = None
        """What is answered to everything, while there is one."""
        self.fails: Callable[[ApiRequest], Outcome | None] = lambda request: None
        """Returns what is answered to a request in place of doing it."""
        self.trip: Callable[[], float | None] = lambda: 0.0

    def ask(self, machine: Machine, request: ApiRequest, done: Callable[[Outcome], None]) -> None:
        """Carry a request there, and its answer back, in time or not."""
        self.requests.append(request)
        seconds = sum(request.timeouts or (1.0, 1.0))
        silence = KubernetesError(0, UNREACHABLE, "no answer in time")
        given_up = self.clock.callLater(seconds, machine.run, done, silence)

        def arrive() -> None:
            outcome = self.answer(request)
            back = self.trip()
            if back is not None and given_up.active():
                self.clock.callLater(back, come_back, outcome)

        def come_back(outcome: Outcome) -> None:
            if given_up.active():
                given_up.cancel()
                machine.run(done, outcome)

        there = self.trip()
        if there is not None:
            self.clock.callLater(there, arrive)

    def answer(self, request: ApiRequest) -> Outcome:
        """Do what a request asks for."""
        failure = self.error if self.error is not None else self.fails(request)
        if failure is not None:
            return failure
        body: Any = request.body
        try:
            match request.method:
                case "GET":
                    return self.writer.read(self.kind, *KEY)
                case "POST":
                    return self.writer.create(self.kind, KEY.namespace, body)
                case _:
                    return self.writer.replace(self.kind, *KEY, body)
        except StatusError as error:
            refusal = KubernetesError(error.code, error.status["reason"], str(error))
            return ObjectMissingError(refusal) if error.code == 404 else refusal

    @property
    def lease(self) -> dict[str, Any]:
        """The ``spec`` of the Lease."""
        spec: dict[str, Any] = self.writer.read(self.kind, *KEY)["spec"]
        return spec

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.seconds(), UTC)


class _MachineCall:
    """A delayed call that can still be canceled while its machine stands still."""

    def __init__(self, machine: Machine, seconds: float, action: Callable[[], Any]) -> None:
        self._action: Callable[[], Any] | None = action
        self._call: IDelayedCall = machine.clock.callLater(seconds, machine.run, self._due)

    def active(self) -> bool:
        return self._action is not None

    def cancel(self) -> None:
        self._action = None
        if self._call.active():
            self._call.cancel()

    def _due(self) -> None:
        action, self._action = self._action, None
        if action is not None:
            action()


class Machine:
    """A machine with one candidate."""

    def __init__(
        self,
        server: LeaseServer,
        name: str,
        *,
        began: float = 0.0,
        skew_seconds: float = 0.0,
        source: random.Random | None = None,
    ) -> None:
        self.server = server
        self.clock = server.clock
        self.name = name
        self.began = began
        self.skew = timedelta(seconds=skew_seconds)
        self.is_standing_still = False
        self.backlog: list[Callable[[], Any]] = []
        self.changes: list[bool] = []
        self.times_regained = 0
        self.refusals = Refusals()
        self.metrics = StatusMetrics()
        self.elector = Elector(
            self,
            lambda request, done: server.ask(self, request, done),
            KEY,
            name,
            TERMS,
            steady=self.steady,
            now=lambda: datetime.fromtimestamp(self.clock.seconds(), UTC) + self.skew,
            random=(source or random.Random(name)).random,
            changed=self.changes.append,
            regained=self._note_regained,
            refusals=self.refusals,
            metrics=self.metrics,
        )

    def _note_regained(self) -> None:
        self.times_regained += 1

    def steady(self) -> float:
        """The clock that nobody sets; it goes on while the machine stands still."""
        return self.clock.seconds() + self.began

    def callLater(self, seconds: float, action: Callable[..., Any], *arguments: Any) -> Any:
        return _MachineCall(self, seconds, lambda: action(*arguments))

    def run(self, action: Callable[..., Any], *arguments: Any) -> None:
        """Do something on this machine, when it goes on at the latest."""
        if self.is_standing_still:
            self.backlog.append(lambda: action(*arguments))
        else:
            action(*arguments)

    def stand_still(self) -> None:
        """Run nothing."""
        self.is_standing_still = True

    def go_on(self) -> None:
        """Run what was due, and go on."""
        self.is_standing_still = False
        backlog, self.backlog = self.backlog, []
        for action in backlog:
            action()

    @property
    def may_act(self) -> bool:
        """Whether this one leads."""
        return self.elector.may_act()
