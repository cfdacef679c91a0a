"""Writes an Event for each problem, as long as we lead.  Reactor thread.

The agenda holds the problems of which nobody was told yet, as far as we know: all of them when we
begin to lead, then those that come, after a moment: an Ingress often comes just before its
Service, and nobody wants to be told.  A problem that is solved before its turn leaves the agenda;
an Event that was written is never removed, the API server forgets it in time.

What was told before, by us or by the leader before us, is refused by the API server, since an
Event is named after what it says.  When such a problem came anew it is counted in the Event that
there is; one that a new leader only found is not, since it has been there all the time.
"""

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from ingress.cluster.api.api_client import MERGE_PATCH, ApiRequest
from ingress.cluster.api.api_thread import WITHHELD, Outcome
from ingress.cluster.api.contact import Contact
from ingress.cluster.api.outage import Outage
from ingress.cluster.kinds import EVENTS
from ingress.errors import KubernetesError
from ingress.metrics.status import StatusMetrics
from ingress.model.object_meta import NO_META, ObjectMeta
from ingress.model.objects import Kind, ObjectId, ObjectKey
from ingress.model.problems import Problem
from ingress.news.problem_log import SETTLE_SECONDS
from ingress.status.agenda import Agenda, Closures, Pace, is_about_the_server
from ingress.status.event_objects import event_key, event_object, series_count, series_patch
from ingress.status.refusals import Refusals, Right, is_forbidden
from ingress.status.told_events import ToldEvent, ToldEvents

log = Logger()

EVENTS_PER_SECOND = 10.0
EVENTS_AT_ONCE = 50
MOST_PENDING = 20_000
"""How many problems wait to be told; of more there is no Event."""

_FORBIDDEN_SECONDS = 20.0
_ATTEMPTS = 5


class EventWriter:
    """Tells of problems.

    *ask* sends a request, if we still lead when it goes, and calls back with its outcome.
    *problems* returns the present ones, *metas* what is known of the objects.  *instance* is
    our name in Events, *timeouts* bound a request.  *steady* returns seconds, *now* the time.
    """

    def __init__(
        self,
        clock: Any,
        ask: Callable[[ApiRequest, Callable[[Outcome], None]], None],
        problems: Callable[[], Collection[Problem]],
        metas: Callable[[], Mapping[ObjectId, ObjectMeta]],
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
        self._metas = metas
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
        self._told = ToldEvents(steady)
        # Of the problems that we found when we began to lead, those that are not told.
        self._found: set[Problem] = set()
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
        self._found = set(self._first)
        self._schedule()

    def follow(self) -> None:
        """Cease: others tell from now on."""
        self._is_leading = False
        self._agenda.clear()
        self._first.clear()
        self._found = set()
        self._told.forget_counts()
        self._telling = None
        self._failures = {}
        self._cancel()

    def problems_changed(self, came: Sequence[Problem], went: Sequence[Problem]) -> None:
        """Tell of what came, and not any more of what went."""
        if not self._is_leading:
            return
        for problem in went:
            self._agenda.drop(problem)
            self._found.discard(problem)
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
        uid = self._metas().get(object_id, NO_META).uid
        key = event_key(problem, uid)
        now = self._steady()
        closed_until = self._closures.until(key.namespace)
        if closed_until > now:
            self._agenda.put_off(problem, closed_until)
            return
        told = self._told.get(key)
        if told is not None:
            if problem in self._found:
                self._found.remove(problem)
                return
            told.more += 1
            if self._told.is_due(told):
                self._count(problem, key, told)
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
            if not is_known:
                self._told.told(key)
            else:
                self._told.known(key)
                if self._is_leading and self._telling is not None and problem not in self._found:
                    # It came anew.
                    self._agenda.add((problem,))
            self._found.discard(problem)
        elif self._is_leading and self._telling is not None:
            self._failed(problem, key, outcome)
        self._telling = None
        self._schedule()

    def _count(self, problem: Problem, key: ObjectKey, told: ToldEvent) -> None:
        """Say how often a problem came; where that is not known, a patch that changes nothing brings it."""
        more = told.more
        request = ApiRequest(
            "PATCH",
            EVENTS.path(key.namespace, key.name),
            body={} if told.count is None else series_patch(told.count + more, self._now()),
            content_type=MERGE_PATCH,
            timeouts=self._timeouts,
            wants_answer=told.count is None,
        )
        self._is_asking = True
        self._telling = problem
        self._pace.went()
        self._ask(request, lambda outcome: self._was_counted(problem, key, told, more, outcome))

    def _was_counted(
        self, problem: Problem, key: ObjectKey, told: ToldEvent, more: int, outcome: Outcome
    ) -> None:
        self._is_asking = False
        if not self._is_leading:
            self._telling = None
        elif not isinstance(outcome, KubernetesError):
            self._contact.regained()
            self._refusals.granted(Right.COUNT_EVENTS)
            if told.count is None:
                told.count = series_count(outcome)
                self._count(problem, key, told)
                return
            self._metrics.event("counted")
            self._told.counted(key, told.count + more, more)
        elif outcome.status == 404:
            # The API server has forgotten it, so it is told anew.
            self._told.forget(key)
            self._agenda.add((problem,))
        elif is_forbidden(outcome):
            self._refusals.refused(Right.COUNT_EVENTS, outcome)
            told.at = self._steady()
        elif is_about_the_server(outcome):
            self._contact.failed(outcome, f"{problem.kind} {problem.name}")
            self._pace.troubled(outcome)
            # It is the same one that is tried again.
            told.more -= 1
            self._agenda.add((problem,))
        else:
            self._metrics.event("failed")
            self._contact.failed(outcome, f"{problem.kind} {problem.name}")
            told.count, told.at = None, self._steady()
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
