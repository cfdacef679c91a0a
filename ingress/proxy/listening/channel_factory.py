"""What makes the channel of each connection that a listener accepts."""

from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import ServerFactory

from ingress.proxy.dispatch.site import ProxySite
from ingress.proxy.downstream.channel import DownstreamChannel
from ingress.proxy.downstream.negotiating import beginning_of
from ingress.proxy.transport.twisted_protocol import TwistedProtocol


class ChannelFactory(ServerFactory):
    """Makes a channel for each connection of one listener."""

    noisy = False

    def __init__(self, site: ProxySite, secure: bool) -> None:
        self._site = site
        self._secure = secure
        self._beginning = beginning_of(site.sessions, secure)

    def build(self) -> DownstreamChannel:
        """Make the channel of one connection."""
        return DownstreamChannel(self._site, self._secure, self._beginning)

    def buildProtocol(self, addr: IAddress | None) -> TwistedProtocol:
        return TwistedProtocol(self.build())
