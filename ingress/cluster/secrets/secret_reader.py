"""Reads Secrets, or ConfigMaps, by their names: a few threads that ask, and a schedule in the reactor thread.

Each Secret is in one of three states:

* *asked* for, or about to be.  When it is wanted again meanwhile, it is asked for once more;
* *resting* after an answer, until the next refresh, or until somebody touches it.  One that does not
  exist is looked for again soon, then less and less often;
* *waiting* after an error, longer each time.

Those that are missing or forbidden are asked for again one by one, namespaces taking turns (``ingress.cluster.secrets.retry_queue``).
When one that was forbidden is not any more, all others of its namespace are asked for at once.

Invariants: a Secret is asked for by one thread at a time.  What the API server says last is
in force: an error changes nothing, only its word that there is none takes a Secret away.  An answer that a watch has
overtaken is thrown away, and a Secret that a watch sees is not refreshed.
"""

from collections import deque
from collections.abc import Callable, Set
from contextlib import AbstractContextManager
from enum import Enum
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any

from attrs import define
from twisted.internet.interfaces import IDelayedCall

from ingress.cluster.api.api_client import ApiConnection
from ingress.cluster.api.api_status import BROKEN, ObjectMissingError
from ingress.cluster.api.backoff import Backoff
from ingress.cluster.api.contact import Contact
from ingress.cluster.api.outage import Outage
from ingress.cluster.json_text import decoded
from ingress.cluster.projecting.project import project
from ingress.cluster.secrets.retry_queue import RetryQueue
from ingress.cluster.secrets.secret_rights import forbidden_problem
from ingress.cluster.secrets.watched_secrets import WatchedObjects
from ingress.errors import KubernetesError
from ingress.metrics.series.watch import WatchMetrics
from ingress.model.cluster.objects import Kind, ObjectKey, Projection
from ingress.model.cluster.secrets import CLIENT_AUTHENTICATION_KEYS, UPSTREAM_TLS_KEYS
from ingress.model.frozen import frozen
from ingress.translate.readers.reader import KindRead

REFRESH_SECONDS = 300.0
"""Seconds after which a Secret that no watch sees is read again, times a factor between 0.8 and 1.2."""

PASSWORD_REFRESH_SECONDS = 60.0
"""The same for a Secret of which other keys are needed than those of certificates: a password that was taken out of it must not
be good for long."""

CONFIG_MAP_REFRESH_SECONDS = 10.0
"""The same for ConfigMaps, which are edited by people who wait, and which few refer to; of many that is less often."""

REFRESHES_PER_SECOND = 10.0
"""How many are read again in a second because their time has come, where that makes none wait for more than half a minute."""
_LONGEST_REFRESH_SECONDS = 30.0

_OF_CERTIFICATES = UPSTREAM_TLS_KEYS | CLIENT_AUTHENTICATION_KEYS
_THREADS = 2
# A Secret is not asked for more often, however often its Ingress changes.
_PAUSE_SECONDS = 1.0
# A right that was given is found out within twice this time.
_FORBIDDEN_SECONDS = 15.0
_FIRST_MISS_SECONDS = 2.0
_MOST_DOUBLINGS = 16
RETRIES_PER_SECOND = 40.0
"""How many Secrets that are missing or forbidden are asked for again in a second, at most."""
# All others of a namespace are asked for because one of it came to be permitted, not more often than this.
_RECALL_SECONDS = 10.0
RECALLED_AT_ONCE = 200
"""So many of them in a turn."""
# An error of the API server itself, about this Secret alone, does not hold back everything else for ever.
_FAILURES_TO_WAIT_FOR = 3


class _State(Enum):
    ASKED = "asked"
    RESTING = "resting"
    WAITING = "waiting"


@define(eq=False)
class _Reading:
    """What is going on with one Secret; the reactor thread's own, *key* and *keys* apart."""

    key: ObjectKey
    keys: frozenset[str]
    backoff: Backoff
    state: _State = _State.RESTING
    again: bool = False
    is_seen: bool = False
    """Whether a watch has brought it since it was asked for."""
    soon: bool = False
    failures: int = 0
    is_missing: bool = False
    misses: int = 0
    call: IDelayedCall | None = None


@frozen
class _Request:
    """One GET; *stamp* is that of the watch when it was queued."""

    reading: _Reading
    keys: frozenset[str]
    stamp: int


