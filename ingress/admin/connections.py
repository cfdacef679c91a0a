"""Connections to the pages, and how they end where another process goes on: nobody who was accepted is left without an answer.

What is asked and answered is for ``site`` and its requests; how long the end may take is for who asks for it.
"""

from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel

if TYPE_CHECKING:
    from twisted.web.server import Request


class AdminChannel(HTTPChannel):
    """One connection, of HTTP/1.1; *connections* are all that end with it."""

    def __init__(self, connections: "AdminConnections") -> None:
        super().__init__()
        self._connections = connections
        self._was_answered = False

    @property
    def is_at_rest(self) -> bool:
        """Whether all that was asked was answered, and something was."""
        return self._was_answered and not self.requests

    def connectionMade(self) -> None:
        """Begin."""
        self._connections.all.add(self)
        super().connectionMade()

    def checkPersistence(self, request: "Request", version: bytes) -> bool:
        """Whether another request may follow this one; who is not to send one is told (RFC 9112 section 9.6)."""
        if not self._connections.are_ending:
            return bool(super().checkPersistence(request, version))
        request.responseHeaders.setRawHeaders(b"Connection", [b"close"])
        return False

    def requestDone(self, request: "Request") -> None:
        """Go on with the next request, or end."""
        self._was_answered = True
        super().requestDone(request)
        self._connections.answered(self)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Be over."""
        self._connections.lost(self)
        super().connectionLost(reason)


class AdminConnections:
    """Those of all ports that show pages."""

    def __init__(self) -> None:
        self.all: set[AdminChannel] = set()
        self._drained: Deferred[None] | None = None

    @property
    def are_ending(self) -> bool:
        """Whether each ends with its next answer."""
        return self._drained is not None

    def drain(self) -> Deferred[None]:
        """End each connection with its next answer, and those at rest now; once.  Fires when none is left.

        Who has connected and not asked yet may have been slow: the kernel takes connections, and a request may be under way.
        """
        drained: Deferred[None] = Deferred()
        self._drained = drained
        for channel in tuple(self.all):
            self.answered(channel)
        self._look()
        return drained

    def answered(self, channel: AdminChannel) -> None:
        """A request of *channel* has its answer."""
        if self.are_ending and channel.is_at_rest:
            transport: Any = channel.transport
            transport.loseConnection()

    def lost(self, channel: AdminChannel) -> None:
        """*channel* is over."""
        self.all.discard(channel)
        self._look()

    def _look(self) -> None:
        if self._drained is not None and not self.all and not self._drained.called:
            self._drained.callback(None)
