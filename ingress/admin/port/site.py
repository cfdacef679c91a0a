"""The pages of the admin port, as a twisted.web site: who may ask, for which page of the table, and how it is sent.

``GET`` and ``HEAD`` only, and only by an address or a known name (``hosts``): nothing can be changed here, and nothing secret is shown.
Which pages there are, and what they say, is in ``table``.  Where to listen, and what "ready" means, is for others to say.  A page is made when
it is asked for, from the snapshot that is current then; one that grows with the cluster
is made in slices (``pages``).  All others are answered in the next turn of the reactor, so that a
connection gets one answer a turn, however many requests it sends at once.
"""

from collections.abc import Collection, Iterable
from functools import partial
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web import http
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request, Site

from ingress.admin.contract.answers import Answer, LargeAnswer, StreamAnswer, refused_query
from ingress.admin.contract.page_request import PageRequest
from ingress.admin.contract.page_row import Made, PageRow
from ingress.admin.contract.page_sources import PageSources
from ingress.admin.contract.parameters import Given, QueryRefusedError, read_query
from ingress.admin.contract.sorted_entries import SortedEntries
from ingress.admin.pages.live_stream import begin_stream
from ingress.admin.port.access import Access
from ingress.admin.port.connections import REQUEST_SECONDS, AdminChannel, AdminConnections
from ingress.admin.port.foreign_pages import is_cross_origin, is_followed_link, is_known_host
from ingress.admin.port.places import Places
from ingress.admin.port.requests import AdminRequest
from ingress.admin.port.sliced_pages import LargePages
from ingress.admin.table import PAGES
from ingress.metrics.series.admin import AdminRefusal

_ROOT: Final = b"/"
_MISDIRECTED: Final = 421
_PHRASES: Final = {_MISDIRECTED: b"Misdirected Request", 429: b"Too Many Requests"}
"""Those that twisted.web lacks."""
_NO_SUCH_PAGE: Final = Answer(b"no such page\n", status=http.NOT_FOUND)
_OTHER_METHOD: Final = Answer(
    b"only GET and HEAD\n", status=http.NOT_ALLOWED, fields=(("Allow", "GET, HEAD"),)
)
_UNKNOWN_HOST: Final = Answer(
    b"this port is asked by IP address or as localhost; for another name, start the controller with --admin-host=NAME\n",
    status=_MISDIRECTED,
)
_CROSS_ORIGIN: Final = Answer(
    b"this page is not shown to pages of other origins; to see it, open its address in a tab of its own\n",
    status=http.FORBIDDEN,
)
_FOR_ALL: Final = (
    # Nothing here is for other pages to read, to embed or to guess at.
    (b"X-Content-Type-Options", b"nosniff"),
    (b"Cross-Origin-Resource-Policy", b"same-origin"),
    (b"Referrer-Policy", b"no-referrer"),
    (b"Content-Security-Policy", b"default-src 'none'; frame-ancestors 'none'"),
)
"""The fields of all answers; a page may have others in their place."""
_TOO_MANY: Final = Answer(
    b"too many pages are asked for at once\n", status=http.SERVICE_UNAVAILABLE, fields=(("Retry-After", "1"),)
)
_FAILED: Final = Answer(b"a bug, which the log tells of\n", status=http.INTERNAL_SERVER_ERROR)


