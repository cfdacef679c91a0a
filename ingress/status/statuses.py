"""What the statuses of objects are to say, and how soon they are written again: the part of ``report_writer`` for statuses.

The agenda holds objects that may have to be written: all of them when we begin to lead, when our
addresses change or what decides about a whole kind does, else those that changed.

Invariants:

1. Whatever came of the write of an object, there is a pause before the next one, longer each time that
   the same is to be written.  So another controller that writes the same object is answered ever
   more rarely, and what is new is shown soon.
2. What was written counts until the API server shows something else, so that an object is
   not written again because its event is late.  What it showed while the write was under way may
   be newer than the write, and counts more.
3. Conditions are about the object as it was translated: one that changed waits for its translation.
"""

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from datetime import datetime
from math import inf

from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ingress.cluster.api.api_client import ApiRequest
from ingress.cluster.api.api_thread import Outcome
from ingress.cluster.store import Changes
from ingress.errors import KubernetesError
from ingress.metrics.series.status import StatusMetrics
from ingress.model.cluster.object_meta import NO_META, Address, ObjectMeta
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey
from ingress.model.cluster.problems import Problem
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.model.reporting.reporting import Reporting
from ingress.model.reporting.writes import ADDRESSES_FIELD, StatusField
from ingress.status.addresses import published_addresses
from ingress.status.refusals import is_forbidden, write_status
from ingress.status.report_writer import Bounds, ReportWriter, Sending, Write
from ingress.status.status_patches import StatusPatch, patch_for
from ingress.status.write_pauses import WritePauses
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.route_kinds import REPORTED_KINDS
from ingress.translate.reports import Attached, ReportedKind, ReportFacts, report_of
from ingress.wording import number_of

log = Logger()

BOUNDS = Bounds(per_second=200.0, at_once=50, under_way=10)
"""How many statuses are written."""

_NEWS = frozenset({404, 409})
"""Refusals that are no failures: the end of the object is on the way here, or what somebody else wrote is, ..."""
_NO_NEWS: frozenset[int] = frozenset()
_MOST_REFUSED = 3
"""... unless so many come in a row, and nothing on the way."""
_TOLD_SECONDS = 10.0
"""How long after a line about what was written the next one comes, as long as something is put off."""


@frozen
class _Content:
    """What a write is about."""

    reported: ReportedKind
    patch: StatusPatch


