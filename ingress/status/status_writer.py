"""Writes the addresses of Ingresses, as long as we lead.  Reactor thread.

Theory of operation.  The agenda holds Ingresses that may have to be written: all of them when we
begin to lead, when the addresses change or a class does, else those that changed.  They are looked
at one by one, in small portions, and those that are as they should be cost no request.  Several
requests are under way at a time, but one for each Ingress.

Invariants:

1. Nothing is on the agenda unless we lead.
2. Whatever came of the write of an Ingress, it rests before the next one, longer each time that
   the same is to be written.  So another controller that writes the same Ingress is answered ever
   more rarely, and other addresses are shown soon.
3. What was written counts until the API server shows something else, so that an Ingress is
   not written again because its event is late.  What it showed while the write was under way may
   be newer than the write, and counts more.
"""

from collections.abc import Callable
from math import inf
from typing import Any

from attrs import frozen
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from ingress.cluster.api.api_client import MERGE_PATCH, ApiRequest
from ingress.cluster.api.api_thread import WITHHELD, Outcome
from ingress.cluster.api.backoff import Backoff
from ingress.cluster.api.contact import Contact
from ingress.cluster.api.outage import Outage
from ingress.cluster.kinds import INGRESS_STATUS
from ingress.cluster.store import Changes
from ingress.errors import KubernetesError
from ingress.metrics.status import StatusMetrics
from ingress.model.object_meta import NO_META, Address, ObjectMeta
from ingress.model.objects import Kind, ObjectKey
from ingress.model.state import ClusterState
from ingress.settings import Reporting
from ingress.status.addresses import addresses_to_write, published_addresses, status_patch
from ingress.status.agenda import Agenda, Closures, Pace, is_about_the_server
from ingress.status.refusals import Refusals, Right, is_forbidden
from ingress.translate.classes import judge_class
from ingress.translate.options import TranslateOptions

log = Logger()

WRITES_PER_SECOND = 200.0
WRITES_AT_ONCE = 50
"""How many statuses are written in a second in the long run, and how many without a pause."""

WRITES_UNDER_WAY = 10
"""How many wait for their answer at a time."""

_PORTION = 100
_FORBIDDEN_SECONDS = 20.0
# How long an Ingress rests after its first write; doubled by each further one.
_REST_SECONDS = 1.0
_REST_CEILING_SECONDS = 30.0
_REST_FORGOTTEN_SECONDS = 120.0


@frozen
class _Rest:
    """After a write of *addresses* at a time *since*; the same are not written again before *until*."""

    addresses: tuple[Address, ...]
    backoff: Backoff
    since: float
    until: float

    def ends_for(self, addresses: tuple[Address, ...]) -> float:
        return self.until if addresses == self.addresses else self.since + _REST_SECONDS


