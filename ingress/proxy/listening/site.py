"""What all downstream connections share: the resource, the pool, the log, the counters.

A ``ProxySite`` knows the live channels, so that a shutdown can finish what runs
and close what rests (drain).
"""

from collections.abc import Callable
from random import Random

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress, IReactorTime
from twisted.internet.protocol import ServerFactory
from twisted.web.resource import IResource

from ingress.http.forwarding import TrustedProxies
from ingress.identity.misdirected import ServerNames
from ingress.metrics.metrics import Metrics
from ingress.model.limits import Limits
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.dispatch.mounted import MountedResource
from ingress.proxy.dispatch.resource import IngressProxyResource
from ingress.proxy.downstream.channel import DownstreamChannel
from ingress.proxy.downstream.negotiating import SessionRules, channel_class
from ingress.proxy.exchange.access_log import AccessLog
from ingress.proxy.exchange.exchange import Exchange
from ingress.proxy.exchange.replies import Replies
from ingress.proxy.exchange.upstream_errors import UpstreamErrorLog
from ingress.proxy.transport.connection_limit import DEFAULT_CONNECTIONS, Connection, ConnectionLimit
from ingress.proxy.upstream.pool import UpstreamPool

_IDS = 64
"""Request ids that are made in one go."""


class ProxySite:
    """The parts that every exchange needs, and the set of open connections."""

    def __init__(
        self,
        clock: IReactorTime,
        resource: IngressProxyResource,
        pool: UpstreamPool,
        deadlines: Deadlines,
        replies: Replies,
        access_log: AccessLog,
        metrics: Metrics,
        random: Random,
        trusted_proxies: TrustedProxies | None = None,
        limits: Limits = Limits(),  # noqa: B008 - it is frozen
        most_connections: int = DEFAULT_CONNECTIONS,
        sessions: SessionRules | None = None,
    ) -> None:
        self.clock = clock
        self.limits = limits
        self.resource = resource
        self.pool = pool
        self.deadlines = deadlines
        self.replies = replies
        self.access_log = access_log
        self.metrics = metrics
        self.upstream_errors = UpstreamErrorLog(clock)
        self.trusted_proxies = trusted_proxies or TrustedProxies()
        self.sessions = sessions
        """Where HTTP/2 is spoken; None where HTTP/1.1 alone is."""
        self.draining = False
        self.is_cutting_off = False
        """Whether connections end because the process does, and not because their clients left."""
        self.server_names = ServerNames()
        """What handshakes go by, by which requests are found to be misdirected."""
        self._random_bits: Callable[[int], int] = random.getrandbits
        self._request_ids: list[bytes] = []
        self._mounted: list[MountedResource] = []
        self._channels: set[Connection] = set()
        self.connection_limit = ConnectionLimit(
            self._channels, most_connections, deadlines, metrics.connections
        )
        """How many connections there may be, and who listens for more."""
        self._drained: Deferred[None] | None = None

    def new_request_id(self) -> bytes:
        """Return 32 hexadecimal digits that no other request has."""
        ids = self._request_ids
        if not ids:
            # Many at once cost little more than one.
            digits = self._random_bits(128 * _IDS).to_bytes(16 * _IDS, "big").hex().encode()
            ids.extend(digits[at : at + 32] for at in range(0, 32 * _IDS, 32))
        return ids.pop()

    def mount(self, prefix: bytes, root: IResource) -> None:
        """Let the plain ``twisted.web`` resource *root* answer what is below *prefix*, on every host."""
        self._mounted.append(MountedResource(prefix, root, self.clock))

    def resource_for(self, exchange: Exchange) -> IngressProxyResource | MountedResource:
        """Return who answers *exchange*."""
        for mounted in self._mounted:
            if mounted.takes(exchange.path):
                return mounted
        return self.resource

    def factory(self, secure: bool) -> "ChannelFactory":
        """Return the protocol factory of a listener."""
        return ChannelFactory(self, secure)

    def hold(self, connection: Connection) -> None:
        """A connection is there that nobody knows the protocol of."""
        self._channels.add(connection)
        self.connection_limit.grown(connection)

    def release(self, connection: Connection) -> None:
        """It has a protocol now, which ``opened`` tells of, or it is gone."""
        self._channels.discard(connection)
        self.connection_limit.shrunk(connection)
        self._note_drained()

    def opened(self, channel: Connection, secure: bool) -> None:
        """A downstream connection is there."""
        self._channels.add(channel)
        self.metrics.downstream_opened(secure)
        self.connection_limit.grown(channel)

    def replaced(self, channel: Connection, session: Connection) -> None:
        """A downstream connection is carried on by *session*; it stays the same one."""
        self._channels.discard(channel)
        self._channels.add(session)
        self.connection_limit.replaced(channel, session)

    def closed(self, channel: Connection, secure: bool) -> None:
        """A downstream connection is gone."""
        self._channels.discard(channel)
        self.metrics.downstream_closed(secure)
        self.connection_limit.shrunk(channel)
        self._note_drained()

    def drain(self) -> Deferred[None]:
        """Finish what runs, begin nothing new; fires when no connection is left.

        Open answers say ``Connection: close``; connections at rest are closed now.
        """
        self.draining = True
        self._drained = Deferred()
        for channel in list(self._channels):
            channel.drain()
        drained = self._drained
        self._note_drained()
        return drained

    @property
    def is_ending(self) -> bool:
        """Whether all connections were told to end."""
        return self._drained is not None

    def abort(self) -> None:
        """End every connection at once."""
        self.is_cutting_off = True
        for channel in list(self._channels):
            channel.abort()

    def _note_drained(self) -> None:
        if self._drained is not None and not self._channels:
            drained, self._drained = self._drained, None
            drained.callback(None)


class ChannelFactory(ServerFactory):
    """Makes a channel for each connection of one listener."""

    noisy = False

    def __init__(self, site: ProxySite, secure: bool) -> None:
        self._site = site
        self._secure = secure
        self._channel = channel_class(site.sessions, secure)

    def build(self) -> DownstreamChannel:
        """Make the channel of one connection."""
        return self._channel(self._site, self._secure)

    def buildProtocol(self, addr: IAddress | None) -> DownstreamChannel:
        return self.build()
