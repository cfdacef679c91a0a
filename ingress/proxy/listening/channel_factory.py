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

    def build(self) -> DownstreamChannel:
        """Make the channel of one connection."""
        site = self._site
        return DownstreamChannel(site, self._secure, beginning_of(site.sessions, self._secure))

    def buildProtocol(self, addr: IAddress | None) -> TwistedProtocol:
        return TwistedProtocol(self.build())
