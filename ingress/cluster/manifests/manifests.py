"""The source that reads manifests on disk and follows their changes.

One daemon thread of its own looks at the files, a few times a second, and reads what
changed (``ingress.cluster.manifests.manifest_scan``); changes go to the reactor thread through a
``DeltaQueue``.  The thread knows neither the sink nor the Deferreds, and the reactor
thread never waits for it.

Order of things: the paths are checked, the files are read, the Deferred of ``start`` fires,
the first content is handed over, the sink is synced.  From ``stop`` on nothing is handed over,
whatever was under way.

Who takes the place of another process does not start with a file that cannot be read: the other one
may hold what it said when it was good.
"""

import os
from collections.abc import Callable, Collection
from functools import partial
from threading import Event, Thread

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.cluster.delta_queue import DeltaQueue
from ingress.cluster.kinds import KINDS, ObjectKinds
from ingress.cluster.manifests.manifest_listing import SUFFIXES, display_name, unusable_path
from ingress.cluster.manifests.manifest_scan import ManifestScan, changes, scan
from ingress.cluster.selected_namespaces import SelectedNamespaces, is_read
from ingress.cluster.source import Sink
from ingress.errors import StartError
from ingress.model.cluster.label_selectors import LabelSelector
from ingress.model.cluster.objects import ObjectId

SCAN_INTERVAL_SECONDS = 0.5
SETTLE_SECONDS = 0.1
"""How long a changed file must look the same before it is read."""

STOP_SECONDS = 0.15
"""How long ``stop`` waits for a thread that is in the middle of a large file."""

FAULT_PAUSE_SECONDS = 10.0
"""How long scanning rests after a fault of this program."""

_LIST = "manifests"
_EMPTY = (
    f"--manifests {{path}}: there is nothing to read yet, for no file below it ends in {', '.join(SUFFIXES[:-1])}"
    f" or {SUFFIXES[-1]}; what is put there is read at once"
)


