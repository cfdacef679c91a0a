"""Sends what is to be reported, statuses, Events and kept Services alike, as long as we lead.  Reactor thread.

Theory of operation.  An agenda holds the keys of what may have to be written.  They are looked at
one by one, in small portions; whoever knows what is to be written (a ``Part``) says for each of
them which request it takes, or that it is as it should be, which costs nothing.  The writer knows
when a request may go, and what a refusal or an API server in trouble means for all that wait.

Invariants:

1. Nothing is on the agenda unless we lead, and whoever sends asks once more at the last moment.
2. For one key there is one request under way at a time.  What is to be looked at meanwhile is
   looked at behind the answer.
3. A request that the API server forbids leaves its namespace alone for a while, as far as that right is
   concerned; once it is permitted, all that waited for it is looked at.
4. No error is the end: unless the part gives up, a key stays on the agenda until it is written.
5. A bug that one key meets costs no other: it is logged, and that key waits until it is to be looked at anew.
"""

from collections.abc import Callable, Hashable, Iterable, Set
from math import inf
from typing import Any, Generic, Protocol, TypeVar

from attrs import define
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from ingress.cluster.api.api_client import ApiRequest
from ingress.cluster.api.api_status import ObjectMissingError, is_of_the_server
from ingress.cluster.api.api_thread import WITHHELD, Outcome
from ingress.cluster.api.contact import Contact
from ingress.cluster.api.outage import Outage
from ingress.errors import KubernetesError
from ingress.model.frozen import frozen
from ingress.status.agenda import (
    Agenda,
    Closures,
    Failing,
    Pace,
    is_of_a_webhook,
    words_of,
)
from ingress.status.refusals import Refusals, is_forbidden

log = Logger()

_K = TypeVar("_K", bound=Hashable)
_K_contra = TypeVar("_K_contra", bound=Hashable, contravariant=True)
_C = TypeVar("_C")

_PORTION = 10
"""How many keys are looked at in one turn: a status of the Gateway API takes a tenth of a millisecond, ..."""
_PORTION_SECONDS = 0.0005
"""... but one of an object with thousands of listeners or problems may take some; after so long no further key is looked at."""
_FORBIDDEN_SECONDS = 20.0
_NOT_FOUND = 404


@frozen
class Write(Generic[_C]):
    """One request, *about* an object in *namespace*, which takes a *right*.

    It goes *not_before* a time.  Errors with one of the HTTP statuses *answers* are no failures, but say what the part
    wants to know; 404 does where it is about the object.  *content* is the part's own.
    """

    request: ApiRequest
    namespace: str
    about: str
    right: str
    content: _C
    not_before: float = -inf
    answers: frozenset[int] = frozenset()

    def is_answer(self, error: KubernetesError) -> bool:
        """Whether *error* is no failure."""
        is_told = error.status != _NOT_FOUND or isinstance(error, ObjectMissingError)
        return is_told and error.status in self.answers


class Part(Protocol[_K_contra, _C]):
    """What is to be written: the other half of a writer, which knows nothing of agendas and pauses."""

    def write(self, key: _K_contra) -> Write[_C] | None:
        """Return what to write for *key*, None when it is as it should be, or not there any more."""

    def count(self, write: Write[_C], outcome: Outcome) -> None:
        """Count what became of a request that was sent, whether we still lead or not."""

    def answered(self, key: _K_contra, write: Write[_C], outcome: Outcome, *, is_overtaken: bool) -> bool:
        """Note an answer; return whether *key* is to be looked at again.

        *is_overtaken* when what was written may not be the newest: ``overtake`` was called meanwhile.
        """

    def failed(self, key: _K_contra, write: Write[_C], error: KubernetesError) -> float | None:
        """Note an error about this object alone, or a missing right.

        Return when *key* is to be looked at again, None for never.
        """

    def settled(self, *, is_all: bool) -> None:
        """Note that nothing waits for an answer and nothing can be written now; *is_all* when nothing is put off."""


@frozen
class Sending:
    """What all writers share.

    *clock* makes delayed calls.  *ask* sends a request, if we still lead when it goes, and calls back
    with its outcome; *timeouts* bound it.  *steady* returns seconds, *random* a number in [0, 1).
    """

    clock: Any
    ask: Callable[[ApiRequest, Callable[[Outcome], None]], None]
    timeouts: tuple[float, float]
    steady: Callable[[], float]
    random: Callable[[], float]
    refusals: Refusals
    outage: Outage | None = None


@frozen
class Bounds:
    """How many requests go in a second in the long run, how many without a pause, how many at a time."""

    per_second: float
    at_once: int
    under_way: int = 1


