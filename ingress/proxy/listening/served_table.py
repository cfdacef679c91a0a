"""What serves one table: who answers, by which certificates, at the sites of its listeners."""

from collections.abc import Callable, Mapping

from twisted.internet.defer import TimeoutError, maybeDeferred
from twisted.internet.interfaces import IListeningPort, IReactorTime
from twisted.python.failure import Failure

from ingress.identity.certificates import CertificateTable
from ingress.identity.misdirected import ServerNames
from ingress.identity.server_names import HandshakeSettingsTable
from ingress.model.backends import BackendReference, BackendState
from ingress.proxy.dispatch.resource import IngressProxyResource
from ingress.proxy.dispatch.site import ProxySite
from ingress.proxy.transport.accepting import leave
from ingress.routing.streams import NO_STREAMS, StreamTable
from ingress.routing.table import RouteTable
from ingress.tls.contexts import ServerContexts


class ServedTable:
    """Serves a table at *sites*: one that listeners share, or one for each listener that may close by itself."""

    def __init__(self, resource: IngressProxyResource, contexts: ServerContexts, *sites: ProxySite) -> None:
        self.resource = resource
        self.contexts = contexts
        self._sites = list(sites)
        self._names = ServerNames()

    def publish(
        self,
        routes: RouteTable,
        certificates: CertificateTable,
        handshake_settings: HandshakeSettingsTable,
        backends: Mapping[BackendReference, BackendState],
        streams: StreamTable = NO_STREAMS,
    ) -> None:
        """Make these current."""
        self.contexts.publish(certificates, handshake_settings)
        names = self._names
        if names.certificates is not certificates or names.handshake_settings is not handshake_settings:
            self._names = ServerNames(certificates, handshake_settings)
            for site in self._sites:
                site.server_names = self._names
        self.resource.publish(routes, backends, streams)

    def new_site(self, beside: ProxySite) -> ProxySite:
        """Return the site of a listener that may close by itself; it shares with *beside* all but its connections."""
        site = beside.part(self.resource)
        site.server_names = self._names
        self._sites.append(site)
        return site

    def forget(self, site: ProxySite) -> None:
        """Tell *site* nothing any more."""
        if site in self._sites:
            self._sites.remove(site)

    def each_site(self, do: Callable[[ProxySite], None]) -> None:
        """Have *do* done to the site of each listener."""
        for site in self._sites:
            do(site)


class ServingPort:
    """An open listener.  *grace_seconds* after it was closed, connections that did not end are cut."""

    def __init__(
        self,
        port: IListeningPort,
        table: ServedTable,
        site: ProxySite,
        clock: IReactorTime,
        grace_seconds: float,
        *,
        is_alone: bool,
    ) -> None:
        """*is_alone* says that the connections of *site* are those of this listener."""
        self._port = port
        self._table = table
        self._site = site
        self._clock = clock
        self._grace_seconds = grace_seconds
        self._is_alone = is_alone

    async def close(self) -> None:
        """Accept no more; if the connections are its own, have them end once what runs is over."""
        await maybeDeferred(self._port.stopListening)
        connections = self._site.connections
        leave(connections.limit, self._port)
        if self._is_alone:
            self._table.forget(self._site)
            if not connections.is_ending:
                drained = connections.drain()
                drained.addTimeout(self._grace_seconds, self._clock).addErrback(self._cut)

    def _cut(self, failure: Failure) -> None:
        failure.trap(TimeoutError)
        self._site.connections.abort()
