"""The pages of the admin port, as a twisted.web site.

``GET`` and ``HEAD`` only, and only by an address or a known name (``hosts``): nothing can be changed here, and nothing secret is shown.
Where to listen, and what "ready" means, is for others to say.  A page is made when
it is asked for, from the snapshot that is current then; one that grows with the cluster
is made in slices (``pages``).  All others are answered in the next turn of the reactor, so that a
connection gets one answer a turn, however many requests it sends at once.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure
from twisted.web import http
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request, Site

from ingress.admin.explaining import explanation_as_json, read_query
from ingress.admin.hosts import is_known_host
from ingress.admin.pages import LargePages
from ingress.admin.readiness import workers_missing
from ingress.admin.views import (
    certificates_as_json,
    problems_as_json,
    routes_as_json,
    streams_as_json,
    workers_as_json,
)
from ingress.explain.served import Served
from ingress.explain.urls import UrlRefused
from ingress.metrics.metrics import CONTENT_TYPE, Metrics
from ingress.model.frozen import frozen
from ingress.model.workers import WorkerState
from ingress.translate.snapshot import Snapshot

_TEXT = "text/plain; charset=utf-8"
_JSON = "application/json"
_METRICS = b"/metrics"
PROBES = frozenset((b"/", b"/healthz", b"/readyz", _METRICS))
"""What ``--probes`` shows."""
_EXPLAIN = b"/api/v1/explain"
_NO_URL = b'{"error": "say which request: ?url=https://shop.example.com/cart"}\n'
_MISDIRECTED = 421


def _no_workers() -> Sequence[WorkerState]:
    return ()


def _at_once() -> Deferred[None]:
    return succeed(None)


_UNKNOWN_HOST = b"this port is asked by IP address or as localhost; for another name, start the controller with --admin-host=NAME\n"


@frozen
class _Page:
    content: bytes
    content_type: str = _TEXT
    status: int = http.OK


@frozen
class _LargePage:
    pieces: Iterator[str]
    content_type: str = _JSON


@frozen
class Workers:
    """What the pages say of workers; of a process that serves by itself there is nothing to say."""

    states: Callable[[], Sequence[WorkerState]] = _no_workers
    """What is known of each."""
    told: Callable[[], Deferred[None]] = _at_once
    """Asks them for their numbers; fires when these are known, or nobody is to wait for them any longer."""


NO_WORKERS: Final = Workers()


class AdminResource(Resource):
    """Answers every path of the admin port; the path decides, and nothing below it."""

    isLeaf = True  # noqa: N815 - Twisted's name

    def __init__(
        self,
        readiness: Callable[[], tuple[str, ...]],
        snapshot: Callable[[], Snapshot],
        metrics: Metrics,
        clock: IReactorTime,
        leader: Callable[[], Mapping[str, object]] | None = None,
        names: Collection[str] = (),
        only_probes: bool = False,
        served: Callable[[], Served] | None = None,
        workers: Workers = NO_WORKERS,
    ) -> None:
        super().__init__()
        self._workers = workers
        self._names = frozenset(names)
        self._readiness = readiness
        self._served = served or (lambda: Served(snapshot(), datetime.now(UTC)))
        self._clock = clock
        self._large_pages = LargePages(clock)
        self._pages: dict[bytes, tuple[str, Callable[[], _Page | _LargePage]]] = {
            b"/": ("this list", self._index),
            b"/healthz": ("liveness: ok as long as the process works", lambda: _Page(b"ok\n")),
            b"/readyz": ("readiness: ok, or what is missing", self._ready),
            _METRICS: ("counters for Prometheus", lambda: _LargePage(metrics.pieces(), CONTENT_TYPE)),
            b"/api/routes": ("routes with their endpoints", lambda: _LargePage(routes_as_json(snapshot()))),
            b"/api/streams": (
                "streams of TCP and TLS with their endpoints",
                lambda: _LargePage(streams_as_json(snapshot())),
            ),
            b"/api/problems": (
                "what objects ask for in vain, and why",
                lambda: _LargePage(problems_as_json(snapshot())),
            ),
            b"/api/certificates": (
                "certificates by Secret, without keys",
                lambda: _LargePage(certificates_as_json(snapshot(), datetime.now(UTC))),
            ),
            b"/api/workers": (
                "processes that serve beside each other, and how they are",
                lambda: _LargePage(workers_as_json(workers.states())),
            ),
            _EXPLAIN: (
                "what becomes of a request, and why: ?url=URL, and method, header, client",
                lambda: _Page(_NO_URL, _JSON, http.BAD_REQUEST),
            ),
        }
        if leader is not None:
            self._pages[b"/api/leader"] = (
                "which replica reports to the cluster, and what",
                lambda: _Page(json.dumps(leader(), indent=2).encode() + b"\n", _JSON),
            )

        if only_probes:
            self._pages = {path: page for path, page in self._pages.items() if path in PROBES}

    def render(self, request: Request) -> int:
        """Answer 200, 503 (not ready, or too many large pages at once), 404, 405 or 421 (a name that is not known), all but the JSON and the metrics as plain text."""
        call = self._clock.callLater(0, self._answer, request)

        def gone(_: Failure) -> None:
            if call.active():
                call.cancel()

        request.notifyFinish().addErrback(gone)
        return NOT_DONE_YET

    def _answer(self, request: Request) -> None:
        page = self._page(request)
        if isinstance(page, _LargePage) and request.path == _METRICS:
            told = self._workers.told()
            # Who leaves waits no more; and what was to be told is told to others, too.
            request.notifyFinish().addErrback(lambda _: told.cancel())
            told.addCallbacks(lambda _: self._send(request, page), lambda why: why.trap(CancelledError))
        else:
            self._send(request, page)

    def _send(self, request: Request, page: _Page | _LargePage) -> None:
        request.setHeader("Cache-Control", "no-store")
        request.setHeader("Content-Type", page.content_type)
        if isinstance(page, _LargePage):
            if self._large_pages.begin(request, page.pieces):
                return
            page = _Page(b"too many pages are asked for at once\n", status=http.SERVICE_UNAVAILABLE)
            request.setHeader("Content-Type", page.content_type)
            request.setHeader("Retry-After", "1")
        request.setResponseCode(page.status, http.RESPONSES.get(page.status, b"Misdirected Request"))
        request.setHeader("Content-Length", str(len(page.content)))
        if request.method != b"HEAD":
            request.write(page.content)
        request.finish()

    def _page(self, request: Request) -> _Page | _LargePage:
        if not is_known_host(request.requestHeaders.getRawHeaders(b"host", []), self._names):
            return _Page(_UNKNOWN_HOST, status=_MISDIRECTED)
        described = self._pages.get(request.path)
        if described is None:
            return _Page(b"no such page\n", status=http.NOT_FOUND)
        if request.method not in (b"GET", b"HEAD"):
            request.setHeader("Allow", "GET, HEAD")
            return _Page(b"only GET and HEAD\n", status=http.NOT_ALLOWED)
        if request.path == _EXPLAIN and request.args:
            return self._explain(request)
        return described[1]()

    def _explain(self, request: Request) -> _Page | _LargePage:
        try:
            asked = read_query(request.args or {})
        except UrlRefused as refused:
            content = json.dumps({"error": str(refused)}).encode() + b"\n"
            return _Page(content, _JSON, http.BAD_REQUEST)
        return _LargePage(explanation_as_json(asked, self._served()))

    def _index(self) -> _Page:
        lines = [f"{path.decode():<20} {meaning}\n" for path, (meaning, _) in self._pages.items()]
        return _Page("".join(lines).encode())

    def _ready(self) -> _Page:
        missing = self._readiness()
        lines = missing or ("ok", *workers_missing(self._workers.states()))
        content = "".join(f"{line}\n" for line in lines).encode()
        return _Page(content, status=http.SERVICE_UNAVAILABLE if missing else http.OK)


class _QuietSite(Site):
    """A site without access log: probes ask every few seconds, and nobody reads that."""

    noisy = False

    def log(self, request: Any) -> None:
        """Write nothing."""


def admin_site(
    readiness: Callable[[], tuple[str, ...]],
    snapshot: Callable[[], Snapshot],
    metrics: Metrics,
    reactor: IReactorTime,
    leader: Callable[[], Mapping[str, object]] | None = None,
    *,
    names: Collection[str] = (),
    only_probes: bool = False,
    served: Callable[[], Served] | None = None,
    workers: Workers = NO_WORKERS,
) -> Site:
    """Return the site of the admin port.

    *readiness* returns what is missing, one line each, and nothing when all is ready;
    *snapshot* returns the current one, an empty one before the first; *leader* what is known of
    the election, where there is one.  *names* are those of hosts by which it may be asked, in lower
    case; *only_probes* leaves out what names routes and objects in full.  *served* returns the snapshot with what else is
    known to explain requests by; without it they are explained by the snapshot alone.  *workers* are those that serve, if
    it is not this process.
    """
    pages = AdminResource(readiness, snapshot, metrics, reactor, leader, names, only_probes, served, workers)
    return _QuietSite(pages, reactor=reactor)