class ManifestSource:
    """Follows the manifests in *paths*, files and directories; a ``Source``.

    *namespaces* limits the objects kept, but for those *besides*; none given means all.  Of route objects those are handed
    on that are in namespaces whose labels meet *namespace_selector*, if there is one.  *call_from_thread* and
    *clock* are the reactor's.  *kinds* are those that are read.  *is_following* says, in any thread, whether another
    process serves what it has read of the same files until this one does.
    """

    _log = Logger()

    def __init__(
        self,
        paths: Collection[str],
        annotations_prefix: str,
        namespaces: Collection[str],
        call_from_thread: Callable[[Callable[[], None]], object],
        clock: IReactorTime,
        *,
        kinds: ObjectKinds = KINDS,
        namespace_selector: LabelSelector | None = None,
        besides: Collection[ObjectId] = (),
        is_following: Callable[[], bool] = lambda: False,
        scan_interval_seconds: float = SCAN_INTERVAL_SECONDS,
        settle_seconds: float = SETTLE_SECONDS,
    ) -> None:
        self._asked = tuple(paths)
        # A daemon changes its directory, and the paths must go on meaning the same.
        self._paths = tuple(os.path.abspath(path) for path in paths)
        self._annotations_prefix = annotations_prefix
        self._kinds = kinds
        self._namespaces = frozenset(namespaces)
        self._namespace_selector = namespace_selector
        self._besides = frozenset(besides)
        self._call_from_thread = call_from_thread
        self._clock = clock
        self._is_following = is_following
        self._scan_interval_seconds = scan_interval_seconds
        self._settle_seconds = settle_seconds
        self._stopping = Event()
        # The reactor thread's own:
        self._delta_queue: DeltaQueue | None = None
        self._selected: SelectedNamespaces | None = None
        self._started: Deferred[None] | None = None
        self._has_ended = False
        self._stop_waiters: list[Deferred[None]] = []
        self._stop_deadline: IDelayedCall | None = None

    def start(self, sink: Sink) -> Deferred[None]:
        """Begin to follow the files; fails with ``StartError`` when a path does not exist, or content that is served would be lost."""
        self._started = Deferred()
        if self._namespace_selector is not None:
            sink = self._selected = SelectedNamespaces(
                sink, self._namespace_selector, self._kinds.selected, self._clock
            )
        self._delta_queue = DeltaQueue(self._call_from_thread, sink, (_LIST,))
        Thread(target=self._run, args=(self._delta_queue,), name="manifests", daemon=True).start()
        return self._started

    def stop(self) -> Deferred[None]:
        """Hand over nothing more; fires when the thread ended, or soon will of itself."""
        self._stopping.set()
        if self._selected is not None:
            self._selected.stop()
        if self._delta_queue is None or self._has_ended:
            return succeed(None)
        self._delta_queue.stop()
        waiter: Deferred[None] = Deferred()
        self._stop_waiters.append(waiter)
        if self._stop_deadline is None:
            self._stop_deadline = self._clock.callLater(STOP_SECONDS, self._stopped)
        return waiter

    def reads(self, namespace: str) -> bool:
        """Whether objects of *namespace* are handed over, as far as is known."""
        return is_read(namespace, self._namespaces, self._selected)

    def is_amid_change(self) -> bool:
        """Whether objects of a namespace are still to come, or to go, whose labels changed."""
        return self._selected is not None and self._selected.is_turning

    def missing(self) -> tuple[str, ...]:
        """Name the manifests until their first content was handed over."""
        return (_LIST,) if self._delta_queue is None else self._delta_queue.missing()

    # The thread

    def _run(self, delta_queue: DeltaQueue) -> None:
        try:
            fault = unusable_path(self._asked, self._paths)
            if fault is None:
                self._follow(delta_queue)
            else:
                self._refuse(fault)
        finally:
            self._call_from_thread(self._ended)

    def _follow(self, delta_queue: DeltaQueue) -> None:
        known: ManifestScan | None = None
        while not self._stopping.is_set():
            pause = self._scan_interval_seconds
            try:
                found = scan(
                    self._paths,
                    known,
                    self._annotations_prefix,
                    self._namespaces,
                    self._is_wanted,
                    self._kinds,
                    self._besides,
                )
            except Exception:
                self._tell_fault(Failure())
                pause = FAULT_PAUSE_SECONDS
            else:
                if not self._is_wanted():
                    return
                if known is None:
                    in_doubt = found.in_doubt()
                    # Asked now: if the other process is gone, all that there is is better than nothing.
                    if in_doubt and self._is_following():
                        self._refuse(in_doubt)
                        return
                    self._call_from_thread(self._runs)
                    self._tell_empty(found)
                if found is not known:
                    delta_queue.put(changes(known, found))
                    delta_queue.synced(_LIST)
                    known = found
                if found.is_restless():
                    pause = self._settle_seconds
            self._stopping.wait(pause)

    def _refuse(self, fault: str) -> None:
        self._call_from_thread(partial(self._refused, f"--manifests {fault}"))

    def _is_wanted(self) -> bool:
        return not self._stopping.is_set()

    def _tell_empty(self, found: ManifestScan) -> None:
        for asked, path in zip(self._asked, self._paths, strict=True):
            if found.is_empty_below(path):
                self._call_from_thread(partial(self._log.warn, _EMPTY, path=display_name(asked)))

    def _tell_fault(self, failure: Failure) -> None:
        def tell() -> None:
            self._log.failure("Reading manifests failed; it is tried again", failure=failure)

        self._call_from_thread(tell)

    # The reactor thread

    def _runs(self) -> None:
        if self._started is not None and not self._started.called:
            self._started.callback(None)

    def _refused(self, message: str) -> None:
        if self._started is not None and not self._started.called:
            self._started.errback(StartError(message))

    def _ended(self) -> None:
        self._has_ended = True
        self._stopped()

    def _stopped(self) -> None:
        if self._stop_deadline is not None and self._stop_deadline.active():
            self._stop_deadline.cancel()
        self._runs()
        waiters, self._stop_waiters = self._stop_waiters, []
        for waiter in waiters:
            waiter.callback(None)
