"""Keeps one kind of objects equal to the cluster: list, then watch, for ever.

A reflector is a daemon thread.  It makes one request after the other, each a *turn*:

* without a resource version it lists.  A streaming list is a watch that begins with all
  objects and a bookmark to end them, and then goes on as a watch; where the API server does
  not offer that, the list comes in pages;
* with one it watches from exactly there, until the stream ends in whatever way.

A turn answers with the seconds to wait before the next.  A watch that ended properly, or fell
silent, is begun again at once; every error waits.  A version that is gone (410), and one at
which the watch makes trouble three times, is dropped, so that the next turn lists.

The same goes for a version that the API server has not come to: it has gone back, since etcd was restored from a backup.
It takes a watch from there all the same, and sends nothing until it has come so far again, which may take hours
(https://github.com/kubernetes/kubernetes/issues/107457).  So a watch that was silent from its beginning is followed by a turn that asks
for the present version, by a list of one object.  Whatever comes of that but an older version, the watch goes on.  In the next list
no object passes for known by its version, which another change may have got meanwhile; so it is where the version is refused as one of the
future (504).

Invariants: the resource version is that of the last event handed over, or the list's, and
never that of an initial event, since those come in any order.  What was handed over is what
the index holds.  An object is taken for deleted when an event says so, or when a list that
came to its end does not name it; so the last state is kept while the API is away.

Nothing here knows the reactor; what goes there goes through ``DeltaQueue``.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from math import inf
from threading import Thread
from typing import Protocol, TypeVar

from twisted.logger import Logger

from ingress.cluster.api.api_client import ApiConnection, ApiResponse
from ingress.cluster.api.api_status import SILENT, WatchError, blames_version, denies_streaming, is_expired
from ingress.cluster.api.backoff import Backoff
from ingress.cluster.api.contact import Contact
from ingress.cluster.api.outage import Outage
from ingress.cluster.watching.large_objects import LARGE_BYTES, decoding
from ingress.cluster.watching.lines import LineSplitter, LineTooLongError
from ingress.cluster.watching.object_changes import Changes, ObjectChanges, Selection
from ingress.cluster.watching.page_parts import PageParts
from ingress.cluster.watching.pause import Pause
from ingress.cluster.watching.queries import LONGEST_WATCH_SECONDS, ListWatchRequests, Query
from ingress.cluster.watching.refusal import Refusal
from ingress.cluster.watching.watch_events import (
    NOT_JSON,
    Bookmark,
    BrokenStreamError,
    ErrorEvent,
    ListPage,
    ObjectEvent,
    decoded_or_broken,
    event_from_json,
    is_before,
    page_from_json,
)
from ingress.errors import KubernetesError
from ingress.metrics.series.watch import ReflectorCounts
from ingress.model.cluster.objects import Batch
from ingress.model.stepwise import Stepwise
from ingress.translate.readers.reader import KindRead
from ingress.wording import number_of

log = Logger()

T = TypeVar("T")

_SHORT_WATCH_SECONDS = 1.0
_LONG_WATCH_SECONDS = 10.0
_SHORT_WATCHES = 3
"""So many watches in a row may end at once behind an event; from then on there is a pause behind each."""
_TROUBLES_AT_ONE_VERSION = 3
_SLICE_SECONDS = 0.001
"""For so long, and a step, the threads that read keep the interpreter where an object is large."""
_BEHIND_SECONDS = 0.002
_WENT_BACK = "the API server has gone back behind the resource version"
_PAGE_SECONDS = 300.0
"""How long a page of a list may take, however steadily it comes."""
_MOST_PAGES = 10_000
"""Some millions of objects: a list of more pages has no end."""
_STREAM_SECONDS = LONGEST_WATCH_SECONDS + 60.0
"""How long a watch may take, which an API server ends before."""
# A definition is there before what it defines is served.
_ABSENCES = 4


class Receiver(Protocol):
    """Where changes go: ``ingress.cluster.delta_queue.DeltaQueue``."""

    def put(self, changes: Batch) -> None:
        """Take changes."""

    @property
    def is_behind(self) -> bool:
        """Whether it takes less than it is given."""

    def synced(self, name: str, *, refused: bool = False) -> None:
        """Learn that the first list *name* is complete, or *refused*."""


class Reflector:
    """Reads one kind, in one *namespace* or (empty) in the whole cluster.

    *decoding* (``ingress.process.yielding``) is held while JSON is decoded and projected; reflectors that
    share it do not compete with each other for the interpreter, and so disturb the reactor less.  *clock*
    returns monotonic seconds, *random* a number in [0, 1).  *backoff_seconds* is the wait
    after the first error.  *selection* chooses what is handed over, *counts* is for the metrics.
    *regained* is called, in our thread, when the API server answers again.  *outage* is shared by all
    who ask it.  With *is_dispensable*, being refused is no problem.  *instead* is called, in our thread, where an
    optional kind is forbidden, and returns whether more cannot be known for now.  *after* is a
    reflector of the same kind that is withdrawn: nothing is asked before that has ended.
    """

    def __init__(
        self,
        read: KindRead,
        namespace: str,
        connection: ApiConnection,
        receiver: Receiver,
        annotations_prefix: str,
        *,
        decoding: AbstractContextManager[object],
        clock: Callable[[], float],
        random: Callable[[], float],
        backoff_seconds: float = 0.8,
        selection: Selection | None = None,
        counts: ReflectorCounts | None = None,
        regained: Callable[[], None] = lambda: None,
        outage: Outage | None = None,
        is_dispensable: bool = False,
        instead: Callable[[], bool] = lambda: True,
        after: "Reflector | None" = None,
    ) -> None:
        self.name = reflector_name(read, namespace)
        self._read = read
        self._requests = ListWatchRequests(read, namespace, random)
        self._connection = connection
        self._receiver = receiver
        self._decoding = decoding
        self._clock = clock
        self._backoff = Backoff(clock, random, first_seconds=backoff_seconds)
        self._refusal = Refusal(
            read.kind, namespace, clock, random, first_seconds=backoff_seconds, name=_object_name(read)
        )
        self._is_dispensable = is_dispensable
        self._instead = instead
        self._after = after
        self._withdraws = False
        self._contact = Contact(self.name, clock, outage=outage, holds=True)
        self._changes = ObjectChanges(self.name, read, annotations_prefix, selection)
        self.counts = counts or ReflectorCounts(read.kind, namespace, clock)
        """What it counts."""
        self._version: str | None = None
        self._list_cause = ""
        self._can_stream_list = True
        self._expirations = 0
        self._short_watches = 0
        # Whether the last watch sent nothing at all, so that its version may be one of the future.
        self._is_in_doubt = False
        # Whether the present one has sent anything.
        self._has_heard = False
        # When a list was complete that was not the first, however long it took.
        self._listed_again_at = -inf
        self._absences = 0
        self._upstream_errors = 0
        # Whether the turn before ended otherwise than by an answer that is complete: pages of a list, or the present version.
        self._was_cut = False
        self._pause = Pause()
        self._regained = regained
        # Whether what we wait for may be over sooner, as others may find out.
        self._sleeps_lightly = False
        self._thread = Thread(target=self._run, name=f"reflector {self.name}", daemon=True)

    def __repr__(self) -> str:
        phase = "stopped" if self._pause.is_over else f"version={self._version}"
        return f"<Reflector {self.name} {phase} objects={len(self._changes)}>"

    @property
    def trouble(self) -> str:
        """Why the API server cannot be read at the moment; empty when it can.  Any thread."""
        return self._contact.trouble

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Break off what is going on and end the thread; returns at once.  Any thread."""
        self._pause.end()
        self._connection.interrupt()

    def withdraw(self) -> None:
        """Stop, and hand over that all objects are gone; returns at once.  Any thread."""
        self._withdraws = True
        self.stop()

    def rouse(self) -> None:
        """Try again now, if we wait for the API server to answer.  Any thread."""
        self._pause.rouse()

    def join(self, seconds: float | None) -> bool:
        """Wait *seconds*, or (None) as long as it takes, for the end of the thread; return whether it ended in time."""
        if self._thread.ident is not None:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        if self._after is not None:
            self._after.join(None)
            self._after = None
        while not self._pause.is_over:
            self._sleeps_lightly = False
            seconds = self.turn()
            self._pause.rest(seconds, lightly=self._sleeps_lightly)
        self._connection.close()
        if self._withdraws:
            changes: Changes = {}
            self._changes.begin_list()
            self._changes.end_list(changes)
            self._receiver.put({**changes, **self._refusal.answered()})
            self._receiver.synced(self.name)

    def turn(self) -> float:
        """Make one request to its end; return the seconds to wait before the next."""
        version = self._version
        if self._was_cut:
            self.counts.reconnects += 1
        self._was_cut = True
        try:
            if version is not None:
                return self._look_at(version) if self._is_in_doubt else self._watch(version)
            if self._can_stream_list:
                return self._stream_list()
            return self._page_list()
        except KubernetesError as error:
            return self._failed(error)
        except BrokenStreamError as error:
            return self._troubled(str(error))
        except Exception:
            log.failure("{name}: a bug; everything is listed again", name=self.name)
            self._list_next("an error of our own", "bug")
            return self._backoff.failed()

    # -- requests

    def _open(self, query: Query, accept: str) -> ApiResponse:
        response = self._connection.get(self._requests.path, query, accept)
        if self._contact.regained():
            self._regained()
        self._receiver.put(self._refusal.answered())
        self.counts.refused_since = None
        if self._version is not None:
            if self._refusal.is_lasting:
                self._receiver.synced(self.name)
            self._refusal.permitted()
        self.counts.last_contact = self._clock()
        return response

    def _page_list(self) -> float:
        """List in pages, handing each over as it comes; only deletions wait for the last."""
        self._changes.begin_list()
        # Pages that expire again and again take longer to read than the API server keeps them.
        in_pages = self._expirations < 2
        next_page = ""
        followed: set[str] = set()
        while not self._pause.is_over:
            changes: Changes = {}
            try:
                page = self._page(self._requests.page(next_page, in_pages=in_pages), changes)
            except BaseException:
                # What the index has noted is handed over, whatever came behind it.
                self._receiver.put(changes)
                raise
            next_page = page.next_page
            if next_page:
                self._receiver.put(changes)
                if next_page in followed or len(followed) == _MOST_PAGES:
                    raise BrokenStreamError("a list that has no end")
                followed.add(next_page)
            else:
                self._complete_list(page.resource_version, changes)
                self._was_cut = False
                break
        return 0.0

    def _page(self, query: Query, changes: Changes) -> ListPage:
        """Ask for a page, and add to *changes* what its objects change, one by one as they come."""
        response = self._open(query, self._requests.accept_list)
        parts = PageParts()
        try:
            with response.within(_PAGE_SECONDS):
                while chunk := response.read_chunk():
                    self._note_all(parts.feed(chunk), changes)
        finally:
            response.close()
        with self._decoding:
            began = self._clock()
            page = parts.end()
            self.counts.decode_seconds += self._clock() - began
        self._note_all(iter(page.objects), changes)
        return page

    def _note_all(self, events: Iterator[ObjectEvent], changes: Changes) -> None:
        """Add to *changes* what *events* change; others may have the interpreter between any two of these, which may be decoded only now."""
        while True:
            with self._decoding:
                began = self._clock()
                event = next(events, None)
                if event is None:
                    return
                self._changes.note(event, changes)
                self.counts.decode_seconds += self._clock() - began
            self.counts.events += 1

    def _stream_list(self) -> float:
        """List by a watch that begins with all objects, and go on watching."""
        self._changes.begin_list()
        try:
            self._follow(self._requests.streaming_list())
        except KubernetesError as error:
            if self._version is None and denies_streaming(error):
                self._can_stream_list = False
                self._was_cut = False
                return 0.0
            raise
        if self._version is None and not self._pause.is_over:
            self._can_stream_list = False
            return self._troubled("a streaming list ended before its end")
        return 0.0

    def _watch(self, version: str) -> float:
        began = self._clock()
        try:
            self._follow(self._requests.watch(version))
        finally:
            if self._clock() - began >= _LONG_WATCH_SECONDS:
                self._backoff.worked()
        if self._clock() - began >= _SHORT_WATCH_SECONDS:
            self._short_watches = 0
            return 0.0
        if self._version == version:
            return self._troubled("it ended at once")
        self._short_watches += 1
        return 0.0 if self._short_watches <= _SHORT_WATCHES else _SHORT_WATCH_SECONDS

    def _look_at(self, version: str) -> float:
        """See whether the API server has come to *version*, or has gone back."""
        # Once for each silence: a list may fail, or be refused, for as long as the watch is well.
        self._is_in_doubt = False
        try:
            response = self._open(self._requests.present(), self._requests.accept_present)
        except KubernetesError as error:
            if error.status == 403:
                return 0.0  # Whether it may be watched is what the next watch says.
            raise
        try:
            body = response.read_all()
        finally:
            response.close()
        with self._decoding:
            present = page_from_json(decoded_or_broken(body)).resource_version
        self._was_cut = False
        if is_before(present, version):
            raise KubernetesError(410, "Expired", _WENT_BACK)
        return 0.0

    # -- what comes in

    def _follow(self, query: Query) -> None:
        """Take a stream of events to its end."""
        response = self._open(query, self._requests.accept_watch)
        try:
            with response.within(_STREAM_SECONDS):
                self._take_all(response)
        finally:
            response.close()

    def _take_all(self, response: ApiResponse) -> None:
        lines = LineSplitter()
        self._has_heard = False
        while chunk := self._chunk(response):
            changes: Changes = {}
            try:
                for line in lines.feed(chunk):
                    if line:
                        self._take(line, changes)
            except LineTooLongError as error:
                raise BrokenStreamError(str(error)) from None
            finally:
                # What the index has noted is handed over, whatever came behind it.
                self._receiver.put(changes)
                self.counts.objects = len(self._changes)
            if self._version is not None and self._receiver.is_behind:
                # Decoding more would only take the interpreter from the reactor, which serves requests.
                self._pause.rest(_BEHIND_SECONDS)

    def _chunk(self, response: ApiResponse) -> bytes:
        """The next bytes of a stream; empty when it ended, when it is dead, or when we stop."""
        try:
            chunk = response.read_chunk()
        except KubernetesError as error:
            if error.reason == SILENT:
                # Dead, or quiet: older API servers send no bookmarks for a kind without changes since their start.
                self._contact.silent()
                self._is_in_doubt = not self._has_heard
                return b""
            raise
        self.counts.last_contact = self._clock()
        self._contact.heard()
        self._has_heard = True
        return b"" if self._pause.is_over else chunk

    def _take(self, line: bytes, changes: Changes) -> None:
        if len(line) < LARGE_BYTES:
            with self._decoding:
                began = self._clock()
                event = event_from_json(decoded_or_broken(line), len(line))
                if isinstance(event, ObjectEvent):
                    self._changes.note(event, changes)
                self.counts.decode_seconds += self._clock() - began
        else:
            event = self._take_large(line, changes)
        if isinstance(event, ObjectEvent):
            self.counts.events += 1
        if isinstance(event, ErrorEvent):
            raise WatchError(event.error)
        if self._version is not None:
            if isinstance(event, Bookmark) and is_before(event.resource_version, self._version):
                raise WatchError(KubernetesError(410, "Expired", _WENT_BACK))
            self._move(event.resource_version)
        elif isinstance(event, Bookmark):
            if not event.ends_initial_events:
                self._can_stream_list = False
                raise BrokenStreamError("a bookmark among the initial events")
            self._complete_list(event.resource_version, changes)

    def _take_large(self, line: bytes, changes: Changes) -> ObjectEvent | Bookmark | ErrorEvent:
        """Do with an event that is large what others have done with them at once, in steps between which others have the interpreter."""
        try:
            found = self._in_steps(decoding(line))
        except ValueError:
            raise BrokenStreamError(NOT_JSON) from None
        event = event_from_json(found.value, len(line))
        if isinstance(event, ObjectEvent):
            self._in_steps(self._changes.noting(event, changes))
        self._in_steps(found.let_go())
        return event

    def _in_steps(self, steps: Stepwise[T]) -> T:
        """Take *steps*, some at a time: one at least, however long a look at the clock takes."""
        while True:
            with self._decoding:
                began = self._clock()
                until = began + _SLICE_SECONDS
                try:
                    next(steps)
                    while self._clock() < until:
                        next(steps)
                except StopIteration as end:
                    found: T = end.value
                    return found
                finally:
                    self.counts.decode_seconds += self._clock() - began

    def _complete_list(self, version: str, changes: Changes) -> None:
        """Hand over the rest of a list, which also is the deletion of all that it did not name."""
        self._changes.end_list(changes)
        self._receiver.put(changes)
        changes.clear()
        self._refusal.permitted()
        self._receiver.synced(self.name)
        self._version = version
        self._absences = 0
        self.counts.objects = len(self._changes)
        if self._list_cause:
            self._listed_again_at = self._clock()
            self._contact.listed_again(len(self._changes), self._list_cause)
        else:
            log.info("{name}: synced, {count}", name=self.name, count=number_of(len(self._changes), "object"))
        self._list_cause = ""

    def _move(self, version: str) -> None:
        if version != self._version:
            self._version = version
            self._upstream_errors = 0
            self._expirations = 0

    # -- what goes wrong

    def _failed(self, error: KubernetesError) -> float:
        """Judge a refusal or a failure of the connection; return the seconds to wait."""
        if self._pause.is_over:
            return 0.0
        if self._version is not None and (error.message == _WENT_BACK or error.status == 504):
            # It may have given versions that we know to other changes since, or may be about to.
            self._changes.distrust()
        if is_expired(error):
            return self._expired()
        at_least = error.retry_after_seconds or 0.0
        if isinstance(error, WatchError) or (self._version is not None and blames_version(error)):
            return self._troubled(str(error), at_least)
        if self._is_of_a_definition(error):
            return self._absent(error, at_least)
        # What one kind meets, others will not tell the end of; nor is there a hurry when we were asked to wait.
        self._sleeps_lightly = error.status != 500 and not at_least
        if error.status and not self._is_dispensable:
            self._receiver.put(self._refusal.refused(error))
            self.counts.refused_since = self._refusal.since
        if error.status == 403:
            seconds = self._refusal.forbidden(at_least)
            if not self._read.optional:
                self._contact.failed(error)
                return seconds
            # Without this kind the rest may still work, so it does not hold back the first sync by itself.
            if self._is_dispensable:
                self._contact.spared(str(error))
            else:
                self._contact.lost(f"{error}; it is asked for again", "forbidden", once=True)
            if self._refusal.is_lasting and self._instead():
                self._receiver.synced(self.name, refused=True)
            return seconds
        self._contact.failed(error)
        if error.status == 401:
            self._connection.renew_credentials()
        return self._backoff.failed(at_least)

    def _is_of_a_definition(self, error: KubernetesError) -> bool:
        """Whether *error* says that a kind is not served (yet), although it is defined."""
        if error.status == 404:
            return bool(self._read.definition) or self._read.metadata_only
        # What was defined or changed a moment ago has no storage for a second.
        return error.status == 429 and bool(self._read.definition)

    def _absent(self, error: KubernetesError, at_least: float) -> float:
        """Wait for a kind that is not served, which the next change of its definition may end."""
        self._absences += 1
        self._sleeps_lightly = True
        if self._absences > _ABSENCES:
            cause = f"{error}; they are asked for again"
            if error.status == 404:
                cause = f"{self._read.api_version} has no {self._read.plural}; they are asked for again"
            self._contact.lost(cause, "absent", once=True)
        if error.status == 404:
            # What nobody serves, nobody waits for.
            self._receiver.synced(self.name)
        return self._backoff.failed(at_least)

    def _expired(self) -> float:
        self._list_next("the resource version expired", "expired")
        self._expirations += 1
        has_lasted = self._clock() - self._listed_again_at >= _LONG_WATCH_SECONDS
        is_first = self._expirations == 1 and has_lasted
        return 0.0 if is_first else self._backoff.failed()

    def _troubled(self, cause: str, at_least: float = 0.0) -> float:
        """A stream came to nothing; when this happens again and again, begin in another way."""
        if self._pause.is_over:
            return 0.0
        self._contact.troubled(cause)
        self._upstream_errors += 1
        if self._upstream_errors >= _TROUBLES_AT_ONE_VERSION:
            if self._version is None:
                self._can_stream_list = False
            self._list_next(cause, "broken")
        return self._backoff.failed(at_least)

    def _list_next(self, cause: str, sort: str) -> None:
        """Let the next turn list; *cause* is for the log, *sort* for the metrics."""
        self._upstream_errors = 0
        if self._version is not None:
            self.counts.relists[sort] += 1
            self._version = None
            self._is_in_doubt = False
            self._list_cause = cause


def reflector_name(read: KindRead, namespace: str) -> str:
    """What the log and the readiness page call a reflector."""
    return f"{read.kind} in {scope_name(read, namespace)}" if namespace else str(read.kind)


def scope_name(read: KindRead, namespace: str) -> str:
    """Return *namespace*, with the name of the object where it is one alone: there may be several such in a namespace."""
    name = _object_name(read)
    return f"{namespace}/{name}" if name else namespace


def _object_name(read: KindRead) -> str:
    """Return the name of the object that *read* is about alone; empty where it is about all of a kind."""
    name = read.field_selector.removeprefix("metadata.name=")
    return "" if name == read.field_selector else name
