"""Takes part in the election: reads and writes the Lease, turn by turn.  Reactor thread.

What to conclude is for ``ingress.status.election``; here is when to ask, and what to do when
the answer is none.

Theory of operation.  A turn begins a retry period after the last one ended.  Whoever has the
Lease renews it.  Everybody else reads it, and claims it when it has run out, was released or
never was.  A write that is refused because somebody else was quicker is followed by one look
at the Lease, at once; one that is refused for what it is made of, or answered with something else
than the Lease in our name, by one in the next turn.

Invariants:

1. At most one request is under way, and at most one turn waits.
2. ``may_act`` is true only while the time lasts that the last successful write gave us; it asks
   the clock, so it is right also when no timer has run for a while.
3. After ``stop`` we lead no more from that moment on, and the Lease is released if it was ours.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from ingress.cluster.api.api_client import ApiRequest
from ingress.cluster.api.api_status import BROKEN, ObjectMissingError
from ingress.cluster.api.api_thread import Outcome
from ingress.cluster.api.backoff import Backoff
from ingress.cluster.api.contact import Contact
from ingress.cluster.api.outage import Outage
from ingress.cluster.kinds import LEASES
from ingress.errors import KubernetesError
from ingress.metrics.series.status import StatusMetrics
from ingress.model.cluster.objects import ObjectKey
from ingress.model.observability.changes_and_failures import ChangeSort, Mark
from ingress.status.election import RETRY_SPREAD, Candidacy, Terms
from ingress.status.lease import Lease, is_lease, lease_object, micro_time, read_lease
from ingress.status.refusals import Refusals, Right, is_forbidden

log = Logger()

RELEASE_SECONDS = 1.0
"""How long the end waits for the API server to take the Lease back."""

# With what comes after it, a right that was granted shows within half a minute.
_LONGEST_PAUSE_SECONDS = 20.0
_MOST_CONFLICTS = 3
"""So many writes in a row may be refused for another's that is never seen; more are told."""

_Done = Callable[[Outcome, float], None]


