"""What is read of a connection before it has a protocol: a PROXY header, the server name of a ClientHello.

Headers are an option, and names are looked at where one is or where streams are routed by them; without either nothing here is
in the way of a connection.  A connection start sees the first bytes, for at most ``CONNECTION_START_SECONDS``, and ends in one of these ways::

    (PROXY header) ──▶ (ClientHello) ─┬─ name of a host whose TLS passes through ──▶ a tunnel to an endpoint
          │                           ├─ name of a stream whose TLS is terminated here ──▶ TLS, and then a tunnel
          │                           ├─ name that no listener has ──▶ closed
          │                           └─ anything else, also what is no ClientHello ──▶ TLS or HTTP here
          └─ no header, or from a stranger ──▶ closed

Only the header is taken off.  A ClientHello stays: whoever has the connection next, an endpoint
or OpenSSL, gets the very bytes that came.  How bytes are looked at without taking them is a matter
of the network (``buffered_start``, ``peeked_start``); what they mean is decided here.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.interfaces import IAddress

from ingress.http.proxy_header import MAX_V2_BYTES, Address, ProxyHeaderError, read_proxy_header
from ingress.model.frozen import frozen
from ingress.model.network.streams import StreamSort
from ingress.proxy.contract.addresses import peer_address
from ingress.proxy.contract.deadlines import NEVER
from ingress.proxy.contract.limits import CONNECTION_START_SECONDS
from ingress.proxy.contract.transport import Receiver
from ingress.proxy.dispatch.site import ProxySite
from ingress.proxy.listening.stream_tunnel import Connect, StreamTunnel
from ingress.tls.client_hello import MAX_HELLO_BYTES, ClientHello, ClientHelloReader, HelloError

MAX_CONNECTION_START_BYTES = MAX_V2_BYTES + MAX_HELLO_BYTES
"""What must be looked at to decide, whatever it is."""


class LoadBalancers(Protocol):
    """Who may send a PROXY header; ``ingress.http.forwarding.TrustedProxies`` are such."""

    def __contains__(self, address: bytes) -> bool:
        """Whether the peer of this address may."""


@frozen
class ConnectionStartRules:
    """What the operator turned on."""

    load_balancers: LoadBalancers | None = None
    """The peers that begin with a PROXY header; None where nobody does, and then there is none."""
    passes_tls: bool = False
    """Whether TLS goes through to the endpoints of some hosts."""


NO_CONNECTION_STARTS = ConnectionStartRules()


class TrustedNow:
    """The peers that *site* trusts at the moment when it is asked about one."""

    def __init__(self, site: ProxySite) -> None:
        self._site = site

    def __contains__(self, address: bytes) -> bool:
        return address in self._site.trusted_proxies


@frozen
class ConnectionStarts:
    """What all connection starts of one listener share."""

    site: ProxySite
    rules: ConnectionStartRules
    connect: Connect
    is_secure: bool
    """Whether the connections of the listener are TLS."""

    @property
    def reads_hello(self) -> bool:
        """Whether a name decides what becomes of the next connection."""
        return self.is_secure and (self.rules.passes_tls or self.site.resource.reads_names)

    @property
    def is_wanted(self) -> bool:
        """Whether the next connection has such a beginning."""
        return self.rules.load_balancers is not None or self.reads_hello


def connection_starts_of(
    site: ProxySite, rules: ConnectionStartRules, connect: Connect, secure: bool
) -> ConnectionStarts | None:
    """Return what a listener needs for its connection starts, or None if it never has any."""
    if rules.load_balancers is None and not secure:
        return None
    return ConnectionStarts(site, rules, connect, secure)


class ConnectionStart:
    """The beginning of one accepted connection; a network says how its bytes are had.

    *peer* is whose connection it is: the one that was accepted, or who a PROXY header names.
    *local* is the address that the client connected to, where a header says so.
    """

    def __init__(self, connection_starts: ConnectionStarts, peer: IAddress) -> None:
        self.deadline = NEVER
        self.peer = peer
        self.local: IAddress | None = None
        self._connection_starts = connection_starts
        self._awaits_header = connection_starts.rules.load_balancers is not None
        self._hello = ClientHelloReader() if connection_starts.reads_hello else None
        self._is_over = False
        self._has_come = False

    def __repr__(self) -> str:
        state = "over" if self._is_over else "PROXY header" if self._awaits_header else "ClientHello"
        return f"<{type(self).__name__} of {peer_address(self.peer).decode()}: {state}>"

    def begin(self) -> None:
        """Look at the connection from now on, unless its peer is none that may connect."""
        site = self._connection_starts.site
        self.deadline = site.context.deadlines.now + CONNECTION_START_SECONDS
        site.context.deadlines.watch(self)
        site.connections.hold(self)
        load_balancers = self._connection_starts.rules.load_balancers
        if load_balancers is not None and peer_address(self.peer) not in load_balancers:
            self.refuse("stranger")

    def look(self, received: bytes) -> None:
        """Decide by *received*, all that has come and was not taken off, if that is enough."""
        self._has_come = True
        if self._awaits_header:
            try:
                header = read_proxy_header(received)
            except ProxyHeaderError:
                self.refuse("malformed")
                return
            if header is None:
                return
            self._awaits_header = False
            self.take_off(header.length)
            received = received[header.length :]
            if header.source is not None and header.destination is not None:
                self.peer, self.local = _address(header.source), _address(header.destination)
        if self._hello is None:
            self._end(self.terminate)
            return
        try:
            hello = self._hello.read(received)
        except HelloError:
            # OpenSSL says so with the alert that it deserves.
            self._end(self.terminate)
            return
        if hello is not None:
            self._end(partial(self._follow, hello))

    def _follow(self, hello: ClientHello) -> None:
        """Give the connection to whom the name in *hello* is served by."""
        site = self._connection_starts.site
        name = hello.server_name or b""
        route = site.resource.stream(name)
        if route is None:
            self.terminate()
            return
        if route.owner is None:
            self._refuse_unserved()
            return
        rotation = site.resource.rotation_for(route)
        tunnel = StreamTunnel(site, self._connection_starts.connect, route, rotation, name)
        if route.sort is StreamSort.TERMINATED:
            self.terminate(tunnel.downstream)
        else:
            self.pass_through(tunnel)

    def _refuse_unserved(self) -> None:
        self._connection_starts.site.context.metrics.connections.connection_start_refused("unserved")
        self.close()

    def refuse(self, cause: str) -> None:
        """Close the connection; *cause* is what the metrics say."""
        if not self._is_over:
            self._connection_starts.site.context.metrics.connections.connection_start_refused(cause)
            self._end()
            self.close()

    def ended(self) -> None:
        """The peer ended its side, or the connection broke off, before there was enough."""
        self.refuse("unfinished")

    def expire(self) -> None:
        """Called by the deadlines: it took too long."""
        self.refuse("late")

    def drain(self) -> None:
        """Begin nothing any more."""
        self.abort()

    is_mute = True

    @property
    def is_silent(self) -> bool:
        """Whether not a byte has come."""
        return not self._has_come

    def make_way(self) -> None:
        """Close, since others have more to say."""
        self.abort()

    def rests_since(self) -> float:
        """Return since when it waits for what is to come first."""
        return self.deadline - CONNECTION_START_SECONDS

    def abort(self) -> None:
        """Close at once."""
        if not self._is_over:
            self._end()
            self.close()

    def _end(self, then: Callable[[], None] | None = None) -> None:
        """Look at it no more; *then* gives it to others."""
        self._is_over = True
        self._connection_starts.site.context.deadlines.forget(self)
        self._connection_starts.site.connections.release(self, then)

    # What a network does in its own way

    def take_off(self, count: int) -> None:
        """Take the first *count* bytes off what has come."""
        raise NotImplementedError

    def terminate(self, receiver: Receiver | None = None) -> None:
        """Give the connection, with what has come, to the protocol of the listener, or what TLS carries to *receiver*."""
        raise NotImplementedError

    def pass_through(self, tunnel: StreamTunnel) -> None:
        """Give the connection, with what has come, to *tunnel*."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the connection."""
        raise NotImplementedError


def _address(said: Address) -> IAddress:
    kind = IPv6Address if ":" in said.host else IPv4Address
    return kind("TCP", said.host, said.port)
