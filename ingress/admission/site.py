"""The webhook as a twisted.web site: a review comes as the content of a POST, and the answer is always yes.

Whoever may connect may ask, so all that is kept for that is bounded: content, connections, and how long each may take.  What is no review
is refused in one line of text, which an API server takes for a yes by its ``failurePolicy``.
"""

from functools import partial
from typing import Any, Final, Protocol

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web import http
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request, Site

from ingress.admin.port.connections import REQUEST_SECONDS, AdminChannel, AdminConnections
from ingress.admin.port.places import Places
from ingress.admission.json_steps import TextTooLargeError
from ingress.admission.reviews import BusyError, Reviews

MOST_CONTENT: Final = 8 * 1024 * 1024
"""Bytes of one review."""
MOST_HELD: Final = 4 * MOST_CONTENT
"""Bytes of all reviews, those included of which more is to come."""

_PATH: Final = b"/"
_TYPE: Final = "application/json"
_PHRASES: Final = {413: b"Content Too Large"}


class Holder(Protocol):
    """Whose content is held."""

    def make_way(self) -> None:
        """Hold nothing any more: whoever comes after it has the room."""


class Room:
    """Counts the bytes that are held for all requests, those of which more is to come by how long it has been coming.

    An API server sends a review at once, so whoever makes a newcomer wait is slow, or wants the newcomer to wait.
    """

    def __init__(self, most: int = MOST_HELD) -> None:
        self._left = most
        self._coming: dict[Holder, None] = {}

    def take(self, one: Holder, count: int) -> bool:
        """Hold *count* bytes more of *one*, for which those make way that have been coming for longer; return whether there is room."""
        while count > self._left:
            longest = next(iter(self._coming), one)
            if longest is one:
                return False
            longest.make_way()
        self._left -= count
        self._coming[one] = None
        return True

    def came(self, one: Holder) -> None:
        """All of *one* is here: it keeps its room."""
        self._coming.pop(one, None)

    def give(self, one: Holder, count: int) -> None:
        """Hold nothing of *one* any more, which were *count* bytes."""
        self._coming.pop(one, None)
        self._left += count


class ReviewRequest(Request):
    """A request whose content is kept in memory, as far as there is *room*."""

    def __init__(self, room: Room, channel: AdminChannel, *given: Any) -> None:
        super().__init__(channel, *given)
        self._room = room
        self.octets = bytearray()
        self._held = 0
        self._is_refused = False

    def gotLength(self, length: int | None) -> None:
        """Expect so many bytes of content; None where that is not known."""
        super().gotLength(0)
        if length is not None and length > MOST_CONTENT:
            self._refuse(413, f"a review has at most {MOST_CONTENT} bytes")

    def handleContentChunk(self, data: bytes) -> None:
        """Keep *data*."""
        if self._is_refused:
            return
        if self._held + len(data) > MOST_CONTENT:
            self._refuse(413, f"a review has at most {MOST_CONTENT} bytes")
        elif not self._room.take(self, len(data)):
            self._refuse(503, "too many reviews are sent at once")
        else:
            self._held += len(data)
            self.octets += data

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:
        """Answer, unless it is refused already."""
        self._room.came(self)
        if not self._is_refused:
            super().requestReceived(command, path, version)

    def finish(self) -> None:
        """The answer is there."""
        self._release()
        super().finish()

    def connectionLost(self, reason: Failure) -> None:
        """Nobody waits for an answer."""
        self._release()
        super().connectionLost(reason)

    def make_way(self) -> None:
        """End, for others whose content comes faster."""
        self._refuse(503, "this review came too slowly, while others waited for its room")

    def _release(self) -> None:
        self._room.give(self, self._held)
        self._held = 0
        self.octets = bytearray()

    def _refuse(self, status: int, why: str) -> None:
        """Answer before all of it is there, and end."""
        self._is_refused = True
        self._release()
        content = f"{why}\n".encode()
        phrase = _PHRASES.get(status) or http.RESPONSES[status]
        channel: Any = self.channel
        channel.transport.write(
            b"HTTP/1.1 %d %b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b"
            % (status, phrase, len(content), content)
        )
        channel.loseConnection()


class ReviewResource(Resource):
    """Has what is posted reviewed."""

    isLeaf = True  # noqa: N815 - Twisted's name
    log = Logger()

    def __init__(self, reviews: Reviews) -> None:
        super().__init__()
        self._reviews = reviews

    def render(self, request: Request) -> int:
        """Answer a review, or 400 (it is none), 404, 405, 413 (it is too large), 415 (no JSON), 503 (too much to do)."""
        assert isinstance(request, ReviewRequest)
        content_type, _, _ = (request.getHeader("content-type") or "").partition(";")
        if request.path != _PATH:
            _send(request, 404, b"reviews are posted to /\n")
        elif request.method != b"POST":
            request.setHeader("Allow", "POST")
            _send(request, 405, b"reviews are posted\n")
        elif content_type.strip().lower() != _TYPE:
            _send(request, 415, b"a review is application/json\n")
        else:
            reviewed = self._reviews.review(request.octets)
            # Who leaves waits no more.
            request.notifyFinish().addErrback(lambda _: reviewed.cancel())
            reviewed.addCallback(lambda found: _send(request, 200, found, _TYPE))
            reviewed.addErrback(self._refused, request)
        return NOT_DONE_YET

    def _refused(self, failure: Failure, request: Request) -> None:
        if failure.check(CancelledError):
            return
        if failure.check(BusyError):
            _send(request, 503, b"there is too much to do to look at it\n")
        elif failure.check(ValueError):
            status = 413 if failure.check(TextTooLargeError) else 400
            words = " ".join(failure.getErrorMessage().split())
            _send(request, status, f"{words}\n".encode("utf-8", "replace"))
        else:
            self.log.failure("Answering a review failed, which is a bug", failure=failure)
            _send(request, 500, b"a bug, which the log tells of\n")


def _send(
    request: Request, status: int, content: bytes, content_type: str = "text/plain; charset=utf-8"
) -> None:
    request.setResponseCode(status, _PHRASES.get(status))
    request.setHeader("Content-Type", content_type)
    request.setHeader("Content-Length", str(len(content)))
    request.write(content)
    request.finish()


class _QuietSite(Site):
    """A site without access log."""

    noisy = False

    def __init__(self, reviews: Reviews, reactor: IReactorTime, connections: AdminConnections) -> None:
        super().__init__(ReviewResource(reviews), reactor=reactor, timeout=REQUEST_SECONDS)
        self.protocol: Any = partial(AdminChannel, connections, Places())
        self.requestFactory: Any = partial(ReviewRequest, Room())

    def log(self, request: Any) -> None:
        """Write nothing."""


def admission_site(reviews: Reviews, reactor: IReactorTime, connections: AdminConnections) -> Site:
    """Return the site that answers *reviews*; its connections are among *connections*."""
    return _QuietSite(reviews, reactor, connections)
