"""What downstream connections share: the context of their exchanges, each other, and who answers.

A site only wires: it does nothing by itself.
"""

from collections.abc import Callable
from random import Random
from typing import Protocol

from twisted.internet.interfaces import IReactorTime

from ingress.http.forwarding import TrustedProxies
from ingress.http2.frame_room import FrameRoom
from ingress.identity.misdirected import ServerNames
from ingress.metrics.metrics import Metrics
from ingress.model.exchanges.records import Record
from ingress.model.frozen import frozen
from ingress.model.serving.limits import Limits
from ingress.model.text.lookup_budget import TurnBudget
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.contract.sides import Answering
from ingress.proxy.contract.transport import Receiver
from ingress.proxy.dispatch.gate import Gate, Renders
from ingress.proxy.dispatch.loop_end import LoopEnd
from ingress.proxy.dispatch.resource import IngressProxyResource
from ingress.proxy.dispatch.side_by_side import SideBySideResource
from ingress.proxy.exchange.access_log.access_log import AccessLog
from ingress.proxy.exchange.context import ExchangeContext
from ingress.proxy.exchange.exchange import Exchange
from ingress.proxy.exchange.replies import Replies
from ingress.proxy.transport.connection_limit import DEFAULT_CONNECTIONS, Connection
from ingress.proxy.transport.open_connections import OpenConnections
from ingress.proxy.upstream.pool import UpstreamPool


class Session(Connection, Receiver, Protocol):
    """What takes the place of a channel: to the transport a receiver, to the site a connection.

    It is among the open connections when it begins, and says that it is ``closed`` at its end.
    What was received so far comes behind ``makeConnection``, from the first byte of the preface on.
    """


class ProxySite(Answering):
    """The parts that the connections of all listeners share, and those of one listener's own."""

    def __init__(
        self,
        context: ExchangeContext,
        resource: IngressProxyResource,
        connections: OpenConnections,
        access_log: AccessLog,
        trusted_proxies: TrustedProxies,
        sessions: "SessionRules | None",
        gate: Gate,
    ) -> None:
        self.context = context
        self.access_log = access_log
        self.connections = connections
        self.resource: IngressProxyResource | SideBySideResource = resource
        self.trusted_proxies = trusted_proxies
        self.sessions = sessions
        """Where HTTP/2 is spoken; None where HTTP/1.1 alone is."""
        self.server_names = ServerNames()
        """What handshakes go by, by which requests are found to be misdirected."""
        self.gate = gate
        """What has requests wait, or be refused, while there is more to do than can be done."""
        self.frame_room = FrameRoom()
        """Where connections of HTTP/2 read bodies of answers, one after the other, whatever their listeners."""

    def part(self, resource: IngressProxyResource) -> "ProxySite":
        """Return the site of one listener: *resource* answers there, its connections may end by themselves, all else is shared."""
        site = ProxySite(
            self.context,
            resource,
            self.connections.part(),
            self.access_log,
            self.trusted_proxies,
            self.sessions,
            self.gate,
        )
        site.server_names = self.server_names
        site.frame_room = self.frame_room
        return site

    def trust(self, proxies: TrustedProxies) -> None:
        """Believe *proxies* from the next connection on."""
        self.trusted_proxies = proxies

    def resource_for(self, exchange: Exchange) -> Renders:
        """Return who answers *exchange*."""
        resource, head = self.resource, exchange.head
        # One that comes back here has the id that it was sent with, and what a proxy says of its client.
        if head.request_id and b"x-real-ip" in head.forwarded and self.context.loops.most:
            if not self.context.loops.may_begin(head):
                return LoopEnd(resource)
            exchange.request_id, exchange.is_counted = head.request_id, True
        if self.gate.is_open or resource.is_asked_for_health(exchange):
            # A load balancer that is refused takes all replicas away at once.
            return resource
        # Until its turn comes, its host may have moved to another table.
        return self.gate.before(self)

    def render(self, exchange: Exchange) -> int:
        """Have *exchange* answered by whoever answers now."""
        return self.resource.render(exchange)

    def look_up_again(self, exchange: Exchange, budget: TurnBudget) -> None:
        """Have *exchange*, which waited for a turn of its own, answered by whoever answers now."""
        self.resource.render(exchange, None, budget)

    def abort(self) -> None:
        """End every connection at once, since the process ends."""
        self.context.is_cutting_off = True
        self.connections.abort()


@frozen
class SessionRules:
    """Where HTTP/2 is spoken, and what makes the session of a connection: of a site, and over TLS or not."""

    new_session: Callable[[ProxySite, bool], Session]
    over_tls: bool = True
    by_prior_knowledge: bool = False


def new_site(
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
    gate: Gate | None = None,
    failed: Callable[[Record], None] = lambda record: None,
) -> ProxySite:
    """Return the site that those of all listeners are parts of."""
    listeners = (metrics.exchanges.ended, access_log.exchange_ended)
    context = ExchangeContext(clock, pool, deadlines, replies, metrics, random, limits, listeners, failed)
    connections = OpenConnections(deadlines, metrics, most_connections)
    gate = gate or Gate(clock, metrics.overload, lambda: context.replies)
    gate.slow_down = connections.limit.slow_down
    trusted = trusted_proxies or TrustedProxies()
    return ProxySite(context, resource, connections, access_log, trusted, sessions, gate)
