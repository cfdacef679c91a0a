"""Connections to the pages: how long each may keep us waiting, and how they end where another process goes on.

Then nobody who was accepted is left without an answer.  What is asked and answered is for ``site`` and its requests, how many
connections there may be for ``places``; how long the end may take is for who asks for it.
"""

from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel

from ingress.admin.pages.live_stream import HttpViewer
from ingress.admin.port.places import Places
from ingress.proxy.transport.accepting import PausablePort

if TYPE_CHECKING:
    from twisted.web.server import Request

REQUEST_SECONDS: Final = 10
"""For a whole request, however it comes; of a new connection from the accept, later from its first byte."""
REST_SECONDS: Final = 60
"""Between an answer and the next request."""
TAKING_SECONDS: Final = 30
"""For the client to take the rest of what was sent, once nothing follows."""
_LEAVING_SECONDS: Final = 1
"""The same for one that makes way."""


class AdminChannel(HTTPChannel):
    """One connection, of HTTP/1.1; *connections* are all that end with it, and *places* those of its port."""

    def __init__(self, connections: "AdminConnections", places: Places) -> None:
        super().__init__()
        self._connections = connections
        self._places = places
        self._was_answered = False
        self._is_resting = False
        """Whether not a byte has come since the last answer."""
        self._cut: IDelayedCall | None = None
        self.is_stalled = False
        self.is_stream = False

    @property
    def is_at_rest(self) -> bool:
        """Whether all that was asked was answered, and something was."""
        return self._was_answered and not self.requests

    def connectionMade(self) -> None:
        """Begin."""
        self._connections.all.add(self)
        self._places.add(self)
        super().connectionMade()

    def dataReceived(self, data: bytes) -> None:
        """Take some of a request."""
        if self._is_resting and data:
            self._is_resting = False
            self.setTimeout(REQUEST_SECONDS)
        super().dataReceived(data)

    def resetTimeout(self) -> None:
        """Do not have the time begin anew with each piece, as Twisted would: a line now and then kept a connection for ever."""

    def allContentReceived(self) -> None:
        """Begin to answer: a whole request is here."""
        # The one before it may have been answered while both were read.
        self._is_resting = False
        self._places.asked(self)
        super().allContentReceived()

    def timeoutConnection(self) -> None:
        """End: it has kept us waiting for too long."""
        self.loseConnection()

    def loseConnection(self) -> None:
        """End once the client has taken what was sent, or has had the time for that."""
        if self._cut is not None:
            return
        transport: Any = self.transport
        self._cut = self.callLater(TAKING_SECONDS, transport.abortConnection)
        super().loseConnection()

    def make_way(self) -> None:
        """End for another connection: now, or in a moment if the last answer may still be on its way."""
        if self._was_answered:
            self.loseConnection()
            if self._cut is not None and self._cut.active():
                self._cut.reset(_LEAVING_SECONDS)
        else:
            transport: Any = self.transport
            transport.abortConnection()

    def pauseProducing(self) -> None:
        """The client does not take what was sent: read nothing more of it, and answer nothing that has come along already."""
        self.is_stalled = self.paused = True
        super().pauseProducing()
        transport: Any = self.transport
        transport.pauseProducing()

    def resumeProducing(self) -> None:
        """It has taken it."""
        self.is_stalled = self.paused = False
        super().resumeProducing()
        self.dataReceived(b"")

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        """Let *producer* make the answer."""
        self.is_stream = isinstance(producer, HttpViewer)
        super().registerProducer(producer, streaming)

    def checkPersistence(self, request: "Request", version: bytes) -> bool:
        """Whether another request may follow this one; who is not to send one is told (RFC 9112 section 9.6)."""
        if not self._connections.are_ending:
            return bool(super().checkPersistence(request, version))
        request.responseHeaders.setRawHeaders(b"Connection", [b"close"])
        return False

    def requestDone(self, request: "Request") -> None:
        """Go on with the next request, or end."""
        self._was_answered = self._is_resting = True
        self.is_stream = False
        self._places.answered(self)
        super().requestDone(request)
        if self._is_resting and self.persistent:
            self.setTimeout(REST_SECONDS)
        self._connections.answered(self)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Be over."""
        if self._cut is not None and self._cut.active():
            self._cut.cancel()
        self._places.remove(self)
        self._connections.lost(self)
        super().connectionLost(reason)


class AdminPort(PausablePort):
    """A port with pages: a few connections are accepted in one go, so that each can ask before it might have to make way.

    Meanwhile many may wait, and a probe need not try again for a flood.
    """

    usual_backlog = 1024


class AdminConnections:
    """Those of all ports that show pages."""

    def __init__(self) -> None:
        self.all: set[AdminChannel] = set()
        self._drained: list[Deferred[None]] = []
        self.are_ending = False
        """Whether each ends with its next answer."""

    def drain(self) -> Deferred[None]:
        """End each connection with its next answer, and those at rest now.  Fires when none is left.

        Who has connected and not asked yet may have been slow: the kernel takes connections, and a request may be under way.
        """
        drained: Deferred[None] = Deferred()
        self._drained.append(drained)
        self.are_ending = True
        for channel in tuple(self.all):
            self.answered(channel)
        self._look()
        return drained

    def answered(self, channel: AdminChannel) -> None:
        """A request of *channel* has its answer."""
        if self.are_ending and channel.is_at_rest:
            channel.loseConnection()

    def lost(self, channel: AdminChannel) -> None:
        """*channel* is over."""
        self.all.discard(channel)
        self._look()

    def _look(self) -> None:
        if not self.all:
            drained, self._drained = self._drained, []
            for each in drained:
                each.callback(None)
