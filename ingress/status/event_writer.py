"""Writes an Event for each problem, as long as we lead.  Reactor thread.

The agenda holds the problems of which nobody was told yet, as far as we know: all of them when we
begin to lead, then those that come, after a moment: an Ingress often comes just before its
Service, and nobody wants to be told.  A problem that is solved before its turn leaves the agenda;
an Event that was written is never changed or removed, the API server forgets it in time.

What was told before, by us or by the leader before us, is refused by the API server, since an
Event is named after what it says.  What we told a while ago is not even tried.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from ingress.cluster.api_client import ApiRequest
from ingress.cluster.api_thread import WITHHELD, Outcome
from ingress.cluster.contact import Contact
from ingress.cluster.kinds import EVENTS
from ingress.cluster.outage import Outage
from ingress.errors import KubernetesError
from ingress.metrics.status import StatusMetrics
from ingress.model.objects import Kind, ObjectId, ObjectKey
from ingress.model.problems import Problem
from ingress.model.standing import NO_STANDING, Standing
from ingress.status.agenda import Agenda, Closures, Pace, is_about_the_server
from ingress.status.event_objects import event_key, event_object
from ingress.status.refusals import Refusals, Right, is_forbidden

log = Logger()

EVENTS_PER_SECOND = 10.0
EVENTS_AT_ONCE = 50
MOST_PENDING = 20_000
"""How many problems wait to be told; of more there is no Event."""

SETTLE_SECONDS = 2.0
"""How long a problem has to last before anybody is told."""

_MOST_TOLD = 4096
_TOLD_SECONDS = 600.0
_FORBIDDEN_SECONDS = 20.0
_ATTEMPTS = 5


class EventWriter:
    """Tells of problems.

    *ask* sends a request, if we still lead when it goes, and calls back with its outcome.
    *problems* returns the present ones, *standings* what is known of the objects.  *instance* is
    our name in Events, *timeouts* bound a request.  *steady* returns seconds, *now* the time.
    """

    def __init__(
        self,
        clock: Any,
        ask: Callable[[ApiRequest, Callable[[Outcome], None]], None],
        problems: Callable[[], Collection[Problem]],
        standings: Callable[[], Mapping[ObjectId, Standing]],
        instance: str,
        *,
        timeouts: tuple[float, float],
        steady: Callable[[], float],
        now: Callable[[], datetime],
        random: Callable[[], float],
        refusals: Refusals,
        metrics: StatusMetrics,
        outage: Outage | None = None,
    ) -> None:
        self._clock = clock
        self._ask = ask
        self._problems = problems
        self._standings = standings
        self._instance = instance
        self._timeouts = timeouts
        self._steady = steady
        self._now = now
        self._refusals = refusals
        self._metrics = metrics
        self._contact = Contact("Events", steady, "does not take them, this is tried again", outage=outage)
        self._agenda: Agenda[Problem] = Agenda(steady)
        # What there was when we began to lead; putting it all on the agenda at once would take long.
        self._first: deque[Problem] = deque()
        self._pace = Pace(steady, random, per_second=EVENTS_PER_SECOND, burst=EVENTS_AT_ONCE)
        self._is_leading = False
        self._is_asking = False
        # The problem that is being told of, unless it is solved meanwhile.
        self._telling: Problem | None = None
        self._call: IDelayedCall | None = None
        self._told: OrderedDict[ObjectKey, float] = OrderedDict()
        self._closures = Closures(steady)
        self._failures: dict[Problem, int] = {}

    @property
    def pending(self) -> int:
        """How many problems wait to be told."""
        return len(self._agenda) + len(self._first)

    def lead(self) -> None:
        """Begin, with all problems that there are."""
        self._is_leading = True
        self._first = deque(self._that_fit(self._problems()))
        self._schedule()

    def follow(self) -> None:
        """Cease: others tell from now on."""
        self._is_leading = False
        self._agenda.clear()
        self._first.clear()
        self._telling = None
        self._failures = {}
        self._cancel()

    def problems_changed(self, came: Sequence[Problem], went: Sequence[Problem]) -> None:
        """Tell of what came, and not any more of what went."""
        if not self._is_leading:
            return
        for problem in went:
            self._agenda.drop(problem)
            self._failures.pop(problem, None)
            if problem == self._telling:
                self._telling = None
        settled_at = self._steady() + SETTLE_SECONDS
        for problem in self._that_fit(came):
            self._agenda.put_off(problem, settled_at)
        self._schedule()

    def _that_fit(self, problems: Collection[Problem]) -> list[Problem]:
        """Return those of *problems* that there is room for, without those that are the operator's."""
        room = max(0, MOST_PENDING - self.pending)
        for _ in range(len(problems) - room):
            self._metrics.event("dropped")
        return [problem for problem in islice(problems, room) if not problem.is_the_operators]

    def _cancel(self) -> None:
        if self._call is not None and self._call.active():
            self._call.cancel()
        self._call = None

    def _schedule(self) -> None:
        """Have ``_work`` called when there is something to tell and it may go."""
        self._cancel()
        if self._is_asking or not self._is_leading:
            return
        at = self._steady() if self._first else self._agenda.next_at()
        if at is not None:
            delay = max(at, self._pace.opens_at()) - self._steady()
            self._call = self._clock.callLater(max(0.0, delay), self._work)

    def _work(self) -> None:
        """Tell of one problem."""
        self._call = None
        problem = self._next()
        if problem is not None:
            self._tell(problem)
        self._schedule()

    def _next(self) -> Problem | None:
        """Return the next problem to tell of, if there is one that was not solved meanwhile."""
        problem = self._agenda.take()
        if problem is None and self._first:
            problem = self._first.popleft()
            if problem not in self._problems():
                return None
        return problem

    def _tell(self, problem: Problem) -> None:
        object_id = (Kind(problem.kind), ObjectKey(problem.namespace, problem.name))
        uid = self._standings().get(object_id, NO_STANDING).uid
        key = event_key(problem, uid)
        now = self._steady()
        closed_until = self._closures.until(key.namespace)
        if closed_until > now:
            self._agenda.put_off(problem, closed_until)
            return
        if now - self._told.get(key, now - _TOLD_SECONDS) < _TOLD_SECONDS:
            return
        body = event_object(problem, uid, self._instance, self._now())
        path = EVENTS.path(key.namespace)
        request = ApiRequest("POST", path, body=body, timeouts=self._timeouts, wants_answer=False)
        self._is_asking = True
        self._telling = problem
        self._pace.went()
        self._ask(request, lambda outcome: self._was_told(problem, key, outcome))

    def _was_told(self, problem: Problem, key: ObjectKey, outcome: Outcome) -> None:
        self._is_asking = False
        is_known = isinstance(outcome, KubernetesError) and outcome.status == 409
        if is_known or not isinstance(outcome, KubernetesError):
            self._metrics.event("known" if is_known else "ok")
            self._contact.regained()
            self._refusals.granted(Right.WRITE_EVENTS)
            self._closures.permitted(key.namespace)
            self._failures.pop(problem, None)
            self._told[key] = self._steady()
            self._told.move_to_end(key)
            if len(self._told) > _MOST_TOLD:
                self._told.popitem(last=False)
        elif self._is_leading and self._telling is not None:
            self._failed(problem, key, outcome)
        self._telling = None
        self._schedule()

    def _failed(self, problem: Problem, key: ObjectKey, error: KubernetesError) -> None:
        """See whether the problem is told later; one that the API server does not take at all is not."""
        if error.reason == WITHHELD:
            self._pace.troubled(error)
            self._agenda.add((problem,))
            return
        self._metrics.event("failed")
        if is_forbidden(error):
            self._refusals.refused(Right.WRITE_EVENTS, error)
            self._agenda.put_off(problem, self._closures.close(key.namespace, _FORBIDDEN_SECONDS))
            return
        self._contact.failed(error, f"{problem.kind} {problem.name}")
        if is_about_the_server(error):
            self._pace.troubled(error)
            self._agenda.add((problem,))
        elif error.status >= 500:
            failures = self._failures[problem] = self._failures.get(problem, 0) + 1
            if failures < _ATTEMPTS:
                self._agenda.put_off(problem, self._steady() + 2.0**failures)
