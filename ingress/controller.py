"""From changed objects to a published snapshot.

The controller is the sink of a source.  It puts what the source hands over into the
store, decides what of the snapshot is out of date, and brings that up to date one
reactor turn later or a little more, so that a burst of changes costs one translation.
It knows no HTTP and no Kubernetes API, and it lives in the reactor thread.

Theory of operation.  Two things can be out of date, each with one delayed call:

- *The endpoints* of some Services, because their EndpointSlices changed.  Pods come and
  go all the time, and each moment lost sends requests to pods that are no more.  So this
  is done in the next reactor turn, and it resolves only the backends of those Services:
  the new snapshot shares route table, certificates and problems with the old one.
- *The table*, because anything else changed.  (A Service counts here: whether it exists
  and has a port decides about problems of the Ingresses that name it.)  Translation
  costs more, and such changes come in bursts, so it waits ``TABLE_DELAY_SECONDS`` after
  the first change of a burst.  The wait is not prolonged by further changes: on a
  cluster that is never quiet, a change must not wait for silence.  But requests wait
  while we translate, so where that takes long, a translation rests from the one before.

Invariants:

1. Nothing is published before the source is synced; then at once.
2. At any time at most one call of each sort waits, and none after ``stop``.
3. A bug that ends a translation is logged as critical and leaves the last snapshot in
   force.  The next change tries again.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime

from attrs import evolve, frozen
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ingress.cluster.store import Store
from ingress.metrics import Metrics
from ingress.model.backends import BackendReference
from ingress.model.objects import Batch, EndpointSlice, Kind, ObjectKey, Projection
from ingress.model.problems import Problem, Reason
from ingress.model.state import ClusterState
from ingress.translate.backends import SERVICE_KIND, resolve_backends, services_without_endpoints
from ingress.translate.options import TranslateOptions
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate

log = Logger()

TABLE_DELAY_SECONDS = 0.05
"""How long the first change of a burst waits for others: too short for people to notice,
long enough for ``kubectl apply`` of a few files to become one translation."""

REST_FACTOR = 4
"""How many times as long as a translation took the next one waits after it: so changes
that never cease leave at least four fifths of the reactor's time to requests."""

LONGEST_REST_SECONDS = 2.0
"""No change waits longer, whatever translation takes and wherever the clock jumps."""

_SERVICES_NAMED = 5
"""How many Services without an address the start-up line names."""


@frozen
class _Published:
    """The snapshot in force, with what is looked up in it or counted of it each time."""

    snapshot: Snapshot
    state_problems: tuple[Problem, ...]
    """The problems of the cluster state that it was made of."""
    references: Mapping[ObjectKey, tuple[BackendReference, ...]]
    """Its backends by Service."""
    ingresses: frozenset[ObjectKey]
    certificates: int
    reasons: Mapping[Reason, int]


