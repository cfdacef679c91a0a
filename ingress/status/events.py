"""Which Events are to be told, and how often each came: the part of ``report_writer`` for Events.

The agenda holds the problems of which nobody was told yet, as far as we know: all of them when we
begin to lead, then those that come, after a moment: an Ingress often comes just before its
Service, and nobody wants to be told.  A problem that is solved before its turn leaves the agenda;
an Event that was written is never removed, the API server forgets it in time.

What was told before, by us or by the leader before us, is refused by the API server, since an
Event is named after what it says.  When such a problem came anew it is counted in the Event that
there is; one that a new leader only found is not, since it has been there all the time.

A problem may last for longer than the API server keeps its Event, and whoever looks later would see
nothing.  So what was told is told again when its Event may be gone; where it is there, nothing changes.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from itertools import islice

from attrs import evolve
from twisted.internet.interfaces import IDelayedCall

from ingress.cluster.api.api_client import ApiRequest
from ingress.cluster.api.api_status import ObjectMissingError, is_of_the_server
from ingress.cluster.api.api_thread import Outcome
from ingress.cluster.kinds import EVENTS
from ingress.errors import KubernetesError
from ingress.history.problem_log import SETTLE_SECONDS
from ingress.metrics.series.status import StatusMetrics
from ingress.model.cluster.object_meta import NO_META, ObjectMeta
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey
from ingress.model.cluster.problems import Problem
from ingress.model.frozen import frozen
from ingress.status.event_objects import event_key, event_object, series_count, series_patch
from ingress.status.refusals import Right, is_forbidden
from ingress.status.report_writer import Bounds, ReportWriter, Sending, Write
from ingress.status.told_events import ToldEvent, ToldEvents
from ingress.translate.reports import event_of

BOUNDS = Bounds(per_second=10.0, at_once=50)
"""How many Events are written."""

MOST_PENDING = 20_000
"""How many problems wait to be told; of more there is no Event."""

_LOOK_SECONDS = 600.0
"""How often it is seen which Events may be gone."""

_ATTEMPTS = 12
"""How often a problem is told that the API server fails to take, each time twice as long after the last: for more than an hour."""
# The API server has read the Event and does not take it as it is, or its namespace is being deleted.
_REFUSED = frozenset({400, 403, 413, 415, 422})
_KNOWN = 409
_FORGOTTEN = 404


@frozen
class _Content:
    """Which Event is written; when it is only counted, what is known of it, and how many times are *more*."""

    key: ObjectKey
    told: ToldEvent | None = None
    more: int = 0


class Events:
    """Tells of problems.

    *problems* returns the present ones, *metas* what is known of the objects.  *instance* is
    our name in Events, *now* returns the time.
    """

    def __init__(
        self,
        sending: Sending,
        problems: Callable[[], Collection[Problem]],
        metas: Callable[[], Mapping[ObjectId, ObjectMeta]],
        instance: str,
        metrics: StatusMetrics,
        now: Callable[[], datetime],
        *,
        most_pending: int = MOST_PENDING,
    ) -> None:
        self._problems = problems
        self._metas = metas
        self._instance = instance
        self._metrics = metrics
        self._now = now
        self._clock = sending.clock
        self._steady = sending.steady
        self._timeouts = sending.timeouts
        self._most_pending = most_pending
        self._writer: ReportWriter[Problem, _Content] = ReportWriter(
            self, sending, BOUNDS, "Events", "does not take them; what may be taken later is tried again"
        )
        self._told = ToldEvents(sending.steady)
        # The problems that came since we lead and are neither told nor counted.
        self._came: set[Problem] = set()
        self._failures: dict[Problem, int] = {}
        # Those for which there was no room yet, while others may go that have it: where many are replaced they are told in portions.
        self._without_room: dict[Problem, None] = {}
        self._drop_call: IDelayedCall | None = None
        self._look_call: IDelayedCall | None = None

    @property
    def pending(self) -> int:
        """How many problems wait to be told."""
        return self._writer.pending

    def lead(self) -> None:
        """Begin, with all problems that there are."""
        problems = self._problems()
        some = list(islice(problems, self._room))
        self._count_dropped(len(problems) - len(some))
        self._writer.lead(some)
        self._look_later()

    def follow(self) -> None:
        """Cease: others tell from now on."""
        for call in (self._look_call, self._drop_call):
            _cancel(call)
        self._look_call = self._drop_call = None
        self._came, self._failures, self._without_room = set(), {}, {}
        self._told.forget_counts()
        self._writer.follow()

    def problems_changed(self, came: Sequence[Problem], went: Sequence[Problem]) -> None:
        """Tell of what came, and not any more of what went."""
        if not self._writer.is_leading:
            return
        self._writer.drop(went)
        for problem in went:
            self._came.discard(problem)
            self._failures.pop(problem, None)
            self._without_room.pop(problem, None)
        self._without_room.update(dict.fromkeys(came))
        self._take_in()
        _cancel(self._drop_call)
        self._drop_call = None
        if self._without_room:
            self._drop_call = self._clock.callLater(SETTLE_SECONDS, self._drop_the_rest)

    def _take_in(self) -> None:
        """Have those told that there is room for."""
        news = list(islice(self._without_room, self._room))
        for problem in news:
            del self._without_room[problem]
        self._came.update(news)
        self._writer.look_later(news, self._steady() + SETTLE_SECONDS)

    def _drop_the_rest(self) -> None:
        """Forget those for which there still is no room, since nothing has changed for a moment."""
        self._drop_call = None
        self._take_in()
        self._count_dropped(len(self._without_room))
        self._without_room = {}

    def _look_later(self) -> None:
        _cancel(self._look_call)
        self._look_call = self._clock.callLater(_LOOK_SECONDS, self._look_for_old)

    def _look_for_old(self) -> None:
        """Look at the problems that last and whose Events may be gone."""
        present = self._problems()
        # Thousands take minutes, and who meets a new problem looks for its Event now.
        self._writer.look_behind(problem for problem in self._told.old() if problem in present)
        self._look_later()

    @property
    def _room(self) -> int:
        """How many more may wait."""
        return max(0, self._most_pending - self.pending)

    def _count_dropped(self, count: int) -> None:
        for _ in range(count):
            self._metrics.event("dropped")

    # -- what the writer asks

    def write(self, problem: Problem) -> Write[_Content] | None:
        """Return what tells of *problem*, or counts it; None when that was done, or nobody is to be told."""
        if problem not in self._problems():
            return None
        object_id = (Kind(problem.kind), ObjectKey(problem.namespace, problem.name))
        event = event_of(problem, self._metas().get(object_id, NO_META).uid)
        if event is None:
            return None
        key = event_key(event)
        told = self._told.get(key)
        is_new = told is not None and (told.more > 0 or problem in self._came)
        if told is None or (self._told.is_old(told) and not is_new):
            return self._write(
                problem, "POST", event_object(event, self._instance, self._now()), _Content(key), _KNOWN
            )
        if problem in self._came:
            self._came.remove(problem)
            told.more += 1
        if not told.more or not self._told.is_due(told):
            return None
        # Where the count is not known, a patch that changes nothing brings it.
        body = {} if told.count is None else series_patch(told.count + told.more, self._now())
        return self._write(problem, "PATCH", body, _Content(key, told, told.more), _FORGOTTEN)

    def _write(
        self, problem: Problem, method: str, body: Mapping[str, object], content: _Content, answer: int
    ) -> Write[_Content]:
        told, key = content.told, content.key
        request = ApiRequest(
            method,
            EVENTS.path(key.namespace, "" if told is None else key.name),
            body=body,
            timeouts=self._timeouts,
            wants_answer=told is not None and told.count is None,
        )
        if told is not None:
            request = evolve(request, content_type=EVENTS.media_type)
        return Write(
            request,
            key.namespace,
            f"{problem.kind} {problem.name}",
            Right.WRITE_EVENTS if told is None else Right.COUNT_EVENTS,
            content,
            answers=frozenset({answer}),
        )

    def count(self, write: Write[_Content], outcome: Outcome) -> None:
        """Count what became of an Event."""
        told = write.content.told
        error = outcome if isinstance(outcome, KubernetesError) else None
        if told is None:
            is_known = error is not None and error.status == _KNOWN
            self._metrics.event("known" if is_known else "ok" if error is None else "failed")
        elif error is None and told.count is not None:
            self._metrics.event("counted")
        elif error is not None and not (
            write.is_answer(error) or is_forbidden(error) or is_of_the_server(error)
        ):
            self._metrics.event("failed")

    def answered(
        self, problem: Problem, write: Write[_Content], outcome: Outcome, *, is_overtaken: bool
    ) -> bool:
        """Note what the API server knows of an Event now."""
        key, told, more = write.content.key, write.content.told, write.content.more
        self._failures.pop(problem, None)
        if isinstance(outcome, KubernetesError):
            if told is None:
                self._told.known(key, problem)
                # When it came anew it is counted.
                return problem in self._came
            # The API server has forgotten it, so it is told anew.
            self._told.forget(key)
            return True
        if told is None:
            self._told.told(key, problem)
            self._came.discard(problem)
            return False
        if told.count is None:
            told.count = series_count(outcome)
            return True
        self._told.counted(key, told.count + more, more)
        return False

    def failed(self, problem: Problem, write: Write[_Content], error: KubernetesError) -> float | None:
        """See whether the problem is told later; one that the API server does not take at all is not.

        Anything else, such as a redirect or a page of something in between, may pass.
        """
        now, told = self._steady(), write.content.told
        if told is not None:
            told.at = now
            if not is_forbidden(error):
                told.count = None
            return None
        if is_forbidden(error):
            return now
        if error.status in _REFUSED or isinstance(error, ObjectMissingError):
            return None
        failures = self._failures[problem] = self._failures.get(problem, 0) + 1
        return now + 2.0**failures if failures < _ATTEMPTS else None

    def settled(self, *, is_all: bool) -> None:
        """Say nothing: what was told is in the cluster, and the problems are in the log."""


def _cancel(call: IDelayedCall | None) -> None:
    """Cancel *call*, if it is still to come."""
    if call is not None and call.active():
        call.cancel()