Deliver = Callable[[ObjectKey, Projection | None], None]


class ObjectReader:
    """Reads Secrets, and gives each to *deliver*, None for one that does not exist.

    *connections* makes the connection of a thread, *changed* is called when ``unread`` may
    have become less.  *decoding* is shared with the reflectors.  All but the two methods of
    the threads belong to the reactor thread.
    """

    def __init__(
        self,
        reactor: Any,
        connections: Callable[[], ApiConnection],
        read: KindRead,
        watched: WatchedObjects,
        *,
        deliver: Deliver,
        changed: Callable[[], None],
        decoding: AbstractContextManager[object],
        clock: Callable[[], float],
        random: Callable[[], float],
        backoff_seconds: float = 0.8,
        refresh_seconds: float = REFRESH_SECONDS,
        metrics: WatchMetrics | None = None,
        outage: Outage | None = None,
    ) -> None:
        self._reactor = reactor
        self._connections = connections
        self._read = read
        self._watched = watched
        self._deliver = deliver
        self._changed = changed
        self._decoding = decoding
        self._clock = clock
        self._random = random
        self._backoff_seconds = backoff_seconds
        self._refresh_seconds = refresh_seconds
        self._metrics = metrics or WatchMetrics()
        self._contact = Contact(f"{read.kind} by name", clock, outage=outage)
        self._readings: dict[ObjectKey, _Reading] = {}
        self._unread: set[ObjectKey] = set()
        self._forbidden: set[ObjectKey] = set()
        self._recalled_at: dict[str, float] = {}
        # Those of namespaces in which one came to be permitted.
        self._recalled: deque[ObjectKey] = deque()
        self._recall_call: IDelayedCall | None = None
        self._line: RetryQueue[ObjectKey] = RetryQueue(reactor, RETRIES_PER_SECOND, self._retry)
        self._queue: SimpleQueue[_Request | None] = SimpleQueue()
        self._threads: list[tuple[Thread, ApiConnection]] = []
        self._is_stopping = False

    @property
    def kind(self) -> Kind:
        """The kind of what is read."""
        return self._read.kind

    @property
    def unread(self) -> int:
        """How many Secrets there is no word about yet."""
        return len(self._unread)

    def is_unread(self, key: ObjectKey) -> bool:
        """Whether there is no word about a Secret yet that is to be read."""
        return key in self._unread

    @property
    def forbidden(self) -> Set[ObjectKey]:
        """The Secrets that may not be read, as far as is known."""
        return self._forbidden

    @property
    def trouble(self) -> str:
        """What goes wrong at the moment; empty when nothing does."""
        return self._contact.trouble

    def read(self, key: ObjectKey, keys: frozenset[str]) -> None:
        """Read *keys* of a Secret now, and keep them fresh until ``forget``."""
        reading = self._readings.get(key)
        if reading is None:
            backoff = Backoff(self._clock, self._random, first_seconds=self._backoff_seconds)
            reading = self._readings[key] = _Reading(key, keys, backoff)
            self._unread.add(key)
        reading.keys = keys
        self._ask(reading)

    def touch(self, key: ObjectKey) -> None:
        """Read a Secret again, soon, unless a watch tells of its changes."""
        reading = self._readings.get(key)
        if reading is None or self._watched.is_present(key):
            return
        if reading.state is _State.ASKED:
            reading.again = True
        elif reading.state is _State.RESTING and not reading.soon:
            # Being touched again and again must not put it off.
            reading.soon = True
            reading.misses = 0
            self._later(reading, _PAUSE_SECONDS)

    def seen(self, key: ObjectKey) -> None:
        """Learn that a watch has brought a Secret: there is nothing to wait for, or to try again."""
        reading = self._readings.get(key)
        if reading is None:
            return
        if key in self._forbidden:
            self._forbidden.remove(key)
            self._unread.add(key)
        reading.failures = reading.misses = 0
        reading.is_missing = False
        reading.is_seen = True
        if reading.state is not _State.ASKED:
            self._cancel(reading)
            reading.state = _State.RESTING
            reading.soon = False
        self._read_once(reading)

    def forget(self, key: ObjectKey) -> None:
        """Read a Secret no more."""
        reading = self._readings.pop(key, None)
        self._unread.discard(key)
        self._forbidden.discard(key)
        if reading is not None:
            self._cancel(reading)

    def stop(self) -> None:
        """Deliver nothing from now on, and end the threads; returns at once."""
        self._is_stopping = True
        self._line.stop()
        if self._recall_call is not None:
            self._recall_call.cancel()
            self._recall_call = None
        for reading in self._readings.values():
            self._cancel(reading)
        for _, connection in self._threads:
            self._queue.put(None)
            connection.interrupt()

    def join(self, seconds: float) -> bool:
        """Wait for the end of the threads; return whether they ended in time.  Any thread."""
        deadline = monotonic() + seconds
        for thread, _ in self._threads:
            thread.join(max(0.0, deadline - monotonic()))
        return not any(thread.is_alive() for thread, _ in self._threads)

    # -- the schedule

    def _ask(self, reading: _Reading) -> None:
        if self._is_stopping:
            return
        if reading.state is _State.ASKED:
            reading.again = True
            return
        self._cancel(reading)
        reading.state = _State.ASKED
        reading.again = reading.soon = reading.is_seen = False
        self._start_threads()
        self._queue.put(_Request(reading, reading.keys, self._watched.stamp(reading.key)))

    def _later(self, reading: _Reading, seconds: float) -> None:
        self._cancel(reading)
        reading.call = self._reactor.callLater(seconds, self._due, reading)

    def _due(self, reading: _Reading) -> None:
        reading.call = None
        if not self._is_due(reading):
            return
        if reading.is_missing or reading.key in self._forbidden:
            tries = 0 if reading.soon else reading.misses or reading.failures
            self._line.put(reading.key.namespace, reading.key, tries)
        else:
            self._ask(reading)

    def _retry(self, key: ObjectKey) -> None:
        reading = self._readings.get(key)
        if reading is not None and self._is_due(reading):
            self._ask(reading)

    def _is_due(self, reading: _Reading) -> bool:
        return reading.soon or reading.state is _State.WAITING or not self._watched.is_present(reading.key)

    def _cancel(self, reading: _Reading) -> None:
        self._line.drop(reading.key)
        call, reading.call = reading.call, None
        if call is not None and call.active():
            call.cancel()

    def answered(self, request: _Request, outcome: Projection | KubernetesError | None) -> None:
        """Take what came of *request*: the Secret, None for no such Secret, or an error."""
        reading = request.reading
        if self._is_stopping or self._readings.get(reading.key) is not reading:
            return
        self._metrics.read_by_name(
            self._read.kind,
            "failed" if isinstance(outcome, KubernetesError) else "missing" if outcome is None else "ok",
        )
        if isinstance(outcome, KubernetesError):
            self._failed(reading, outcome, is_overtaken=self._watched.stamp(reading.key) != request.stamp)
        else:
            self._contact.regained()
            reading.failures = 0
            reading.state = _State.RESTING
            reading.is_missing = outcome is None
            is_overtaken = self._watched.stamp(reading.key) != request.stamp
            if not is_overtaken:
                self._deliver(reading.key, outcome)
            self._permitted(reading.key)
            if is_overtaken and self._await_watch(reading):
                return
            self._read_once(reading)
            if reading.again:
                reading.soon = True
                self._later(reading, _PAUSE_SECONDS if reading.keys == request.keys else 0.0)
            elif not self._watched.is_present(reading.key):
                self._later(reading, self._rest_seconds(reading) * (0.8 + 0.4 * self._random()))

    def _rest_seconds(self, reading: _Reading) -> float:
        """How long an answer is good for."""
        if not reading.is_missing:
            reading.misses = 0
            if reading.keys <= _OF_CERTIFICATES:
                return self._usual_seconds
            return min(self._usual_seconds, PASSWORD_REFRESH_SECONDS)
        # A Secret often comes soon after the Ingress that refers to it.
        seconds = _FIRST_MISS_SECONDS * 2.0 ** min(reading.misses, _MOST_DOUBLINGS)
        reading.misses += 1
        return min(seconds, self._usual_seconds)

    @property
    def _usual_seconds(self) -> float:
        """How long an answer is good for that is not missed: longer where there are many."""
        return max(
            self._refresh_seconds, min(len(self._readings) / REFRESHES_PER_SECOND, _LONGEST_REFRESH_SECONDS)
        )

    def _failed(self, reading: _Reading, error: KubernetesError, *, is_overtaken: bool) -> None:
        reading.failures += 1
        reading.state = _State.WAITING
        at_least = error.retry_after_seconds or 0.0
        if error.status == 403:
            if is_overtaken or (reading.is_seen and not reading.again):
                # A watch sees the Secret, and brings it or has brought it.
                reading.state = _State.RESTING
                self._await_watch(reading)
                return
            # An API server that has just started denies all for a moment.
            if reading.failures > 1:
                self._refused(reading)
            seconds = _FORBIDDEN_SECONDS * (1.0 + self._random())
            self._later(reading, max(at_least, min(reading.backoff.failed(), seconds)))
            return
        self._contact.failed(error, str(reading.key))
        self._later(reading, reading.backoff.failed(at_least))
        is_about_this_one = error.status >= 400 and error.status not in (401, 429)
        if is_about_this_one and reading.failures >= _FAILURES_TO_WAIT_FOR:
            self._read_once(reading)

    def _refused(self, reading: _Reading) -> None:
        """Note that a Secret may not be read, and tell so; it is no fault of the API server."""
        key = reading.key
        if key not in self._forbidden:
            self._forbidden.add(key)
            self._deliver(key, Projection(None, (forbidden_problem(self._read, key),)))
        self._read_once(reading)

    def _permitted(self, key: ObjectKey) -> None:
        """Note that a Secret may be read; if it might not before, others may be read now, too."""
        if key not in self._forbidden:
            return
        self._forbidden.remove(key)
        self._unread.add(key)
        now, namespace = self._clock(), key.namespace
        if now - self._recalled_at.get(namespace, now - _RECALL_SECONDS) < _RECALL_SECONDS:
            return
        self._recalled_at[namespace] = now
        others = [other for other in self._forbidden if other.namespace == namespace]
        # Nobody knows about these any more, and the first sync waits for the answers.
        self._unread.update(others)
        self._recalled += others
        if self._recall_call is None:
            self._recall()

    def _recall(self) -> None:
        """Ask for some of those that may be permitted, and in the next turn for others."""
        self._recall_call = None
        for _ in range(min(RECALLED_AT_ONCE, len(self._recalled))):
            key = self._recalled.popleft()
            reading = self._readings.get(key)
            # There may be word of it meanwhile, or it is asked for by now.
            if reading is not None and key in self._unread and reading.state is not _State.ASKED:
                self._ask(reading)
        if self._recalled and not self._is_stopping:
            self._recall_call = self._reactor.callLater(0, self._recall)

    def _await_watch(self, reading: _Reading) -> bool:
        """Leave the first word about a Secret to the watch, whose event counts and may not have come here yet; return whether that is so.

        Should nothing come, it is asked for again.
        """
        if reading.key not in self._unread:
            return False
        reading.soon = True
        self._later(reading, _PAUSE_SECONDS)
        return True

    def _read_once(self, reading: _Reading) -> None:
        if reading.key in self._unread:
            self._unread.remove(reading.key)
            self._changed()

    # -- the threads

    def _start_threads(self) -> None:
        if self._threads:
            return
        for number in range(_THREADS):
            connection = self._connections()
            thread = Thread(
                target=self._work,
                args=(connection,),
                name=f"reader of {self._read.kind}s {number + 1}",
                daemon=True,
            )
            self._threads.append((thread, connection))
            thread.start()

    def _work(self, connection: ApiConnection) -> None:
        """Thread: ask for one after the other."""
        while (request := self._queue.get()) is not None and not self._is_stopping:
            outcome = self._get(connection, request)
            self._reactor.callFromThread(self.answered, request, outcome)
        connection.close()

    def _get(self, connection: ApiConnection, request: _Request) -> Projection | KubernetesError | None:
        """Thread: ask once."""
        key = request.reading.key
        try:
            response = connection.get(self._read.object_path(key), [])
            try:
                body = response.read_all()
            finally:
                response.close()
            with self._decoding:
                found, projection = project(self._read, decoded(body), "", request.keys)
        except ObjectMissingError:
            return None
        except KubernetesError as error:
            if error.status == 401:
                connection.renew_credentials()
            return error
        except Exception as error:
            # Not JSON, or a bug.  The message might quote the Secret.
            return KubernetesError(0, BROKEN, f"the answer cannot be read ({type(error).__name__})")
        if found != key:
            return KubernetesError(0, BROKEN, f"the answer is not the {self._read.kind} that was asked for")
        return projection