class Controller:
    """Keeps the published snapshot in line with the store.

    *publish* makes a snapshot current; *clock* delays; *now* returns the current time
    with its zone, by which certificates are judged.
    """

    def __init__(
        self,
        store: Store,
        options: TranslateOptions,
        publish: Callable[[Snapshot], None],
        clock: IReactorTime,
        metrics: Metrics,
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._options = options
        self._publish = publish
        self._clock = clock
        self._metrics = metrics
        self._now = now
        self._is_running = False
        self._published: _Published | None = None
        self._rested_at = 0.0
        self._table_call: IDelayedCall | None = None
        self._endpoints_call: IDelayedCall | None = None
        # The Service that each EndpointSlice belonged to when it was last seen: one that
        # is gone, or belongs to another Service now, does not say so any more.
        self._service_of_slice: dict[ObjectKey, ObjectKey] = {}
        self._changed_services: set[ObjectKey] = set()

    def changed(self, batch: Batch) -> None:
        """Store *batch*, and see to it that what really changed gets published."""
        table_is_stale = False
        for object_id in self._store.changed(batch):
            kind, key = object_id
            if kind is Kind.ENDPOINT_SLICE:
                self._slice_changed(key, batch.get(object_id))
            else:
                table_is_stale = True
        if not self._is_running:
            return
        if table_is_stale or (self._published is None and self._changed_services):
            self._schedule_table()
        if self._changed_services and self._published is not None:
            self._schedule_endpoints()

    def synced(self) -> None:
        """Publish for the first time, at once."""
        self._is_running = True
        self._translate()

    def stop(self) -> None:
        """Publish nothing any more.  Objects may still be handed over, to no effect."""
        self._is_running = False
        self._cancel_calls()

    def _slice_changed(self, key: ObjectKey, projection: Projection | None) -> None:
        before = self._service_of_slice.pop(key, None)
        if before is not None:
            self._changed_services.add(before)
        if projection is not None and isinstance(projection.value, EndpointSlice):
            service = projection.value.service
            self._service_of_slice[key] = service
            self._changed_services.add(service)

    def _schedule_table(self) -> None:
        if self._table_call is None:
            rest = min(self._rested_at - self._clock.seconds(), LONGEST_REST_SECONDS)
            self._table_call = self._clock.callLater(max(rest, TABLE_DELAY_SECONDS), self._translate)

    def _schedule_endpoints(self) -> None:
        if self._endpoints_call is None:
            self._endpoints_call = self._clock.callLater(0, self._resolve)

    def _cancel_calls(self) -> None:
        for call in (self._table_call, self._endpoints_call):
            if call is not None and call.active():
                call.cancel()
        self._table_call = self._endpoints_call = None

    def _translate(self) -> None:
        """Bring all up to date."""
        self._cancel_calls()
        self._changed_services.clear()
        started = self._clock.seconds()
        try:
            state = self._store.state()
            snapshot = translate(state, self._options, self._now())
            before = self._published
            self._make_current(_published(snapshot, state), started)
            self._log_problems(snapshot.problems, before.snapshot.problems if before is not None else ())
            self._log_published(snapshot, started)
            if before is None:
                self._log_services_without_endpoints(snapshot, state)
        except Exception:
            self._metrics.translation_failed()
            log.failure("Translation failed, which is a bug; what was published last stays in force")
        ended = self._clock.seconds()
        self._rested_at = ended + REST_FACTOR * (ended - started)

    def _resolve(self) -> None:
        """Bring the endpoints of the Services up to date whose EndpointSlices changed."""
        self._endpoints_call = None
        published = self._published
        assert published is not None
        services = frozenset(self._changed_services)
        self._changed_services.clear()
        started = self._clock.seconds()
        try:
            state = self._store.state()
            if state.problems != published.state_problems:
                # An EndpointSlice became unreadable, or readable again.
                self._schedule_table()
            backends = published.snapshot.backends
            references = [
                reference for service in services for reference in published.references.get(service, ())
            ]
            resolved = resolve_backends(references, state, self._options)
            different = {
                reference: found for reference, found in resolved.items() if found != backends[reference]
            }
            if different:
                snapshot = evolve(published.snapshot, backends={**backends, **different})
                self._make_current(evolve(published, snapshot=snapshot), started)
                log.debug("Published new endpoints of {count} backends", count=len(different))
        except Exception:
            self._metrics.translation_failed()
            log.failure("Finding endpoints failed, which is a bug; everything is translated anew")
            self._schedule_table()

    def _make_current(self, published: _Published, started: float) -> None:
        snapshot = published.snapshot
        self._publish(snapshot)
        self._published = published
        self._metrics.snapshot_published(
            routes=len(snapshot.table.routes),
            certificates=published.certificates,
            problems=published.reasons,
            seconds=self._clock.seconds() - started,
            ingresses=published.ingresses,
        )

    def _log_published(self, snapshot: Snapshot, started: float) -> None:
        log.info(
            "Published {routes} routes of {hosts} hosts, with {problems} problems, in {milliseconds:.1f} ms",
            routes=len(snapshot.table.routes),
            hosts=len({route.host for route in snapshot.table.routes}),
            problems=len(snapshot.problems),
            milliseconds=(self._clock.seconds() - started) * 1000,
        )

    def _log_problems(self, present: tuple[Problem, ...], before: tuple[Problem, ...]) -> None:
        """Tell of each problem when it comes and when it goes, and not in between."""
        known, current = frozenset(before), frozenset(present)
        for problem in before:
            if problem not in current:
                log.info("Solved: {problem}", problem=str(problem), reason=problem.reason.value)
        for problem in present:
            if problem not in known:
                log.warn("{problem}", problem=str(problem), reason=problem.reason.value)

    def _log_services_without_endpoints(self, snapshot: Snapshot, state: ClusterState) -> None:
        """Tell once, at start, which option is missing when manifests hold Ingresses alone."""
        services = services_without_endpoints(snapshot.backends, state, self._options)
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


def _published(snapshot: Snapshot, state: ClusterState) -> _Published:
    references: dict[ObjectKey, tuple[BackendReference, ...]] = {}
    for reference in snapshot.backends:
        if reference.kind == SERVICE_KIND:
            key = ObjectKey(reference.namespace, reference.name)
            references[key] = (*references.get(key, ()), reference)
    certificates = {*snapshot.certificates.exact.values(), *snapshot.certificates.wildcard.values()}
    if snapshot.certificates.default is not None:
        certificates.add(snapshot.certificates.default)
    return _Published(
        snapshot=snapshot,
        state_problems=state.problems,
        references=references,
        ingresses=frozenset(route.ingress for route in snapshot.table.routes if route.ingress is not None),
        certificates=len(certificates),
        reasons=Counter(problem.reason for problem in snapshot.problems),
    )
