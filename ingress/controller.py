"""From changed objects to a published snapshot.

The controller is the sink of a source.  It puts what the source hands over into the
store, tells the translation what changed, gives it time in small slices, and publishes
what comes of it.  It knows no HTTP and no Kubernetes API, and it lives in the reactor
thread.

Theory of operation.  Two things can be out of date, each with one delayed call:

- *The endpoints* of some Services, because their EndpointSlices changed.  Pods come and
  go all the time, and each moment lost sends requests to pods that are no more.  So this
  is done from the next reactor turn on, in turns with whatever else goes on, and it resolves only the backends
  of those Services: the new snapshot shares all the rest with the old one.
- *The rest*, because anything else changed.  (A Service counts here: whether it exists
  and has a port decides about problems of the Ingresses that name it.)  That is a *round*
  of ``ingress.translate.incremental``, in slices of at most ``SLICE_SECONDS`` with a turn of
  the reactor between any two.  The first change of a quiet time begins its round in the
  next turn.  After a round the next one rests for a multiple of the time that the round
  took, so that requests keep most of the reactor however often objects change; what changes
  meanwhile is one round.

Certificates begin and cease to be valid without any change of an object.  A third call waits for the
next such moment, and begins a round then.

Invariants:

1. Nothing is published before the source is synced.  The first snapshot holds all that
   there was then.
2. What is published is the result of a whole round, never of part of it, with the endpoints
   of now.  A round that changes nothing publishes nothing.
3. At any time at most one call of each sort waits, and none after ``stop``.
4. A bug that ends a round is logged as critical and leaves the last snapshot in force, with
   endpoints that go on being found.  The next change has everything translated anew.
"""

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, islice
from types import MappingProxyType
from typing import Protocol

from attrs import evolve
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.changes.changed_objects import ChangedObjects, Tell
from ingress.cluster.store import Changes, Store
from ingress.history.problem_log import ProblemLog, differing, portions
from ingress.history.publication_log import PublicationLog, RouteNews, Served
from ingress.metrics.metrics import Metrics
from ingress.model.cluster.objects import Batch, Kind, ObjectId, ObjectKey
from ingress.model.cluster.problems import Problem
from ingress.model.cluster.state import ClusterState
from ingress.model.network.listeners import Listener
from ingress.model.serving.serving_settings import ServingSettings
from ingress.model.stepwise import Stepwise, let_go
from ingress.process.garbage_collection import CollectorTurns
from ingress.process.in_slices import SLICE_SECONDS, in_slices
from ingress.translate.endpoints.backends import services_without_endpoints, unused_endpoints
from ingress.translate.incremental import Translation
from ingress.translate.listeners import NONE_REFUSED, Refused
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.reader import Readers, RouteKind
from ingress.translate.readers.route_kinds import ROUTE_KINDS
from ingress.translate.reports import Attached
from ingress.translate.self_check import differences
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate

log = Logger()

STEPS_COLLECTED = 200
"""After so many steps of rounds, garbage is looked for among what they made, in a turn of its own."""

TRANSLATED_AT_ONCE = 100
"""Of so many objects at most the follower is told at a time that they were translated."""
_TOLD_ONE_BY_ONE = (Kind.INGRESS,)
"""Kinds of objects whose status says nothing of their problems, of which one has as many as a tenant likes."""

SERVICES_AT_ONCE = 6
"""How many Services at most have their endpoints found in one turn: about what a slice has time for."""

REST_FACTOR = 4
"""How many times as long as a round took the next one waits after it: so changes
that never cease leave at least four fifths of the reactor's time to requests."""

LONGEST_REST_SECONDS = 0.01
"""No change waits longer for its round, however long the last one took."""

HOLD_SECONDS = 0.001
"""After so long it is looked again whether all of a change has come."""

CALENDAR_SECONDS = 30.0
"""The calendar is looked at this often, while certificates are served: the delays of the reactor know
nothing of a calendar that is set, or of a machine that slept."""

NO_OBJECTS: Mapping[ObjectId, str] = MappingProxyType({})

_SERVICES_NAMED = 5
"""How many Services without an address the start-up line names."""