class StatusWriter:
    """Keeps ``status.loadBalancer.ingress`` as *settings* ask for.

    *ask* sends a request, if we still lead when it goes, and calls back with its outcome.  *state*
    returns the content of the store; *options* say which Ingresses are ours.  *writer* is the
    field manager under which we write, *timeouts* bound a request, and *most_under_way* how many
    there are at a time.  *steady* returns seconds.
    """

    def __init__(
        self,
        clock: Any,
        ask: Callable[[ApiRequest, Callable[[Outcome], None]], None],
        state: Callable[[], ClusterState],
        settings: Reporting,
        options: TranslateOptions,
        writer: str,
        *,
        timeouts: tuple[float, float],
        most_under_way: int = WRITES_UNDER_WAY,
        steady: Callable[[], float],
        random: Callable[[], float],
        refusals: Refusals,
        metrics: StatusMetrics,
        outage: Outage | None = None,
    ) -> None:
        self._clock = clock
        self._ask = ask
        self._state = state
        self._settings = settings
        self._options = options
        self._writer = writer
        self._timeouts = timeouts
        self._most_under_way = most_under_way
        self._steady = steady
        self._random = random
        self._refusals = refusals
        self._metrics = metrics
        self._contact = Contact(
            "status of Ingresses", steady, "does not take it, this is tried again", outage=outage
        )
        self._agenda: Agenda[ObjectKey] = Agenda(steady)
        self._pace = Pace(steady, random, per_second=WRITES_PER_SECOND, burst=WRITES_AT_ONCE)
        self._is_leading = False
        # The Ingresses that are being written, with whether the API server has shown other addresses since.
        self._writing: dict[ObjectKey, bool] = {}
        # Those of them that were to be looked at meanwhile, and will be.
        self._passed_over: set[ObjectKey] = set()
        self._call: IDelayedCall | None = None
        # Ingresses that were ours when they were last looked at.
        self._ours: set[ObjectKey] = set()
        self._written: dict[ObjectKey, tuple[Address, ...]] = {}
        self._rests: dict[ObjectKey, _Rest] = {}
        self._closures = Closures(steady)
        self._published: tuple[Address, ...] | None = None
        self._is_service_missing = False
        self._count = 0
        # There when the addresses are to be removed; fires when they are.
        self._cleared: Deferred[None] | None = None

    @property
    def pending(self) -> int:
        """How many Ingresses are to be looked at."""
        return len(self._agenda)

    def clear(self) -> Deferred[None]:
        """From now on remove our addresses instead of showing them; fires when none is left, if we lead so long."""
        self._cleared = Deferred()
        return self._cleared

    def lead(self) -> None:
        """Begin: everything is looked at."""
        self._is_leading = True
        self._look_at_everything()

    def follow(self) -> None:
        """Cease, and forget everything: others may write from now on."""
        self._is_leading = False
        self._agenda.clear()
        self._ours, self._written, self._rests = set(), {}, {}
        self._writing = dict.fromkeys(self._writing, True)
        self._passed_over = set()
        if self._call is not None and self._call.active():
            self._call.cancel()
        self._call = None

    def objects_changed(self, changes: Changes) -> None:
        """Look at what may have to be written by these changes."""
        if not self._is_leading:
            return
        everything = False
        for kind, key in (*changes.objects, *changes.metas):
            if kind is Kind.INGRESS:
                self._agenda.add((key,))
            elif kind is Kind.INGRESS_CLASS or (
                kind is Kind.SERVICE and key == self._settings.publish_service
            ):
                everything = True
        for kind, key in changes.metas:
            if kind is Kind.INGRESS:
                self._written.pop(key, None)
                if key in self._writing:
                    self._writing[key] = True
        if everything:
            self._look_at_everything()
        else:
            self._schedule()

    def _look_at_everything(self) -> None:
        self._agenda.recall()
        self._agenda.add(self._state().ingresses)
        self._schedule()

    # -- looking

    def _schedule(self) -> None:
        """Have ``_work`` called when there is something to look at and a write may go."""
        is_full = len(self._writing) >= self._most_under_way
        at = None if is_full or not self._is_leading else self._agenda.next_at()
        if self._call is not None and self._call.active():
            self._call.cancel()
        self._call = None
        if at is not None:
            delay = max(at, self._pace.opens_at()) - self._steady()
            self._call = self._clock.callLater(max(0.0, delay), self._work)

    def _work(self) -> None:
        """Look at a portion of the agenda, up to the first Ingress that has to be written."""
        self._call = None
        state = self._state()
        published = self._published = published_addresses(self._settings, state)
        self._say_whether_known(published)
        for _ in range(_PORTION):
            key = self._agenda.take()
            if key is None:
                if not self._writing:
                    self._settled()
                break
            if key in self._writing:
                self._passed_over.add(key)
                continue
            addresses = self._addresses(key, state, published)
            if addresses is None:
                continue
            until = self._closed_until(key, addresses)
            if until > self._steady():
                self._agenda.put_off(key, until)
                continue
            self._write(key, addresses)
            break
        self._schedule()

    def _addresses(
        self, key: ObjectKey, state: ClusterState, published: tuple[Address, ...] | None
    ) -> tuple[Address, ...] | None:
        """Return what to write for one Ingress, None for nothing."""
        ingress = state.ingresses.get(key)
        if ingress is None:
            self._forget(key)
            return None
        meta = state.metas.get((Kind.INGRESS, key), NO_META)
        if key in self._written:
            written = self._written[key]
            meta = ObjectMeta(meta.uid, written, (), self._writer if written else "")
        is_ours = judge_class(ingress, state, self._options).is_ours
        was_ours = key in self._ours
        if self._cleared is not None:
            is_ours, was_ours = False, is_ours or was_ours
        addresses = addresses_to_write(meta, published, self._writer, is_ours=is_ours, was_ours=was_ours)
        if is_ours:
            self._ours.add(key)
        elif addresses is None:
            self._ours.discard(key)
        return addresses

    def _closed_until(self, key: ObjectKey, addresses: tuple[Address, ...]) -> float:
        rest = self._rests.get(key)
        return max(-inf if rest is None else rest.ends_for(addresses), self._closures.until(key.namespace))

    def _forget(self, key: ObjectKey) -> None:
        self._ours.discard(key)
        self._written.pop(key, None)
        self._rests.pop(key, None)

    def _say_whether_known(self, published: tuple[Address, ...] | None) -> None:
        """Tell the operator, once, that the Service whose addresses are to be shown is not there."""
        service = self._settings.publish_service
        is_missing = published is None and service is not None
        if is_missing and not self._is_service_missing:
            log.warn(
                "--publish-service: there is no Service {service}, so the statuses of Ingresses stay as they are",
                service=str(service),
            )
        self._is_service_missing = is_missing

    def _settled(self) -> None:
        """Say what was written since all was last as it should be."""
        if self._cleared is not None and not self._agenda and not self._cleared.called:
            log.info("Removed the addresses of {count} Ingresses", count=self._count)
            self._count = 0
            self._cleared.callback(None)
        count, self._count = self._count, 0
        now = self._steady()
        self._rests = {
            key: rest for key, rest in self._rests.items() if now - rest.until < _REST_FORGOTTEN_SECONDS
        }
        if count:
            log.info(
                "Wrote the status of {count} Ingresses; the address of those served is {addresses}",
                count=count,
                addresses=", ".join(map(str, self._published or ())) or "not known",
            )

    # -- writing

    def _write(self, key: ObjectKey, addresses: tuple[Address, ...]) -> None:
        request = ApiRequest(
            "PATCH",
            INGRESS_STATUS.path(key.namespace, key.name),
            (("fieldManager", self._writer),),
            status_patch(addresses),
            MERGE_PATCH,
            self._timeouts,
            wants_answer=False,
        )
        self._writing[key] = False
        self._pace.went()
        self._ask(request, lambda outcome: self._was_written(key, addresses, outcome))

    def _was_written(self, key: ObjectKey, addresses: tuple[Address, ...], outcome: Outcome) -> None:
        is_overtaken = self._writing.pop(key)
        is_passed_over = key in self._passed_over
        self._passed_over.discard(key)
        if not isinstance(outcome, KubernetesError):
            self._metrics.status_written("ok")
            self._contact.regained()
            self._refusals.granted(Right.WRITE_STATUS)
            if self._closures.permitted(key.namespace):
                self._agenda.recall()
            self._count += 1
        elif outcome.reason != WITHHELD and outcome.status != 404:
            self._metrics.status_written("failed")
        if not self._is_leading:
            return
        if not isinstance(outcome, KubernetesError):
            if not is_overtaken:
                self._written[key] = addresses
            if is_passed_over:
                self._agenda.add((key,))
            if not addresses:
                self._ours.discard(key)
            self._rest(key, addresses)
            if not self._agenda and not self._writing:
                self._settled()
        else:
            self._agenda.add((key,))
            if outcome.reason == WITHHELD:
                self._pace.troubled(outcome)
            elif outcome.status == 404:
                # Its end is on the way here.
                self._rest(key, addresses)
            else:
                self._failed(key, addresses, outcome)
        self._schedule()

    def _failed(self, key: ObjectKey, addresses: tuple[Address, ...], error: KubernetesError) -> None:
        if is_forbidden(error):
            self._refusals.refused(Right.WRITE_STATUS, error)
            self._closures.close(key.namespace, _FORBIDDEN_SECONDS)
            return
        self._contact.failed(error, str(key))
        if is_about_the_server(error):
            self._pace.troubled(error)
        else:
            self._rest(key, addresses, error.retry_after_seconds or 0.0)

    def _rest(self, key: ObjectKey, addresses: tuple[Address, ...], at_least: float = 0.0) -> None:
        rest = self._rests.get(key)
        backoff = (
            Backoff(
                self._steady,
                self._random,
                first_seconds=_REST_SECONDS,
                ceiling_seconds=_REST_CEILING_SECONDS,
                forget_after_seconds=_REST_FORGOTTEN_SECONDS,
            )
            if rest is None or rest.addresses != addresses
            else rest.backoff
        )
        now = self._steady()
        self._rests[key] = _Rest(addresses, backoff, now, now + backoff.failed(at_least))
