"""What serves one table: who answers, by which certificates, at the sites of its listeners."""

from collections.abc import Mapping
from typing import Any, cast

from attrs import evolve
from twisted.internet.defer import TimeoutError, maybeDeferred
from twisted.internet.interfaces import IListeningPort, IReactorTime
from twisted.python.failure import Failure

from ingress.identity.certificates import CertificateTable
from ingress.identity.misdirected import ServerNames
from ingress.identity.server_names import HandshakeSettingsTable
from ingress.model.upstream.backends import BackendReference, BackendState
from ingress.proxy.dispatch.resource import IngressProxyResource
from ingress.proxy.dispatch.side_by_side import SideBySideResource
from ingress.proxy.dispatch.site import ProxySite
from ingress.proxy.transport.accepting import leave
from ingress.routing.streams import NO_STREAMS, StreamTable
from ingress.routing.table import RouteTable
from ingress.tls.contexts import ServerContexts


class ServedTable:
    """Serves a table by *resource*, at the sites of its listeners."""

    def __init__(self, resource: IngressProxyResource) -> None:
        self.resource = resource
        self.names = ServerNames()
        """What the handshakes of its listeners go by."""
        self.sites: list[ServedSite] = []

    def publish(
        self,
        routes: RouteTable,
        certificates: CertificateTable,
        handshake_settings: HandshakeSettingsTable,
        backends: Mapping[BackendReference, BackendState],
        streams: StreamTable = NO_STREAMS,
    ) -> None:
        """Make these current."""
        names = self.names
        if names.certificates is not certificates or names.handshake_settings is not handshake_settings:
            self.names = ServerNames(certificates, handshake_settings)
            for site in self.sites:
                site.follow()
        self.resource.publish(routes, backends, streams)

    def new_site(self, of_all: ProxySite, contexts: ServerContexts | None) -> "ServedSite":
        """Return the site of a listener; it shares with *of_all* all but its connections.  *contexts* are those of its TLS."""
        served = ServedSite(self, of_all.part(self.resource), contexts)
        self.sites.append(served)
        return served


class ServedSite:
    """The site of one listener, which serves a table; one of the command line may serve that of Gateways on its port, too."""

    def __init__(self, table: ServedTable, site: ProxySite, contexts: ServerContexts | None) -> None:
        self.site = site
        self.contexts = contexts
        self._table = table
        self._beside: ServedTable | None = None
        self._side_by_side: SideBySideResource | None = None
        self._sessions = site.sessions
        self.follow()

    def stand_beside(self, other: ServedTable | None) -> None:
        """Serve *other* side by side with its own table from the next request on, or nothing but its own.

        To be called whenever either was published anew, too.
        """
        if self._side_by_side is not None:
            self._side_by_side.follow()
        if other is self._beside:
            if other is not None and other.names is not self.site.server_names.beside:
                self.follow()
            return
        self._beside = other
        ours = self._table.resource
        self._side_by_side = None if other is None else SideBySideResource(ours, other.resource)
        self.site.resource = self._side_by_side or ours
        if other is None:
            self.site.sessions = self._sessions
        else:
            self.speak_http2()
        self.follow()

    def speak_http2(self) -> None:
        """Have new connections in the clear speak HTTP/2 to whoever begins with it, as GRPCRoute asks of listeners of Gateways.

        Where the operator has turned HTTP/2 off, there is none.
        """
        if self._sessions is not None and self._sessions.over_tls:
            self.site.sessions = evolve(self._sessions, by_prior_knowledge=True)

    def forget(self) -> None:
        """Learn nothing of its table any more: there will be no further connections."""
        if self in self._table.sites:
            self._table.sites.remove(self)
        self.site.connections.leave()

    def follow(self) -> None:
        """Have handshakes go by what its tables say now."""
        names = self._table.names
        beside = None if self._beside is None else self._beside.names
        if beside is not None:
            names = ServerNames(names.certificates, names.handshake_settings, beside)
        self.site.server_names = names
        if self.contexts is not None:
            self.contexts.publish(names.certificates, names.handshake_settings, beside)


class ServingPort:
    """An open listener.  *grace_seconds* after it was closed, connections that did not end are cut."""

    def __init__(
        self,
        port: IListeningPort,
        served: ServedSite,
        clock: IReactorTime,
        grace_seconds: float,
        *,
        is_alone: bool,
    ) -> None:
        """*is_alone* says that the listener may close while others stay."""
        self._port = port
        self._served = served
        self._clock = clock
        self._grace_seconds = grace_seconds
        self._is_alone = is_alone

    def fileno(self) -> int:
        """Return the descriptor of its socket."""
        descriptor: int = cast(Any, self._port).fileno()
        return descriptor

    async def close(self) -> None:
        """Accept no more; if others stay, have its connections end once what runs is over."""
        await maybeDeferred(self._port.stopListening)
        connections = self._served.site.connections
        leave(connections.limit, self._port)
        if self._is_alone:
            self._served.forget()
            if not connections.draining:
                # Else all connections end, these among them.
                drained = connections.drain()
                drained.addTimeout(self._grace_seconds, self._clock).addErrback(self._cut)

    def _cut(self, failure: Failure) -> None:
        failure.trap(TimeoutError)
        self._served.site.connections.cut()