class Follower(Protocol):
    """Who wants to know of each change, from the first sync on; it must be quick and raise nothing."""

    def objects_changed(self, changes: Changes) -> None:
        """Learn what is different in the store now."""

    def problems_changed(self, came: Sequence[Problem], went: Sequence[Problem]) -> None:
        """Learn which problems are new in the snapshot just published, and which are solved: of very many some, with all of their objects."""

    def attached_changed(self, attached: Attached) -> None:
        """Learn which routes are attached where in the snapshot just published."""

    def translated(self, objects: Collection[ObjectId], changed_since: Container[ObjectId]) -> None:
        """Learn of which *objects* the problems are known as they are now, but for those that *changed_since*.

        These are the objects that changed, those that others changed for, those whose listeners have other routes, and Services
        to which routes of other Gateways lead.
        """


class Controller:
    """Keeps the published snapshot in line with the store.

    *publish* makes a snapshot current; *clock* delays; *now* returns the current time
    with its zone, by which certificates are judged.  *follower* is told of changes;
    *kinds* are those of the objects that are served, and *listen* has just the
    listeners of a snapshot open, once that is published; *tell* is told what changed.  While there is more of a change
    to come (*amid_change*), no round begins.
    """

    def __init__(
        self,
        store: Store,
        options: TranslateOptions,
        publish: Callable[[Snapshot], None],
        clock: IReactorTime,
        metrics: Metrics,
        now: Callable[[], datetime],
        follower: Follower | None = None,
        kinds: Sequence[RouteKind] = ROUTE_KINDS,
        serving: ServingSettings | None = None,
        listen: Callable[[Sequence[Listener]], None] = lambda listeners: None,
        tell: Tell = lambda mark, text: None,
        amid_change: Callable[[], bool] = lambda: False,
    ) -> None:
        self._store = store
        self._amid_change = amid_change
        self._kinds = kinds
        self._readers = Readers(kinds, options)
        self._options = options
        self._publish = publish
        self._listen = listen
        self._clock = clock
        self._metrics = metrics
        self._now = now
        self._follower = follower
        self._is_running = False
        self._published: Snapshot | None = None
        self._has_told_unused = False
        # The translation that the published snapshot is of, and the one that rounds work
        # on: another one after a bug or with other options, until its first round is done.
        self._serving: Translation | None = None
        self._proxy_settings = serving or ServingSettings()
        self._option_problems: tuple[Problem, ...] = ()
        self._refused = NONE_REFUSED
        self._translation = self._new_translation()
        self._round: Iterator[None] | None = None
        self._configuring: tuple[TranslateOptions, ServingSettings, tuple[Problem, ...]] | None = None
        self._round_seconds = self._slice_began = 0.0
        self._collector = CollectorTurns(STEPS_COLLECTED)
        self._rested_at = 0.0
        # When the first change came since the round began, and the first of those that it took, or that one before it lost.
        self._changed_since: float | None = None
        self._taken_since: float | None = None
        metrics.snapshots.waiting_seconds = self._waiting_seconds
        # What became of objects: for the round to come, and for the one that goes on.
        self._coming: dict[ObjectId, str] = {}
        self._taken: dict[ObjectId, str] = {}
        self._problem_log = ProblemLog(clock)
        self._publication_log = PublicationLog(clock)
        self._changed_objects = ChangedObjects(clock, tell)
        self._changed_services: set[ObjectKey] = set()
        self._dropping: Deferred[None] | None = None
        self._round_call: IDelayedCall | None = None
        self._endpoints_call: IDelayedCall | None = None
        self._calendar_call: IDelayedCall | None = None

    @property
    def options(self) -> TranslateOptions:
        """What translation goes by at present."""
        return self._options

    def changed(self, batch: Batch) -> None:
        """Store *batch*, and see to it that what really changed gets published."""
        changes = self._store.changed(batch)
        if changes.objects or changes.services:
            self._metrics.snapshots.changed_at = self._now().timestamp()
        if not self._is_running:
            return
        if changes.services:
            self._changed_services |= changes.services
            if self._endpoints_call is None:
                self._endpoints_call = self._clock.callLater(0, self._find_endpoints)
        self._translation.mark(changes.objects)
        for object_id in changes.objects:
            if object_id[0] is Kind.WATCH:
                # It has a line of its own, as a problem.
                continue
            self._coming[object_id] = (
                "came" if object_id in changes.came else "went" if object_id in changes.went else "changed"
            )
        if self._options.manual_endpoints:
            # Whether these count depends on the EndpointSlices, and a fault on whether they count.
            self._translation.mark((Kind.SERVICE, service) for service in changes.services)
        if self._translation.is_marked or (changes.services and self._published is None):
            self._note_change()
            self._schedule_round()
        if self._follower is not None:
            self._follower.objects_changed(changes)

    def configure(
        self, options: TranslateOptions, serving: ServingSettings, problems: tuple[Problem, ...]
    ) -> None:
        """Go by other options: what they change is published with the next snapshot, and so are their *problems*.

        Where translation goes by others, everything is translated anew, in slices as ever.
        """
        if self._round is not None:
            # The round that goes on is finished first, or options that change all the time would let none come to its end.
            self._configuring = options, serving, problems
            return
        self._proxy_settings, self._option_problems = serving, problems
        if options.is_alike(self._options):
            if options.port_services != self._options.port_services:
                self._options = options
                self._translation.follow(options)
            self._translation.configure(serving, problems)
        else:
            self._options = options
            self._readers = Readers(self._kinds, options)
            self._coming = {**self._taken, **self._coming}
            self._translation = self._new_translation()
        self._note_change()
        if self._is_running:
            self._schedule_round()

    def refuse(self, refused: Refused) -> None:
        """Tell those objects that ask for listeners that cannot be opened, and why; until they are not *refused* any more."""
        self._refused = dict(refused)
        self._translation.refuse(self._refused)
        self._note_change()
        if self._is_running:
            self._schedule_round()

    def synced(self) -> None:
        """Begin with the first snapshot, at once."""
        self._is_running = True
        self._work()

    def stop(self) -> None:
        """Publish nothing any more.  Objects may still be handed over, to no effect."""
        self._is_running = False
        self._round = None
        self._problem_log.stop()
        self._publication_log.stop()
        self._changed_objects.stop()
        self._stop_dropping()
        for call in (self._round_call, self._endpoints_call, self._calendar_call):
            if call is not None and call.active():
                call.cancel()
        self._round_call = self._endpoints_call = self._calendar_call = None

    def verify(self) -> tuple[str, ...]:
        """Compare what is published with a full translation; return the differences, none when all is well.

        For debugging: everything is translated, and the reactor waits for it.  While
        changes are under way there may be differences, which are none of ours.
        """
        if self._published is None:
            return ("nothing is published",)
        expected = translate(self._store.state(), self._options, self._now(), self._kinds, self._refused)
        problems = tuple(sorted({*expected.problems, *self._option_problems}))
        return differences(self._published, evolve(expected, problems=problems))

    # The round

    def _note_change(self) -> None:
        """Something is to be translated."""
        if self._changed_since is None:
            self._changed_since = self._clock.seconds()

    def _waiting_seconds(self) -> float:
        """Return for how long the oldest change has not been translated; 0 where all are."""
        since = self._changed_since if self._taken_since is None else self._taken_since
        return 0.0 if since is None or not self._is_running else max(0.0, self._clock.seconds() - since)

    def _schedule_round(self) -> None:
        if self._round is None and self._round_call is None:
            rest = min(self._rested_at - self._clock.seconds(), LONGEST_REST_SECONDS)
            self._round_call = self._clock.callLater(max(rest, 0), self._work)

    def _work(self) -> None:
        """Give the round one slice of time; begin one if there is none, and publish when it is done."""
        self._round_call = None
        started = self._slice_began = self._clock.seconds()
        if self._round is None and self._amid_change():
            self._round_call = self._clock.callLater(HOLD_SECONDS, self._work)
            return
        try:
            if self._round is None:
                self._round = self._begin()
            if self._collector.take():
                self._round_call = self._clock.callLater(0, self._work)
                return
            seconds = self._clock.seconds
            for _ in self._round:
                self._collector.made += 1
                spent = seconds() - started
                if not 0 <= spent < SLICE_SECONDS:
                    self._round_seconds += max(spent, 0)
                    self._round_call = self._clock.callLater(0, self._work)
                    return
            self._round = None
            self._taken_since = None
            self._taken = {}
        except Exception:
            self._failed()
            self._configure_later()
            return
        self._round_seconds += max(self._clock.seconds() - started, 0)
        self._rested_at = self._clock.seconds() + REST_FACTOR * self._round_seconds
        self._configure_later()
        if self._changed_since is not None:
            self._schedule_round()
        self._await_moment()

    def _configure_later(self) -> None:
        """Go by the options that came while a round went on."""
        if self._configuring is not None:
            configuration, self._configuring = self._configuring, None
            self.configure(*configuration)

    def _new_translation(self) -> Translation:
        translation = Translation(self._options, self._kinds)
        translation.configure(self._proxy_settings, self._option_problems)
        translation.refuse(self._refused)
        return translation

    def _begin(self) -> Iterator[None]:
        self._round_seconds = 0.0
        if self._taken_since is None:
            self._taken_since = self._changed_since
        self._changed_since = None
        self._taken, self._coming = self._coming, {}
        state = self._store.state()
        if self._translation.snapshot is None:
            self._translation.mark_everything(state)
        return self._steps(state)

    def _steps(self, state: ClusterState) -> Iterator[None]:
        """Take the steps of a round, and publish what it has changed."""
        yield from self._translation.round(state, self._now())
        yield from self._publish_round()
        yield from self._tell_translated()

    def _tell_translated(self) -> Iterator[None]:
        """Tell whose problems are known now, in portions."""
        news = self._translation.status_news()
        if self._follower is None:
            return
        told: list[ObjectId] = []
        for number, object_id in enumerate(chain(self._taken, news), 1):
            if number <= len(self._taken) or object_id not in self._taken:
                told.append(object_id)
            if not number % TRANSLATED_AT_ONCE:
                self._follower.translated(told, self._coming)
                told = []
                yield
        self._follower.translated(told, self._coming)

    def _publish_round(self) -> Iterator[None]:
        """Publish what the round has changed, and tell of it."""
        translation, before = self._translation, self._published
        routes: RouteNews | None = RouteNews(*translation.route_news())
        # All problems are news to a new translation, and to nobody else.
        is_new = before is not None and self._serving is not translation
        if is_new:
            routes = None
        replaced, self._serving = self._serving, translation
        snapshot = translation.snapshot
        if snapshot is None or snapshot is before:
            if (
                snapshot is not None
                and not snapshot.route_count
                and any(self._readers.decides(kind) for kind, _ in self._taken)
            ):
                # What keeps all of them from being served may be something else now.
                self._log_published(snapshot, routes)
            return
        seconds = self._round_seconds + self._clock.seconds() - self._slice_began
        self._make_current(translation, snapshot, seconds, self._taken)
        if self._follower is not None:
            self._follower.attached_changed(Attached(snapshot.attached, translation.gateways_of))
        came, went = yield from translation.problem_news()
        if is_new and before is not None:
            came, went = yield from differing(before.unordered_problems(), came)
        is_first = before is None
        # Whoever has it last frees it in steps.
        del before
        if replaced is not None and replaced is not translation:
            yield from replaced.let_go()
        del replaced
        number = 0
        for number, (some_came, some_went) in enumerate(portions(came, went, _TOLD_ONE_BY_ONE)):
            if number:
                yield
            self._problem_log.changed(some_came, some_went, at_once=is_first)
            if self._follower is not None:
                self._follower.problems_changed(some_came, some_went)
        if number:
            yield from let_go(came)
            yield from let_go(went)
        self._log_published(snapshot, None if is_first else routes)
        if is_first:
            yield from self._log_services_without_endpoints(snapshot, self._store.state())
        if snapshot.backends and not self._has_told_unused:
            self._has_told_unused = True
            for unused in (
                yield from unused_endpoints(snapshot.backends, self._store.state(), self._options)
            ):
                log.warn("{unused}", unused=unused)

    def _failed(self) -> None:
        """Go on without the caches that a bug has left in disorder."""
        self._metrics.snapshots.failed()
        log.failure("Translation failed, which is a bug; what was published last stays in force")
        self._round = None
        self._coming = {**self._taken, **self._coming}
        self._translation = self._new_translation()
        self._rested_at = self._clock.seconds() + LONGEST_REST_SECONDS
        if self._changed_since is not None:
            self._schedule_round()

    # Time

    def _await_moment(self) -> None:
        """See to it that there is a round when time alone makes a difference."""
        seconds = self._translation.seconds_to_next(self._now())
        if self._calendar_call is not None:
            self._calendar_call.cancel()
            self._calendar_call = None
        if seconds is not None:
            self._calendar_call = self._clock.callLater(
                min(seconds, CALENDAR_SECONDS), self._look_at_calendar
            )

    def _look_at_calendar(self) -> None:
        self._calendar_call = None
        if self._translation.seconds_to_next(self._now()) == 0:
            self._note_change()
            self._schedule_round()
        else:
            self._await_moment()

    # Endpoints

    def _find_endpoints(self) -> None:
        """Bring some of the backends up to date whose EndpointSlices changed."""
        self._endpoints_call = None
        started = self._clock.seconds()
        translations = {self._translation, self._serving or self._translation}
        are_left = False
        try:
            if all(one.takes_more_endpoints for one in translations):
                services = set(islice(self._changed_services, SERVICES_AT_ONCE))
                self._changed_services -= services
                for one in translations:
                    one.endpoints_changed(services)
            state = self._store.state()
            count = {one: one.refresh(state) for one in translations}
            serving = self._serving
            if serving is not None and serving.snapshot is not None and count[serving]:
                self._make_current(serving, serving.snapshot, self._clock.seconds() - started)
            if self._translation.is_marked:
                # Endpoints were refused, or are not any more.
                self._note_change()
                self._schedule_round()
            are_left = any(one.awaits_endpoints for one in translations)
        except Exception:
            self._failed()
            self._note_change()
            self._schedule_round()
        if are_left or self._changed_services:
            self._endpoints_call = self._clock.callLater(0, self._find_endpoints)

    def _make_current(
        self,
        translation: Translation,
        snapshot: Snapshot,
        seconds: float,
        objects: Mapping[ObjectId, str] = NO_OBJECTS,
    ) -> None:
        before, self._published = self._published, snapshot
        self._publish(snapshot)
        if before is None or snapshot.listeners != before.listeners:
            self._listen(snapshot.listeners)
        self._metrics.snapshot_published(
            routes=snapshot.route_count,
            certificates=translation.certificates,
            problems=translation.reasons(),
            seconds=max(seconds, 0),
            ingresses=translation.owners,
            services=translation.backend_services,
            at=self._now().timestamp(),
        )
        if before is None:
            self._changed_objects.began(snapshot, translation.served)
        else:
            self._changed_objects.published(before, snapshot, objects)
        if self._metrics.exchanges.has_to_drop:
            self._stop_dropping()
            self._dropping = in_slices(self._clock, self._metrics.exchanges.drop())
            self._dropping.addErrback(self._dropping_failed)

    def _stop_dropping(self) -> None:
        """Stop to drop rows of metrics, if that is under way."""
        if self._dropping is not None:
            self._dropping.cancel()

    @staticmethod
    def _dropping_failed(failure: Failure) -> None:
        if not failure.check(CancelledError):
            log.failure("Dropping rows of metrics failed, which is a bug", failure=failure)

    # What is logged

    def _log_published(self, snapshot: Snapshot, routes: RouteNews | None) -> None:
        """Tell the operator what is served now, and what made it so."""
        state, ours = self._store.state(), self._translation.served
        served = Served(
            routes=snapshot.route_count,
            hosts=snapshot.host_count,
            problems=sum(self._translation.reasons().values()),
            others={kind: count - ours.get(kind, 0) for kind, count in self._readers.count(state).items()},
            why_nothing=None if snapshot.route_count else self._why_nothing,
            leaves_catch_alls=self._options.disable_catch_all,
        )
        self._publication_log.published(served, self._taken, routes)

    def _why_nothing(self) -> Stepwise[str]:
        return self._readers.why_nothing(self._store.state())

    def _log_services_without_endpoints(self, snapshot: Snapshot, state: ClusterState) -> Iterator[None]:
        """Tell once, at start, which option is missing when manifests hold Ingresses alone."""
        services = yield from services_without_endpoints(snapshot.backends, state, self._options)
        if not services:
            return
        named = ", ".join(map(str, services[:_SERVICES_NAMED]))
        more = len(services) - _SERVICES_NAMED
        log.warn(
            "The manifests do not say where these Services run, so requests for them answer 503: {services}. "
            "Say so with --endpoint {service}=127.0.0.1:8080, or for all at once with --endpoint '*=127.0.0.1:8080'",
            services=f"{named} and {more} more" if more > 0 else named,
            service=str(services[0]),
        )