class Statuses:
    """Keeps the statuses of all *kinds* as they are to be.

    *state* returns the content of the store; *options* say which objects are ours, *settings* which
    addresses are to be shown, *of_nodes* returns those of Nodes.  *name* is the field manager under which we write, *now* returns the time.
    """

    def __init__(
        self,
        sending: Sending,
        state: Callable[[], ClusterState],
        settings: Reporting,
        options: TranslateOptions,
        name: str,
        metrics: StatusMetrics,
        now: Callable[[], datetime],
        *,
        kinds: Iterable[ReportedKind] = REPORTED_KINDS,
        bounds: Bounds = BOUNDS,
        of_nodes: Callable[[], tuple[Address, ...] | None] = lambda: None,
    ) -> None:
        self._sending = sending
        self._of_nodes = of_nodes
        self._state = state
        self._settings = settings
        self._options = options
        self._name = name
        self._metrics = metrics
        self._now = now
        self._kinds = {reported.kind: reported for reported in kinds}
        self._with_conditions = frozenset(
            kind for kind, reported in self._kinds.items() if reported.field is StatusField.DOCUMENT
        )
        self._looking_with: dict[Kind, list[ReportedKind]] = {}
        for reported in self._kinds.values():
            for kind in reported.looks_with:
                self._looking_with.setdefault(kind, []).append(reported)
        # Kinds of objects after whose translation statuses may be others.
        self._in_rounds = self._with_conditions.union(self._looking_with)
        self._with_addresses = {
            one.kind for one in self._kinds.values() if one.field is StatusField.ADDRESSES
        }
        # Of what kind, and which one object, may matter to what all statuses are to say.
        self._deciding = frozenset(kind for one in self._kinds.values() for kind in one.decided_by)
        self._publishing = (Kind.SERVICE, settings.publish_service)
        self._writer: ReportWriter[ObjectId, _Content] = ReportWriter(
            self, sending, bounds, "statuses of objects", "does not take them, this is tried again"
        )
        # Objects that were ours when they were last looked at.
        self._ours: set[ObjectId] = set()
        # What the API server has since we wrote, until it shows something else.
        self._written: dict[ObjectId, ObjectMeta] = {}
        # How often in a row a write was not taken for the object's own sake.
        self._not_taken: Counter[ObjectId] = Counter()
        # How often in a row a write was refused as if something else were on the way here.
        self._refused: Counter[ObjectId] = Counter()
        self._pauses: WritePauses[ObjectId] = WritePauses(sending.steady, sending.random)
        # The problems of objects with conditions, and those objects that changed since they were translated.
        self._problems: dict[ObjectId, dict[Problem, None]] = {}
        self._untranslated: set[ObjectId] = set()
        # Which routes are attached where, and the objects whose statuses count others, by those that they count.
        self._attached = Attached()
        self._beside: dict[ObjectId, tuple[ObjectId, ...]] = {}
        self._published: tuple[Address, ...] | None = None
        self._is_service_missing = False
        # What was written and not told yet, and when something was told.
        self._counts: Counter[Kind] = Counter()
        self._told_at = -inf
        # There when the addresses are to be removed; fires when they are.
        self._cleared: Deferred[None] | None = None

    @property
    def pending(self) -> int:
        """How many objects are to be looked at."""
        return self._writer.pending

    @property
    def unseen(self) -> int:
        """How many objects the API server has not shown since they were written."""
        return len(self._written)

    def clear(self) -> Deferred[None]:
        """From now on remove our addresses instead of showing them; fires when none is left, if we lead so long.

        What the API server does not take, though it was asked some times, is left.
        """
        self._cleared = Deferred()
        return self._cleared

    def lead(self) -> None:
        """Begin: everything is looked at."""
        self._find_addresses()
        self._writer.lead(self._everything())

    def follow(self) -> None:
        """Cease, and forget everything: others may write from now on."""
        self._ours, self._written, self._beside = set(), {}, {}
        self._pauses.clear()
        self._refused.clear()
        self._not_taken.clear()
        self._writer.follow()

    def objects_changed(self, changes: Changes) -> None:
        """Look at what may have to be written by these changes."""
        if self._with_conditions:
            self._untranslated.update(one for one in changes.objects if one[0] in self._with_conditions)
        if not self._writer.is_leading:
            return
        for object_id in changes.metas:
            self._written.pop(object_id, None)
            self._refused.pop(object_id, None)
            self._writer.overtake(object_id)
        changed = (*changes.objects, *changes.metas)
        if any(one[0] in self._deciding or one == self._publishing for one in changed):
            self._find_addresses()
            self._writer.look_at_all(self._everything())
        else:
            self._look_at(changed)

    def nodes_changed(self) -> None:
        """Look at everything: Nodes have other addresses, or others are shown."""
        if self._writer.is_leading:
            self._find_addresses()
            self._writer.look_at_all(self._everything())

    def problems_changed(self, came: Sequence[Problem], went: Sequence[Problem]) -> None:
        """Look at the objects with conditions that have other problems now."""
        changed: dict[ObjectId, None] = {}
        if not self._with_conditions:
            return
        for object_id, problem in self._of_conditions(went):
            known = self._problems.get(object_id, {})
            known.pop(problem, None)
            if not known:
                self._problems.pop(object_id, None)
            changed[object_id] = None
        for object_id, problem in self._of_conditions(came):
            self._problems.setdefault(object_id, {})[problem] = None
            changed[object_id] = None
        if self._writer.is_leading:
            self._look_at(changed)

    def attached_changed(self, attached: Attached) -> None:
        """Learn which routes are attached where; the objects whose statuses say so come with ``translated``."""
        self._attached = attached

    def translated(self, objects: Collection[ObjectId], changed_since: Container[ObjectId]) -> None:
        """Look at those of *objects* with conditions: their problems are known as they are now.

        That is so for all but those that *changed_since*.  *objects* are those that changed, those that were read again for
        others, and those whose listeners have other routes.
        """
        known = [one for one in objects if one[0] in self._in_rounds and one not in changed_since]
        self._untranslated.difference_update(known)
        if self._writer.is_leading:
            self._look_at(known)
            for one in known:
                if one in self._beside and not self._others_of(one):
                    del self._beside[one]

    def _look_at(self, objects: Iterable[ObjectId]) -> None:
        """Look at *objects*, and at those whose statuses count them, or did."""
        found: dict[ObjectId, None] = {}
        for one in objects:
            if one[0] in self._kinds:
                found[one] = None
            if one[0] in self._looking_with:
                found.update(dict.fromkeys((*self._beside.get(one, ()), *self._others_of(one))))
        if found:
            self._writer.look_at(found)

    def _others_of(self, object_id: ObjectId) -> tuple[ObjectId, ...]:
        """Return the objects whose statuses say something of *object_id*."""
        kind, key = object_id
        return tuple(
            (reported.kind, other)
            for reported in self._looking_with.get(kind, ())
            for other in reported.looks_with[kind](key, self._state())
        )

    def _everything(self) -> Iterator[ObjectId]:
        state = self._state()
        for reported in self._kinds.values():
            for key in reported.keys(state):
                yield reported.kind, key

    def _find_addresses(self) -> None:
        """See what our addresses are; the operator is told, once, that the Service to take them from is not there."""
        self._published = published_addresses(self._settings, self._state(), self._of_nodes())
        service = self._settings.publish_service
        is_missing = self._published is None and service is not None
        if is_missing and not self._is_service_missing:
            log.warn(
                "--publish-service: there is no Service {service}, so the statuses of Ingresses stay as they are",
                service=str(service),
            )
        self._is_service_missing = is_missing

    def _shows_published(self, reported: ReportedKind) -> bool:
        """Whether objects of a kind show the addresses that we publish; those of their own stay theirs."""
        return ADDRESSES_FIELD in reported.written.fields and not self._options.gateway.addresses

    def _problems_of(self, object_id: ObjectId) -> Collection[Problem]:
        return self._problems.get(object_id, ())

    def _of_conditions(self, problems: Sequence[Problem]) -> Iterator[tuple[ObjectId, Problem]]:
        """Yield those of *problems* that are about objects with conditions."""
        for problem in problems:
            if problem.kind in self._with_conditions:
                yield (Kind(problem.kind), ObjectKey(problem.namespace, problem.name)), problem

    # -- what the writer asks

    def write(self, object_id: ObjectId) -> Write[_Content] | None:
        """Return what to write for one object, None for nothing."""
        kind, key = object_id
        reported, state = self._kinds[kind], self._state()
        if object_id in self._untranslated:
            return None
        facts = ReportFacts(
            key,
            state,
            self._options,
            self._problems_of(object_id),
            self._published,
            self._attached,
            self._problems_of,
        )
        report = report_of(reported, facts)
        if report is None:
            self._forget(object_id)
            return None
        if kind in self._looking_with:
            self._beside[object_id] = self._others_of(object_id)
        was_ours = object_id in self._ours
        if self._cleared is not None:
            if reported.field is StatusField.ADDRESSES:
                was_ours = was_ours or report.is_ours
                report = evolve(report, is_ours=False)
            elif report.is_ours and self._shows_published(reported):
                fields = {**report.document.fields, ADDRESSES_FIELD: None}
                report = evolve(report, document=evolve(report.document, fields=fields))
            else:
                return None
        patch = patch_for(
            report,
            reported.field,
            reported.written,
            self._written.get(object_id) or state.metas.get(object_id, NO_META),
            self._name,
            self._now(),
            was_ours=was_ours,
        )
        if report.is_ours:
            self._ours.add(object_id)
        elif patch is None:
            self._ours.discard(object_id)
        return None if patch is None else self._request(object_id, reported, patch)

    def _request(self, object_id: ObjectId, reported: ReportedKind, patch: StatusPatch) -> Write[_Content]:
        key, place = object_id[1], reported.write
        return Write(
            ApiRequest(
                "PATCH",
                place.path(key.namespace, key.name),
                (("fieldManager", self._name),),
                patch.body,
                place.media_type,
                self._sending.timeouts,
                wants_answer=False,
            ),
            key.namespace,
            str(key),
            write_status(reported.plural, place.resource, reported.loss),
            _Content(reported, patch),
            not_before=self._pauses.ends(object_id, patch.shows, patch.about),
            answers=_NEWS if self._refused[object_id] < _MOST_REFUSED else _NO_NEWS,
        )

    def count(self, write: Write[_Content], outcome: Outcome) -> None:
        """Count a status that was written, or was not."""
        if not isinstance(outcome, KubernetesError):
            self._metrics.status_written("ok")
            self._counts[write.content.reported.kind] += 1
        elif not write.is_answer(outcome):
            self._metrics.status_written("failed")

    def answered(
        self, object_id: ObjectId, write: Write[_Content], outcome: Outcome, *, is_overtaken: bool
    ) -> bool:
        """Note that an object was written, or that it is not what we take it for."""
        patch = write.content.patch
        self._pauses.begin(object_id, patch.shows, patch.about)
        if isinstance(outcome, KubernetesError):
            self._refused[object_id] += 1
            return True
        self._refused.pop(object_id, None)
        self._not_taken.pop(object_id, None)
        if not is_overtaken:
            self._written[object_id] = patch.after
        if patch.is_removal:
            self._ours.discard(object_id)
        return False

    def failed(self, object_id: ObjectId, write: Write[_Content], error: KubernetesError) -> float:
        """Leave an object alone for a while that the API server does not take."""
        if not is_forbidden(error):
            self._not_taken[object_id] += 1
            patch = write.content.patch
            self._pauses.begin(object_id, patch.shows, patch.about, error.retry_after_seconds or 0.0)
        return self._sending.steady()

    def settled(self, *, is_all: bool) -> None:
        """Say what was written since that was last said; not at once again, where objects that were put off follow one by one."""
        if self._cleared is not None and not self._cleared.called:
            self._see_whether_cleared(self._cleared, self._counts, is_all=is_all)
        self._pauses.forget_old()
        now = self._sending.steady()
        if self._counts and (is_all or now - self._told_at >= _TOLD_SECONDS):
            self._told_at = now
            counts, self._counts = self._counts, Counter()
            log.info(
                "Wrote the status of {what}{addresses}",
                what=_counted(counts),
                addresses=self._told_addresses() if counts.keys() & self._with_addresses else "",
            )

    def _see_whether_cleared(self, cleared: Deferred[None], counts: Counter[Kind], *, is_all: bool) -> None:
        """Tell that no address is left, but where the API server does not take that; what was counted is told with it."""
        given_up = {one for one, times in self._not_taken.items() if times >= _MOST_REFUSED}
        given_up |= self._writer.closed | self._writer.failing(_MOST_REFUSED)
        if not is_all and self.pending > len(given_up):
            return
        log.info("Removed the addresses of {what}", what=_counted(counts) or "0 Ingresses")
        if given_up:
            kind, key = next(iter(given_up))
            log.info(
                "The API server does not take that of {others}, such as {kind} {key}",
                others=number_of(len(given_up), "other"),
                kind=kind,
                key=str(key),
            )
        counts.clear()
        cleared.callback(None)

    def _told_addresses(self) -> str:
        addresses = ", ".join(map(str, self._published or ())) or "not known"
        return f"; the address of those served is {addresses}"

    def _forget(self, object_id: ObjectId) -> None:
        self._ours.discard(object_id)
        self._written.pop(object_id, None)
        self._refused.pop(object_id, None)
        self._not_taken.pop(object_id, None)
        self._pauses.forget(object_id)


def _counted(counts: Counter[Kind]) -> str:
    return " and ".join(number_of(count, kind) for kind, count in counts.items())
