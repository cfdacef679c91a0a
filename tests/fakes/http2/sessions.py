"""A session that speaks no HTTP/2: it keeps what comes, and says what it is told to."""

from __future__ import annotations

from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure

from ingress.proxy.contract.transport import Transport
from ingress.proxy.dispatch.site import ProxySite, SessionRules


class KeepingSession:
    """One connection; *received* is what came, *lost* how often its end was told."""

    transport: Transport
    half_closes = True
    is_mute = is_silent = False

    def __init__(self, site: ProxySite, secure: bool) -> None:
        self.site = site
        self.secure = secure
        self.received = b""
        self.is_draining = False
        self.is_full = False
        self.ends = 0
        self.lost = 0

    def makeConnection(self, transport: Transport) -> None:
        """Begin."""
        self.transport = transport

    def handshakeCompleted(self) -> None:
        """It was before."""

    def dataReceived(self, received: bytes) -> None:
        """Keep what has come."""
        if received == b"a bug":
            raise RuntimeError("a bug")
        self.received += received

    def readConnectionLost(self) -> None:
        """The peer sends no more."""
        self.ends += 1
        self.transport.loseConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Count the end."""
        self.lost += 1
        self.site.connections.closed(self, self.secure)

    def drain(self) -> None:
        """Close."""
        self.is_draining = True
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


class Sessions:
    """Makes such sessions, and knows them: *made*, in order."""

    def __init__(self, over_tls: bool = True, by_prior_knowledge: bool = True) -> None:
        self.made: list[KeepingSession] = []
        self.rules = SessionRules(self._make, over_tls, by_prior_knowledge)

    def _make(self, site: ProxySite, secure: bool) -> KeepingSession:
        session = KeepingSession(site, secure)
        self.made.append(session)
        return session