class Elector:
    """One candidate, called *identity*, for the Lease *key*.

    *ask* sends a request and calls back with its outcome; *steady* returns seconds of a clock
    that nobody sets, and *now* the time to write into the Lease.  *changed* is told when we begin
    to lead and when we cease to, *regained* is called when the API server answers again.
    """

    def __init__(
        self,
        clock: Any,
        ask: Callable[[ApiRequest, Callable[[Outcome], None]], None],
        key: ObjectKey,
        identity: str,
        terms: Terms,
        *,
        steady: Callable[[], float],
        now: Callable[[], datetime],
        random: Callable[[], float],
        changed: Callable[[bool], None],
        regained: Callable[[], None] = lambda: None,
        refusals: Refusals,
        metrics: StatusMetrics,
        outage: Outage | None = None,
    ) -> None:
        self._clock = clock
        self._send = ask
        self._key = key
        self._steady = steady
        self._now = now
        self._random = random
        self._changed = changed
        self._regained = regained
        self._refusals = refusals
        self._metrics = metrics
        # A right is seldom given soon, but an API server that has just started denies all for a moment.
        self._forbidden = Backoff(
            steady,
            random,
            first_seconds=terms.retry_seconds,
            ceiling_seconds=_LONGEST_PAUSE_SECONDS / 2,
            forget_after_seconds=2 * _LONGEST_PAUSE_SECONDS,
        )
        self._contact = Contact("election", steady, "cannot be asked for the lease", outage=outage)
        self._candidacy = Candidacy(identity, terms)
        self._was_leading = False
        self._is_asking = False
        self._is_writing = False
        self._is_second_look = False
        # Writes in a row that were refused because somebody else wrote, though nobody has the Lease.
        self._conflicts = 0
        self._is_stopping = False
        self._is_resting = False
        self._turn: IDelayedCall | None = None
        self._expiry: IDelayedCall | None = None
        self._limit: IDelayedCall | None = None
        self._stopped: Deferred[None] | None = None

    @property
    def candidacy(self) -> Candidacy:
        """What is known."""
        return self._candidacy

    def may_act(self) -> bool:
        """Whether we lead at this moment.  Any thread."""
        return self._candidacy.is_leading(self._steady())

    def start(self) -> None:
        """Become a candidate."""
        self._begin_turn()

    @property
    def is_quiet(self) -> bool:
        """Whether no request of ours is under way."""
        return not self._is_asking

    def rest(self) -> None:
        """Ask for nothing more until ``go_on``; whoever leads does so for as long as its last write gave it."""
        self._is_resting = True
        self._cancel(self._turn)

    def go_on(self) -> None:
        """Take part again, from what the Lease says now."""
        self._is_resting = False
        if not self._is_asking:
            self._begin_turn()

    def leave(self) -> None:
        """Lead no more, and leave the Lease as it is: it belongs to another process with our name."""
        self._is_stopping = True
        self._cancel(self._turn)
        self._know(self._candidacy.gave_up())

    def stop(self) -> Deferred[None]:
        """Lead no more, and release the Lease; fires when that is done, or cannot be done in time."""
        stopped = self._stopped = Deferred()
        self._is_stopping = True
        self._cancel(self._turn)
        self._know(self._candidacy.gave_up())
        self._limit = self._clock.callLater(RELEASE_SECONDS, self._end)
        if not self._is_asking:
            self._release()
        elif not self._is_writing and not self._candidacy.was_ours:
            # Who only looks leaves nothing behind.
            self._end()
        return stopped

    # -- turns

    def _begin_turn(self) -> None:
        self._turn = None
        self._is_second_look = False
        if self._candidacy.is_ours:
            self._claim()
        else:
            self._read()

    def _read(self) -> None:
        timeouts = self._candidacy.terms.request_timeouts
        path = LEASES.path(self._key.namespace, self._key.name)
        self._ask(ApiRequest("GET", path, timeouts=timeouts), self._was_read)

    def _was_read(self, outcome: Outcome, asked_at: float) -> None:
        if not isinstance(outcome, KubernetesError):
            self._know(self._candidacy.saw(outcome, self._steady()))
        elif isinstance(outcome, ObjectMissingError):
            self._know(self._candidacy.saw_nothing(self._steady()))
        else:
            self._know(self._candidacy.saw_neither())
            self._failed(outcome)
            return
        self._claim()

    def _claim(self) -> None:
        """Write the Lease if it is for us to write."""
        if self._is_resting:
            return
        lease = self._candidacy.claim(self._steady(), self._written())
        if lease is None:
            # To read another's is all that is to be done.  Where we are to write, reading alone is no success.
            self._conflicts = 0
            self._heard()
            self._rest()
        else:
            self._write(lease, self._was_written)

    def _write(self, lease: Lease, done: _Done) -> None:
        raw = self._candidacy.raw
        method = "POST" if raw is None else "PUT"
        path = LEASES.path(self._key.namespace, "" if raw is None else self._key.name)
        body = lease_object(lease, self._key, raw)
        timeouts = self._candidacy.terms.request_timeouts
        self._ask(ApiRequest(method, path, body=body, timeouts=timeouts), done)

    def _was_written(self, outcome: Outcome, asked_at: float) -> None:
        if not isinstance(outcome, KubernetesError):
            self._conflicts = 0
            self._heard()
            self._refusals.granted(Right.LEAD)
            self._know(self._candidacy.wrote(outcome, asked_at, self._steady()))
            self._rest()
        elif outcome.status == 409 or (
            isinstance(outcome, ObjectMissingError) and self._candidacy.raw is not None
        ):
            self._conflicts += 1
            self._know(self._candidacy.was_refused())
            if self._conflicts >= _MOST_CONFLICTS:
                self._failed(outcome)
            elif self._is_second_look or self._is_resting:
                self._rest()
            else:
                self._is_second_look = True
                self._read()
        else:
            if self._candidacy.raw is not None and _blames_what_was_written(outcome):
                self._know(self._candidacy.was_refused())
            self._failed(outcome)

    def _heard(self) -> None:
        if self._contact.regained():
            self._regained()

    def _failed(self, error: KubernetesError) -> None:
        """Try again in the next turn; whether a write was done all the same shows then."""
        self._metrics.lease_request_failed()
        self._know(self._candidacy)
        at_least = error.retry_after_seconds or 0.0
        if is_forbidden(error):
            # The API server has been asked, and says no.
            self._heard()
            self._refusals.refused(Right.LEAD, error)
            at_least = self._forbidden.failed(at_least)
        else:
            self._contact.failed(error)
        retry = self._candidacy.terms.retry_seconds
        if self._was_leading:
            # It has no time to lose, whatever it was asked to wait.
            self._rest(retry / 5)
        else:
            self._rest(max(retry, min(at_least, _LONGEST_PAUSE_SECONDS)))

    def _rest(self, seconds: float | None = None) -> None:
        """Begin the next turn after so many seconds, by default a retry period, and a little more."""
        if not self._is_stopping and not self._is_resting:
            seconds = self._candidacy.terms.retry_seconds if seconds is None else seconds
            spread = 1.0 + (RETRY_SPREAD - 1.0) * self._random()
            self._turn = self._clock.callLater(seconds * spread, self._begin_turn)

    def _ask(self, request: ApiRequest, done: _Done) -> None:
        asked_at = self._steady()
        self._is_asking = True
        self._is_writing = request.body is not None

        def answered(outcome: Outcome) -> None:
            self._is_asking = False
            if not isinstance(outcome, KubernetesError) and not self._is_answer(request, outcome):
                # Not of the API server: of something on the way to it.
                outcome = KubernetesError(0, BROKEN, f"what was answered is not the Lease {self._key}")
            if self._is_stopping:
                self._answered_late(outcome)
            else:
                done(outcome, asked_at)

        self._send(request, answered)

    def _is_answer(self, request: ApiRequest, raw: Mapping[str, Any]) -> bool:
        """Whether *raw* is the Lease; after a write, in our name, since nothing else makes a leader."""
        is_ours = request.body is None or read_lease(raw).holder == self._candidacy.identity
        return is_ours and is_lease(raw, self._key)

    def _written(self) -> str:
        return micro_time(self._now())

    # -- what is known

    def _know(self, candidacy: Candidacy) -> None:
        """Take what is known now, and tell whether we lead by it."""
        before, self._candidacy = self._candidacy.lease, candidacy
        holder = candidacy.lease.holder if candidacy.lease is not None else ""
        if holder not in ("", candidacy.identity) and (before is None or before.holder != holder):
            log.info(
                "{holder} has the lease {lease}",
                holder=holder,
                lease=str(self._key),
                change=Mark(ChangeSort.LEADERSHIP, "taken by another", "Lease", str(self._key)),
            )
        self._cancel(self._expiry)
        left = candidacy.leads_until - self._steady()
        is_leading = left > 0
        if is_leading:
            self._expiry = self._clock.callLater(left, lambda: self._know(self._candidacy))
        if is_leading is self._was_leading:
            return
        self._was_leading = is_leading
        self._metrics.leading(is_leading)
        if is_leading:
            log.info(
                "Leading: {identity} has the lease {lease} and writes statuses and Events",
                identity=candidacy.identity,
                lease=str(self._key),
                change=Mark(ChangeSort.LEADERSHIP, "gained", "Lease", str(self._key)),
            )
        else:
            log.info(
                "Not leading any more: {why}",
                why=f"the lease {self._key} belongs to {holder}"
                if holder != candidacy.identity
                else "stopping"
                if self._is_stopping
                else f"the lease {self._key} could not be renewed in time",
                change=Mark(ChangeSort.LEADERSHIP, "lost", "Lease", str(self._key), is_trouble=True),
            )
        self._changed(is_leading)

    # -- the end

    def _answered_late(self, outcome: Outcome) -> None:
        """Take an answer that came after ``stop``: by it the Lease may be ours to release."""
        if not isinstance(outcome, KubernetesError):
            self._candidacy = self._candidacy.saw(outcome, self._steady())
        self._release()

    def _release(self) -> None:
        lease = self._candidacy.release(self._written())
        if lease is None or self._stopped is None:
            self._end()
            return
        path = LEASES.path(self._key.namespace, self._key.name)
        body = lease_object(lease, self._key, self._candidacy.raw)
        self._send(ApiRequest("PUT", path, body=body), self._was_released)

    def _was_released(self, outcome: Outcome) -> None:
        if isinstance(outcome, KubernetesError):
            log.info(
                "The lease {lease} runs out by itself: {reason}", lease=str(self._key), reason=str(outcome)
            )
        else:
            log.info("Released the lease {lease}", lease=str(self._key))
        self._end()

    def _end(self) -> None:
        stopped, self._stopped = self._stopped, None
        self._cancel(self._limit)
        if stopped is not None:
            stopped.callback(None)

    def _cancel(self, call: IDelayedCall | None) -> None:
        if call is not None and call.active():
            call.cancel()


def _blames_what_was_written(error: KubernetesError) -> bool:
    """Whether *error* may be about the object that a write was made of, so that writing it again would not help."""
    return error.reason == BROKEN or (400 <= error.status < 500 and error.status not in (401, 403, 429))