class AdminResource(Resource):
    """Answers every path of the admin port; the path decides, and nothing below it."""

    isLeaf = True  # noqa: N815 - Twisted's name
    log = Logger()

    def __init__(
        self,
        sources: PageSources,
        clock: IReactorTime,
        names: Collection[str],
        only_probes: bool,
        access: Access | None,
        rows: Iterable[PageRow] = PAGES,
    ) -> None:
        super().__init__()
        self._access = access or Access(None, clock, sources.metrics.admin)
        self._refused = sources.metrics.admin.refused
        self._sources = sources
        self._names = frozenset(names)
        self._clock = clock
        self._large_pages = LargePages(clock)
        self._orders = SortedEntries(clock)
        there = [row for row in rows if row.is_there(sources) and (row.is_probe or not only_probes)]
        self._rows = {row.path.encode(): row for row in there}
        self._list = tuple((row.path, row.meaning) for row in there)

    def render(self, request: Request) -> int:
        """Answer what the page says, or 304 (nothing new), 400 (such a query cannot be), 401 and 429 (for want of a token), 403 (to pages of other origins), 404, 405, 421 (a name that is not known), 500 (a bug), 503 (not ready, or too many large pages at once); refusals are plain text, but for 400."""
        call = self._clock.callLater(0, self._answer, request)

        def gone(_: Failure) -> None:
            if call.active():
                call.cancel()

        request.notifyFinish().addErrback(gone)
        return NOT_DONE_YET

    def _answer(self, request: Request) -> None:
        try:
            made = self._made(request)
        except QueryRefusedError as refused:
            made = refused_query(str(refused))
        except Exception:
            made = self._failed()
        if isinstance(made, Deferred):
            # Who leaves waits no more.
            request.notifyFinish().addErrback(lambda _: made.cancel())
            made.addErrback(self._failed_later)
            made.addCallback(lambda answer: None if answer is None else self._send(request, answer))
        else:
            self._send(request, made)

    def _failed(self) -> Answer:
        self.log.failure("Making a page failed, which is a bug")
        return _FAILED

    def _failed_later(self, failure: Failure) -> Answer | None:
        if failure.check(CancelledError):
            return None
        self.log.failure("Making a page failed, which is a bug", failure=failure)
        return _FAILED

    def _made(self, request: Request) -> "Made | Deferred[Made]":
        fields = request.requestHeaders
        hosts = fields.getRawHeaders(b"host", [])
        if not is_known_host(hosts, self._names):
            self._refused(AdminRefusal.UNKNOWN_HOST)
            return _UNKNOWN_HOST
        origins = fields.getRawHeaders(b"origin", [])
        may_be_followed = request.path == _ROOT and is_followed_link(
            fields.getRawHeaders(b"sec-fetch-mode", []), fields.getRawHeaders(b"sec-fetch-dest", []), origins
        )
        if not may_be_followed and is_cross_origin(
            fields.getRawHeaders(b"sec-fetch-site", []), origins, hosts
        ):
            self._refused(AdminRefusal.CROSS_ORIGIN)
            return _CROSS_ORIGIN
        row = self._rows.get(request.path)
        if row is None or not row.is_open:
            refusal = self._access.refusal(request.client, fields.getRawHeaders(b"authorization", []))
            if refusal is not None:
                return refusal
        if row is None:
            return _NO_SUCH_PAGE
        if request.method not in (b"GET", b"HEAD"):
            return _OTHER_METHOD
        given = Given() if row.parameters is None else read_query(request.args or {}, row.parameters)
        sources = self._sources
        published = sources.published()
        if row.is_of_snapshot:
            tag = f'"{sources.started.timestamp():.6f}-{published.number}"'.encode()
            request.setHeader(b"Cache-Control", b"private, no-cache")
            if request.setETag(tag) is http.CACHED:
                return Answer(b"", status=http.NOT_MODIFIED)
        return row.make(
            PageRequest(sources, published, sources.now(), given, fields, self._orders, self._list)
        )

    def _send(self, request: Request, answer: Made) -> None:
        if isinstance(answer, StreamAnswer):
            why = begin_stream(request, answer.live, self._clock)
            if not why:
                return
            answer = Answer(
                f"{why}\n".encode(), status=http.SERVICE_UNAVAILABLE, fields=(("Retry-After", "5"),)
            )
        if isinstance(answer, LargeAnswer):
            self._set_fields(request, answer.content_type)
            if answer.is_gzip:
                request.responseHeaders.setRawHeaders(b"Content-Encoding", [b"gzip"])
            if self._large_pages.begin(request, answer.pieces, answer.is_gzip):
                return
            request.responseHeaders.removeHeader(b"Content-Encoding")
            answer = _TOO_MANY
        self._set_fields(request, answer.content_type)
        for name, _ in answer.fields:
            request.responseHeaders.removeHeader(name.encode())
        for name, value in answer.fields:
            request.responseHeaders.addRawHeader(name.encode(), value.encode())
        request.setResponseCode(answer.status, _PHRASES.get(answer.status) or http.RESPONSES[answer.status])
        if answer.status != http.NOT_MODIFIED:
            request.setHeader("Content-Length", str(len(answer.content)))
        if request.method != b"HEAD":
            request.write(answer.content)
        request.finish()

    @staticmethod
    def _set_fields(request: Request, content_type: str) -> None:
        headers = request.responseHeaders
        if not headers.hasHeader(b"Cache-Control"):
            headers.setRawHeaders(b"Cache-Control", [b"no-store"])
        headers.setRawHeaders(b"Content-Type", [content_type.encode()])
        for name, value in _FOR_ALL:
            headers.setRawHeaders(name, [value])


class _QuietSite(Site):
    """A site without access log: probes ask every few seconds, and nobody reads that."""

    noisy = False
    requestFactory = AdminRequest  # noqa: N815 - Twisted's name

    def __init__(self, resource: Resource, reactor: IReactorTime, connections: AdminConnections) -> None:
        super().__init__(resource, reactor=reactor, timeout=REQUEST_SECONDS)
        self.protocol: Any = partial(AdminChannel, connections, Places())

    def log(self, request: Any) -> None:
        """Write nothing."""


def admin_site(
    sources: PageSources,
    reactor: IReactorTime,
    *,
    names: Collection[str] = (),
    only_probes: bool = False,
    access: Access | None = None,
    connections: AdminConnections | None = None,
) -> Site:
    """Return the site of the admin port, whose pages are made of *sources*.

    *names* are those of hosts by which it may be asked, in lower case; *only_probes* leaves out what names routes and objects in full.
    *access* says who may see more than health and readiness; without it, whoever asks.  *connections* are those of all ports with pages.
    """
    resource = AdminResource(sources, reactor, names, only_probes, access)
    return _QuietSite(resource, reactor, AdminConnections() if connections is None else connections)