@define(eq=False)
class _UnderWay:
    """What happened to a key while its request was under way."""

    is_overtaken: bool = False
    is_dropped: bool = False
    is_passed_over: bool = False


class ReportWriter(Generic[_K, _C]):
    """Writes what *part* says, within *bounds*.

    *name* and *consequence* are what the log calls it, and what it says after "the API server" in trouble.
    """

    def __init__(
        self, part: Part[_K, _C], sending: Sending, bounds: Bounds, name: str, consequence: str
    ) -> None:
        self._part = part
        self._sending = sending
        self._steady = sending.steady
        self._most_under_way = bounds.under_way
        self._contact = Contact(name, sending.steady, consequence, outage=sending.outage)
        self._agenda: Agenda[_K] = Agenda(sending.steady)
        self._pace = Pace(sending.steady, sending.random, per_second=bounds.per_second, burst=bounds.at_once)
        self._failing: Failing[_K] = Failing()
        self._under_way: dict[_K, _UnderWay] = {}
        self._closures: dict[str, Closures] = {}
        # Keys that are put off because something is forbidden.
        self._closed: set[_K] = set()
        # Keys for which the part raised when they were looked at last.
        self._stumbled: set[_K] = set()
        self._name = name
        self._call: IDelayedCall | None = None
        self.is_leading = False
        """Whether we lead, as far as we were told."""

    @property
    def pending(self) -> int:
        """How many keys are to be looked at."""
        return len(self._agenda)

    @property
    def closed(self) -> Set[_K]:
        """Those of them that wait since what they take is forbidden."""
        return self._closed

    def failing(self, times: int) -> Set[_K]:
        """Return those for which the API server failed so many times in a row, or more, while it answered for others."""
        return self._failing.often(times)

    def lead(self, keys: Iterable[_K]) -> None:
        """Begin, with all *keys* that there are."""
        self.is_leading = True
        self._agenda.add_all(keys)
        self._schedule()

    def follow(self) -> None:
        """Cease, and forget everything: others may write from now on."""
        self.is_leading = False
        self._agenda.clear()
        self._failing.clear()
        self._closed.clear()
        self._stumbled.clear()
        for one in self._under_way.values():
            one.is_overtaken = True
            one.is_passed_over = False
        self._schedule()

    def look_at(self, keys: Iterable[_K]) -> None:
        """Look at *keys* now, but for those that are put off."""
        self._agenda.add(keys)
        self._schedule()

    def look_behind(self, keys: Iterable[_K]) -> None:
        """Look at *keys* behind all that wait behind the others, so that what comes meanwhile waits for one of them at a time."""
        self._agenda.add_all_behind(keys)
        self._schedule()

    def look_at_all(self, keys: Iterable[_K]) -> None:
        """Look at all *keys* that there are, and at what is put off, since the reason may be gone."""
        self._agenda.recall()
        self._agenda.add_all(keys)
        self._schedule()

    def look_later(self, keys: Iterable[_K], at: float) -> None:
        """Look at *keys* then, and not before."""
        for key in keys:
            self._agenda.put_off(key, at)
        self._schedule()

    def overtake(self, key: _K) -> None:
        """Note that the API server has shown something else, which may be newer than what is being written."""
        if key in self._under_way:
            self._under_way[key].is_overtaken = True

    def drop(self, keys: Iterable[_K]) -> None:
        """Look at *keys* no more, whatever becomes of the requests that are under way.

        What came with ``lead`` is looked at all the same, and the part finds that there is nothing to write.
        """
        for key in keys:
            self._agenda.drop(key)
            self._failing.forget(key)
            self._closed.discard(key)
            self._stumbled.discard(key)
            if key in self._under_way:
                self._under_way[key].is_dropped = True
        self._schedule()

    def _schedule(self) -> None:
        """Have ``_work`` called when there is something to look at and a request may go."""
        is_full = len(self._under_way) >= self._most_under_way
        at = None if is_full or not self.is_leading else self._agenda.next_at()
        if self._call is not None and self._call.active():
            self._call.cancel()
        self._call = None
        if at is not None:
            delay = max(at, self._pace.opens_at()) - self._steady()
            self._call = self._sending.clock.callLater(max(0.0, delay), self._work)

    def _work(self) -> None:
        """Look at a portion of the agenda, up to the first key for which there is a request."""
        self._call = None
        ends = self._steady() + _PORTION_SECONDS
        for number in range(_PORTION):
            if number and self._steady() > ends:
                break
            key = self._next()
            if key is None:
                self._see_whether_settled()
                break
            if key in self._under_way:
                self._under_way[key].is_passed_over = True
                continue
            self._closed.discard(key)
            write = self._write_for(key)
            if write is not None and self._may_go(key, write):
                self._send(key, write)
                break
        self._schedule()

    def _next(self) -> _K | None:
        """Take the next key; any one as long as it is not known whether the API server fails for all.

        A webhook that fails may be one for a namespace, whose objects follow each other, and each of them has all others wait for longer.
        """
        if suspected := self._failing.suspected:
            return self._agenda.take_any(self._sending.random, suspected)
        return self._agenda.take()

    def _write_for(self, key: _K) -> Write[_C] | None:
        """Return what the part has to write for *key*; None, too, where it raises, which is told once."""
        try:
            write = self._part.write(key)
        except Exception:
            if key not in self._stumbled:
                self._stumbled.add(key)
                log.failure(
                    "{name}: nothing is written for {key}, which is a bug", name=self._name, key=str(key)
                )
            return None
        self._stumbled.discard(key)
        if write is None:
            # It may be gone, and not come again.
            self._failing.forget(key)
        return write

    def _may_go(self, key: _K, write: Write[_C]) -> bool:
        """Whether *write* may go now; if not, put *key* off."""
        now = self._steady()
        closures = self._closures.get(write.right)
        closed_until = -inf if closures is None else closures.until(write.namespace)
        until = max(write.not_before, closed_until)
        if until <= now:
            return True
        if closed_until > now:
            self._closed.add(key)
        self._agenda.put_off(key, until)
        return False

    def _see_whether_settled(self) -> None:
        if not self._under_way:
            self._part.settled(is_all=not self._agenda)

    def _send(self, key: _K, write: Write[_C]) -> None:
        self._under_way[key] = _UnderWay()
        self._pace.went()
        self._sending.ask(write.request, lambda outcome: self._ended(key, write, outcome))

    def _ended(self, key: _K, write: Write[_C], outcome: Outcome) -> None:
        meanwhile = self._under_way.pop(key)
        error = outcome if isinstance(outcome, KubernetesError) else None
        is_withheld = error is not None and error.reason == WITHHELD
        if not is_withheld:
            self._part.count(write, outcome)
        if error is None or write.is_answer(error):
            self._permitted(write)
            self._pace.answered()
            self._failing.answered(key)
            if self.is_leading:
                again = self._part.answered(key, write, outcome, is_overtaken=meanwhile.is_overtaken)
                if (again and not meanwhile.is_dropped) or meanwhile.is_passed_over:
                    self._agenda.add((key,))
        elif self.is_leading:
            self._failed(key, write, error, is_dropped=meanwhile.is_dropped)
        if self.is_leading and not self._agenda.is_due:
            self._see_whether_settled()
        self._schedule()

    def _permitted(self, write: Write[_C]) -> None:
        self._contact.regained()
        self._sending.refusals.granted(write.right)
        closures = self._closures.get(write.right)
        if closures is not None and closures.permitted(write.namespace):
            self._agenda.recall(self._closed)
            self._closed = set()

    def _failed(self, key: _K, write: Write[_C], error: KubernetesError, *, is_dropped: bool) -> None:
        is_withheld = error.reason == WITHHELD
        is_of_server = is_of_the_server(error) and not is_withheld
        is_known = self._failing.is_own(key)
        pause = None
        if is_of_server and not is_dropped:
            pause = self._failing.failed(key, words_of(error), is_own=is_of_a_webhook(error))
        if is_forbidden(error):
            self._sending.refusals.refused(write.right, error)
            closures = self._closures.setdefault(write.right, Closures(self._steady))
            closures.close(write.namespace, _FORBIDDEN_SECONDS)
        elif not is_withheld and not is_known:
            self._contact.failed(error, write.about)
        at: float | None = self._steady()
        if pause is not None:
            at = self._steady() + max(pause, error.retry_after_seconds or 0.0)
            if is_of_a_webhook(error):
                later = self._part.failed(key, write, error)
                at = None if later is None else max(at, later)
        elif is_withheld:
            self._pace.troubled(error)
        elif is_of_server:
            self._pace.troubled(error)
            if not is_dropped:
                # Those that did not fail come first.
                self._agenda.add_behind(key)
            return
        else:
            at = self._part.failed(key, write, error)
        if at is None:
            self._failing.forget(key)
        if at is None or is_dropped:
            return
        if at > self._steady():
            self._agenda.put_off(key, at)
        else:
            self._agenda.add((key,))
