"""Pages that grow with the cluster, made in slices between which the reactor serves requests.

With 10,000 Ingresses such a page has some megabytes, and takes half a second to make.  However many are
asked for, all of them together get ``SLICE_SECONDS`` of each turn of the reactor: the page
whose turn it is makes as many pieces as fit, sends them, and goes to the end of the line.

A client that does not take what was sent is waited for: its page rests where it is, and holds in memory little
more than what the client did not take (64 KiB) and the snapshot that it shows.  After ``STALLED_SECONDS``
without an end of that its connection is closed.  At most ``MOST_PAGES`` are made at once; beyond that,
the client that has kept us waiting for longest is cut for the newest, and if there is none, the newest is refused.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any, Final
from zlib import MAX_WBITS, compressobj

from twisted.internet.interfaces import IDelayedCall, IPushProducer, IReactorTime
from twisted.logger import Logger
from twisted.web.server import Request
from zope.interface import implementer

from ingress.process.in_slices import SLICE_SECONDS

MOST_PAGES: Final = 16
STALLED_SECONDS: Final = 30.0
_LEVEL: Final = 1
"""Of compression: series and JSON repeat themselves so much that others gain little, and take longer."""
_GZIP: Final = MAX_WBITS + 16
"""The format gzip, with the largest window."""


class LargePages:
    """All pages in the making."""

    log = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self.clock = clock
        self._waiting: deque[_LargePage] = deque()
        """Those that go on when it is their turn."""
        self._stalled: dict[_LargePage, IDelayedCall] = {}
        """Those whose clients have to take something first, with when that is too late; the oldest first."""
        self._turn: IDelayedCall | None = None

    def __repr__(self) -> str:
        return f"<LargePages: {len(self._waiting)} in the making, {len(self._stalled)} stalled>"

    def begin(self, request: Request, pieces: Iterator[str], is_gzip: bool = False) -> bool:
        """Answer *request* with *pieces*, each made when there is time; return False if there are too many pages.

        What was made in a slice is compressed if it *is_gzip*; that takes some tenths of a millisecond more.

        Status and fields are set already.  A page that takes one slice alone gets a Content-Length,
        and so does every answer to HEAD; any other is sent as it is made.
        """
        if len(self._waiting) + len(self._stalled) >= MOST_PAGES:
            if not self._stalled:
                return False
            next(iter(self._stalled)).cut()
        page = _LargePage(self, request, pieces, is_gzip)
        self._waiting.append(page)
        # Deferreds and producers tell of the end in no certain order, and perhaps both.
        request.notifyFinish().addBoth(lambda _: page.stopProducing())
        request.registerProducer(page, True)
        self._continue()
        return True

    def _continue(self) -> None:
        if self._turn is None and self._waiting:
            self._turn = self.clock.callLater(0, self._take_turn)

    def _take_turn(self) -> None:
        self._turn = None
        if self._waiting:
            page = self._waiting.popleft()
            self._waiting.append(page)
            try:
                page.step()
            except Exception:
                self.log.failure("Making a page failed, which is a bug; its connection is closed")
                page.cut()
        self._continue()

    def stall(self, page: "_LargePage") -> None:
        """Let *page* rest until its client has taken what was sent."""
        if page in self._waiting:
            self._waiting.remove(page)
            self._stalled[page] = self.clock.callLater(STALLED_SECONDS, page.cut)

    def rouse(self, page: "_LargePage") -> None:
        """Go on with *page*."""
        late = self._stalled.pop(page, None)
        if late is not None:
            if late.active():
                late.cancel()
            self._waiting.append(page)
            self._continue()

    def end(self, page: "_LargePage") -> None:
        """Forget *page*; saying it again changes nothing."""
        self.rouse(page)
        if page in self._waiting:
            self._waiting.remove(page)


@implementer(IPushProducer)
class _LargePage:
    """One page for one client."""

    def __init__(self, pages: LargePages, request: Request, pieces: Iterator[str], is_gzip: bool) -> None:
        self._pages = pages
        self._request = request
        self._pieces = pieces
        self._gzip = compressobj(_LEVEL, wbits=_GZIP) if is_gzip else None
        self._is_head = request.method == b"HEAD"
        self._size = 0
        self._is_first = True

    def step(self) -> None:
        """Make and send what fits into a slice."""
        seconds = self._pages.clock.seconds
        until = seconds() + SLICE_SECONDS
        made: list[str] = []
        is_whole = True
        for piece in self._pieces:
            made.append(piece)
            if seconds() >= until:
                is_whole = False
                break
        content = "".join(made).encode()
        if self._gzip is not None:
            content = self._gzip.compress(content) + (self._gzip.flush() if is_whole else b"")
        self._size += len(content)
        if is_whole and (self._is_first or self._is_head):
            self._request.setHeader("Content-Length", str(self._size))
        self._is_first = False
        if content and not self._is_head:
            self._request.write(content)
        if is_whole:
            self._pages.end(self)
            self._request.unregisterProducer()
            self._request.finish()

    def cut(self) -> None:
        """Close the connection: what was sent is not whole, and the client is to see that."""
        self._pages.end(self)
        transport: Any = self._request.transport
        transport.abortConnection()

    def pauseProducing(self) -> None:
        """The client does not take what was sent."""
        self._pages.stall(self)

    def resumeProducing(self) -> None:
        """It has taken it."""
        self._pages.rouse(self)

    def stopProducing(self) -> None:
        """The client has left."""
        self._pages.end(self)
