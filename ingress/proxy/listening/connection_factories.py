"""What makes a channel of each connection that a listener accepts, or a tunnel where it is one of streams."""

from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import ServerFactory

from ingress.proxy.contract.transport import Nobody, Receiver, Transport
from ingress.proxy.dispatch.site import ProxySite
from ingress.proxy.downstream.channel import DownstreamChannel
from ingress.proxy.downstream.negotiating import beginning_of
from ingress.proxy.listening.stream_tunnel import Connect, StreamTunnel
from ingress.proxy.transport.twisted_protocol import TwistedProtocol


class StreamFactory(ServerFactory):
    """Makes the tunnels of one listener; *connect* reaches endpoints."""

    noisy = False

    def __init__(self, site: ProxySite, connect: Connect) -> None:
        self._site = site
        self._connect = connect

    def build(self) -> Receiver:
        """Make what receives one connection."""
        resource = self._site.resource
        route = resource.port_stream()
        if route is None or route.owner is None:
            return Unserved(self._site)
        return StreamTunnel(self._site, self._connect, route, resource.rotation_for(route)).downstream

    def buildProtocol(self, addr: IAddress | None) -> TwistedProtocol:
        return TwistedProtocol(self.build())


class Unserved(Nobody):
    """The receiver of a connection that leads nowhere: it is reset, and of no interest any more."""

    def __init__(self, site: ProxySite) -> None:
        self._site = site

    def makeConnection(self, transport: Transport) -> None:
        self._site.context.metrics.connections.connection_start_refused("unserved")
        transport.abortConnection()


class ChannelFactory(ServerFactory):
    """Makes a channel for each connection of one listener."""

    noisy = False

    def __init__(self, site: ProxySite, secure: bool) -> None:
        self._site = site
        self._secure = secure

    def build(self) -> DownstreamChannel:
        """Make the channel of one connection."""
        site = self._site
        return DownstreamChannel(site, self._secure, beginning_of(site.sessions, self._secure))

    def buildProtocol(self, addr: IAddress | None) -> TwistedProtocol:
        return TwistedProtocol(self.build())
