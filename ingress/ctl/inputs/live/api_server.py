"""Questions to an API server that are asked once: whole lists in pages, and single objects.

What an answer means to a person is decided here: a question that is forbidden is an answer, too, and anything else that
fails is a ``Mistake`` of one line.  Everything blocks, each request for a bounded time.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from ingress.cluster.api.api_client import ApiAccess, ApiConnection, ApiRequest, ApiResponse
from ingress.cluster.api.api_status import (
    BROKEN,
    NO_CREDENTIALS,
    NO_MESSAGE,
    SILENT,
    SLOW,
    ObjectMissingError,
    is_expired,
    one_line,
)
from ingress.cluster.watching.watch_events import BrokenStreamError, decoded_or_broken
from ingress.ctl.errors import Mistake
from ingress.errors import KubernetesError, StartError
from ingress.model.frozen import frozen
from ingress.model.reporting.writes import JSON

T = TypeVar("T")

PAGE_OBJECTS: Final = 250
MAX_ANSWER_BYTES: Final = 512 * 1024 * 1024
"""A page of objects that are all as large as the API allows stays below this."""
ANSWER_SECONDS: Final = 120.0
"""How long one answer may take, however little comes at a time."""
_TRIES: Final = 4
_LONGEST_WAIT_SECONDS: Final = 10.0
_MOST_PAGES: Final = 10_000
# Of these another try may have a better answer: too many requests, errors of the server, and what a proxy before it says.
_PASSING: Final = frozenset({429, 500, 502, 503, 504})

# Not permitted; or no tables, which are asked for so that no content comes.
_REFUSED: Final = frozenset({403, 406})

TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
"""The media type of a table for people, which has the names of objects and nothing of their content."""


@frozen
class Forbidden:
    """A question that the person may not ask; *why* is the API server's word for it."""

    why: str


class ApiServer:
    """One API server and its connection; *clock* returns monotonic seconds, *sleep* waits for so many.

    Questions are answered by a value, or by ``Forbidden``; they raise ``Mistake``.
    """

    def __init__(
        self, access: ApiAccess, clock: Callable[[], float], sleep: Callable[[float], object]
    ) -> None:
        self._access = access
        self._clock = clock
        self._sleep = sleep
        self._said_in_loading: list[str] = []
        try:
            with _words_of_loaders(self._said_in_loading):
                self.url = _without_user(access.load())
        except StartError as error:
            raise Mistake(str(error)) from None
        self._connection = ApiConnection(access)

    @property
    def namespace(self) -> str:
        """The namespace that the context names, or ``default``."""
        return self._access.namespace

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def listed(
        self, path: str, take: Callable[[dict[str, Any]], list[T]], *, selector: str = "", accept: str = JSON
    ) -> list[T] | Forbidden:
        """Ask for the whole list at *path*, page by page; *take* makes of each page what is kept of it.

        Pages are asked for without a resource version, so that they show what was written last: who has just applied
        something asks about that.  They do not come out of an older cache, which would ignore their limit besides.
        """
        query = [("fieldSelector", selector)] if selector else []
        if accept == TABLE:
            query.append(("includeObject", "None"))
        for in_pages in (True, True, False):
            try:
                return self._list(path, query, take, accept, in_pages=in_pages)
            except _ExpiredError:
                # Too much was written meanwhile; at last it is asked for in one piece.
                continue
        raise Mistake(f"{self.url}: the list {path} expired each time that it was read")

    def exists(self, path: str) -> bool | Forbidden:
        """Ask whether there is an object at *path*, and for nothing of it."""
        answer = self._get(path, [("includeObject", "None")], TABLE)
        return answer if isinstance(answer, Forbidden) else answer is not None

    def single(self, path: str) -> object | Forbidden:
        """Ask for the object at *path*; None where there is none."""
        answer = self._get(path, [], JSON)
        return answer if answer is None or isinstance(answer, Forbidden) else self._decoded(answer)

    def plurals(self, group: str, version: str) -> frozenset[str]:
        """Ask for the plurals of the kinds that are served as *version* of *group*; none where there is no such thing."""
        answer = self._get(f"/apis/{group}/{version}", [], JSON)
        if answer is None or isinstance(answer, Forbidden):
            return frozenset()
        document = self._decoded(answer)
        entries = document.get("resources") if isinstance(document, dict) else None
        if not isinstance(entries, list):
            raise self._not_an_api_server("a list of resources without any")
        names = (entry.get("name") for entry in entries if isinstance(entry, dict))
        return frozenset(name for name in names if isinstance(name, str) and "/" not in name)

    def _list(
        self,
        path: str,
        query: list[tuple[str, str]],
        take: Callable[[dict[str, Any]], list[T]],
        accept: str,
        *,
        in_pages: bool,
    ) -> list[T] | Forbidden:
        taken: list[T] = []
        followed: set[str] = set()
        asked = [*query, ("limit", str(PAGE_OBJECTS))] if in_pages else query
        next_page = ""
        while True:
            answer = self._get(path, [*asked, ("continue", next_page)] if next_page else asked, accept)
            if isinstance(answer, Forbidden):
                return answer
            page = self._decoded(answer or b"null")
            metadata = page.get("metadata") if isinstance(page, dict) else None
            if not isinstance(page, dict) or not isinstance(metadata, dict):
                raise self._not_an_api_server("a list without metadata")
            if not _is_list(page):
                raise self._not_an_api_server("a list without objects in it")
            taken += take(page)
            following = metadata.get("continue")
            if not following or not isinstance(following, str):
                return taken
            if following in followed or len(followed) == _MOST_PAGES:
                raise self._not_an_api_server("a list that has no end")
            followed.add(following)
            next_page = following

    def _get(self, path: str, query: list[tuple[str, str]], accept: str) -> bytes | Forbidden | None:
        """Return the body of an answer, None where there is nothing at *path*; a passing error is waited for."""
        request = ApiRequest("GET", path, tuple(query), accept=accept)
        for attempt in range(1, _TRIES + 1):
            try:
                response = self._connection.send(request)
                try:
                    return self._body(response)
                finally:
                    response.close()
            except KubernetesError as error:
                if error.status in _REFUSED:
                    said = error.message if error.message != NO_MESSAGE else f"{error.status} {error.reason}"
                    return Forbidden(said)
                if _is_nothing(error, path):
                    return None
                if is_expired(error):
                    raise _ExpiredError from None
                if attempt == _TRIES or not (error.status in _PASSING or error.reason == BROKEN):
                    raise self._mistake(error) from None
                self._sleep(min(error.retry_after_seconds or attempt, _LONGEST_WAIT_SECONDS))
        raise AssertionError("the last try returns or raises")

    def _body(self, response: ApiResponse) -> bytes:
        began = self._clock()
        parts: list[bytes] = []
        size = 0
        while chunk := response.read_chunk():
            parts.append(chunk)
            size += len(chunk)
            if size > MAX_ANSWER_BYTES:
                raise self._not_an_api_server("more than an API server ever answers")
            if self._clock() - began > ANSWER_SECONDS:
                raise Mistake(f"{self.url}: an answer took longer than {ANSWER_SECONDS:.0f} seconds")
        return b"".join(parts)

    def _decoded(self, body: bytes) -> object:
        try:
            return decoded_or_broken(body)
        except BrokenStreamError as error:
            raise self._not_an_api_server(str(error)) from None

    def _not_an_api_server(self, why: str) -> Mistake:
        return Mistake(f"{self.url} does not answer as an API server does: {why}")

    def _mistake(self, error: KubernetesError) -> Mistake:
        why = f"{error.message}: {error.aside}" if error.aside else error.message
        if error.status == 401:
            said = f" ({self._said_in_loading[-1]})" if self._said_in_loading else ""
            return Mistake(
                f"{self.url} does not take the credentials: {why}{said};"
                " they may have expired, so log in again, or name another --context"
            )
        if error.reason == NO_CREDENTIALS:
            return Mistake(f"the credentials for {self.url} cannot be read: {why}")
        if error.reason in (SILENT, SLOW):
            return Mistake(f"{self.url}: {error.message}")
        if error.status:
            return Mistake(f"{self.url} answers {error.status}: {error.message}")
        through = f" through the proxy {self._access.proxy}" if self._access.proxy else ""
        return Mistake(f"the API server {self.url} cannot be reached{through}: {error.message}")


