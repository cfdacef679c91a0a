"""The stream of what happens at the moment, over HTTP: ``/api/v1/live``, as server-sent events.

Who does not take what was sent is let go: what waits for a viewer is bounded, and so is the time that it may wait.  A viewer that
vanished without a word acknowledges nothing, which the system is told to wait for no longer than ``GONE_SECONDS``; it would keep one of
few places for a quarter of an hour.
"""

import socket
from typing import Any, Final

from twisted.internet.interfaces import IPushProducer, IReactorTime, ISystemHandle
from twisted.web.server import Request
from zope.interface import implementer

from ingress.live.live import Live

MEDIA_TYPE: Final = "text/event-stream"
MOST_WAITING: Final = 262_144
"""Bytes that may be sent to a viewer that takes nothing."""
PATIENCE_SECONDS: Final = 10.0
"""How long it may take nothing."""
GONE_SECONDS: Final = 30
"""How long its system may acknowledge nothing."""
# Linux has it, macOS does not.
_USER_TIMEOUT: Final[int | None] = getattr(socket, "TCP_USER_TIMEOUT", None)


def begin_stream(request: Request, live: Live, clock: IReactorTime) -> str:
    """Answer *request* by the stream of *live*; return why not, if that cannot be now."""
    if why := live.why_not():
        return why
    request.setHeader("Content-Type", MEDIA_TYPE)
    request.setHeader("Cache-Control", "no-store")
    # nginx in front of it would keep events back otherwise.
    request.setHeader("X-Accel-Buffering", "no")
    if request.method == b"HEAD":
        request.finish()
        return ""
    transport: Any = request.transport
    handle = transport.getHandle() if ISystemHandle.providedBy(transport) else None
    if isinstance(handle, socket.socket):
        bound_silence(handle)
    viewer = HttpViewer(request, live, clock)
    request.registerProducer(viewer, True)
    request.notifyFinish().addBoth(lambda _: viewer.stopProducing())
    live.join(viewer, (request.getHeader("last-event-id") or "")[:64])
    return ""


def bound_silence(sock: socket.socket) -> None:
    """Have the connection of *sock*, if it is one of TCP, end once its peer has acknowledged nothing for ``GONE_SECONDS``."""
    if sock.family != socket.AF_UNIX and _USER_TIMEOUT is not None:
        sock.setsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT, GONE_SECONDS * 1000)


@implementer(IPushProducer)
class HttpViewer:
    """One viewer, whose stream is the answer to a request."""

    def __init__(self, request: Request, live: Live, clock: IReactorTime) -> None:
        self._request = request
        self._live = live
        self._clock = clock
        self._waits_since: float | None = None
        """When the client began to take nothing."""
        self._waiting = 0
        self._is_over = False

    @property
    def is_full(self) -> bool:
        """Whether it has yet to take what was sent."""
        return self._waits_since is not None

    def send(self, octets: bytes) -> None:
        """Send *octets*, or cut a client that takes too little."""
        if self._is_over:
            return
        if self._waits_since is not None:
            self._waiting += len(octets)
            if self._waiting > MOST_WAITING or self._clock.seconds() - self._waits_since > PATIENCE_SECONDS:
                self._cut()
                return
        self._request.write(octets)

    def end(self, octets: bytes) -> None:
        """Send *octets* as the last ones, and let the connection go."""
        if self._is_over:
            return
        self._is_over = True
        if self._waits_since is not None:
            self._abort()
            return
        self._request.write(octets)
        self._request.unregisterProducer()
        self._request.finish()

    def _cut(self) -> None:
        self._is_over = True
        self._live.leave(self)
        self._abort()

    def _abort(self) -> None:
        transport: Any = self._request.transport
        transport.abortConnection()

    def pauseProducing(self) -> None:
        """The client takes nothing at the moment."""
        self._waits_since = self._clock.seconds()
        self._waiting = 0

    def resumeProducing(self) -> None:
        """It has taken all."""
        self._waits_since = None
        if not self._is_over:
            self._live.go_on(self)

    def stopProducing(self) -> None:
        """It has left."""
        self._is_over = True
        self._live.leave(self)
        # The request keeps who produces its answer, and it is kept here.
        self._request.producer = None
