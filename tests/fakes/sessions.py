"""A session that speaks no HTTP/2: it keeps what comes, and says what it is told to."""

from __future__ import annotations

from typing import Any

from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from ingress.proxy.dispatch.site import ProxySite, SessionRules


@implementer(IHalfCloseableProtocol)
class KeepingSession(Protocol):
    """One connection; *received* is what came, *lost* how often its end was told."""

    transport: Any
    is_mute = is_silent = False

    def __init__(self, site: ProxySite, secure: bool) -> None:
        self.site = site
        self.secure = secure
        self.received = b""
        self.is_draining = False
        self.is_full = False
        self.ends = 0
        self.lost = 0

    def connectionMade(self) -> None:
        self.transport.registerProducer(self, True)

    def dataReceived(self, received: bytes) -> None:
        if received == b"a bug":
            raise RuntimeError("a bug")
        self.received += received

    def readConnectionLost(self) -> None:
        """The peer sends no more."""
        self.ends += 1
        self.transport.unregisterProducer()
        self.transport.loseConnection()

    def writeConnectionLost(self) -> None:
        """Never: our side is not shut down by itself."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.lost += 1
        self.site.connections.closed(self, self.secure)

    def drain(self) -> None:
        """Close."""
        self.is_draining = True
        self.transport.unregisterProducer()
        self.transport.loseConnection()

    def abort(self) -> None:
        """Close at once."""
        self.transport.abortConnection()

    def make_way(self) -> None:
        """Nothing: it is not mute."""

    def rests_since(self) -> float:
        """Since ever."""
        return 0.0

    def pauseProducing(self) -> None:
        """Too much waits to be sent."""
        self.is_full = True

    def resumeProducing(self) -> None:
        """There is room again."""
        self.is_full = False

    def stopProducing(self) -> None:
        """The transport is gone."""


class Sessions:
    """Makes such sessions, and knows them: *made*, in order."""

    def __init__(self, over_tls: bool = True, by_prior_knowledge: bool = True) -> None:
        self.made: list[KeepingSession] = []
        self.rules = SessionRules(self._make, over_tls, by_prior_knowledge)

    def _make(self, site: ProxySite, secure: bool) -> KeepingSession:
        session = KeepingSession(site, secure)
        self.made.append(session)
        return session