def _is_list(page: dict[str, Any]) -> bool:
    """Whether *page* has entries, or none and says so: what has lost them is not taken for empty."""
    found = next((page[name] for name in ("items", "rows") if name in page), False)
    return found is None or (isinstance(found, list) and all(isinstance(entry, dict) for entry in found))


def items_of(page: dict[str, Any]) -> list[Any]:
    """Return the objects of a page; none where it says none."""
    items = page.get("items")
    return items if isinstance(items, list) else []


def names_in_table(page: dict[str, Any]) -> list[str]:
    """Return the column Name of a page of a table (``Table`` of ``meta.k8s.io/v1``); raises ``Mistake`` where it is none."""
    columns, rows = page.get("columnDefinitions"), page.get("rows") or []
    titles = (
        [one.get("name") for one in columns if isinstance(one, dict)] if isinstance(columns, list) else []
    )
    if "Name" not in titles or not isinstance(rows, list):
        raise Mistake("the API server was asked for a table, and answered something else")
    at = titles.index("Name")
    cells = [row.get("cells") if isinstance(row, dict) else None for row in rows]
    return [str(some[at]) for some in cells if isinstance(some, list) and at < len(some)]


class _ExpiredError(Exception):
    """The pages that were asked for are not kept any more."""


def _is_nothing(error: KubernetesError, path: str) -> bool:
    """Whether *error* says that there is nothing at *path*: no such object, or no such version of a group."""
    if path.startswith("/apis/") and path.count("/") == 3:
        return error.status == 404
    return isinstance(error, ObjectMissingError) and _is_object(path)


def _is_object(path: str) -> bool:
    """Whether *path* is that of an object, and not of a list: of a namespace, or of what is in one."""
    parts = path.split("/namespaces/", 1)
    return len(parts) == 2 and parts[1].count("/") != 1


def _without_user(url: str) -> str:
    """Return *url* without what may be a password in it."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return one_line(f"{parts.scheme}://{host}")


@contextmanager
def _words_of_loaders(said: list[str]) -> Iterator[None]:
    """Collect in *said* what the loaders of credentials log, above all why a plugin failed; they go on without any."""

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(one_line(record.getMessage()))

    listening = Listening(logging.WARNING)
    root = logging.getLogger()
    root.addHandler(listening)
    try:
        yield
    finally:
        root.removeHandler(listening)
