"""Which endpoints of tenants may be connected to.

An EndpointSlice is a tenant's as an Ingress is: whoever may write one chooses what the controller connects
to, from where it stands.  So these are refused:

- this host by its loopback addresses, the link, and a cloud's metadata service (``ingress.model.network.addresses``);
- what this controller listens on, its admin port included, by address *and* port: other ports of a
  node whose network we share are pods like any other;
- the API server, by address and port, except by the Service ``default/kubernetes`` from its own namespace.

Objects of manifests may name this host and the link: whoever wrote them started this process.  What the operator
allows is not judged at all.
"""

import re
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Final

from attrs import Factory, evolve

from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.model.network.addresses import address_fault, plain_address, same_address
from ingress.model.network.listeners import Listener

OPTION: Final = "--allow-endpoint-networks"
API_SERVER: Final = ObjectKey("default", "kubernetes")
"""The Service by which a cluster reaches its API server, and the EndpointSlice that the API server writes for it."""

Pair = tuple[str, int]
"""An IP address and a port."""

_OCTET: Final = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_SUSPICIOUS: Final = (
    r"(?:0|127|22[4-9]|2[3-5][0-9])\.|169\.254\.|100\.100\.100\.200\Z|168\.63\.129\.16\Z|192\.0\.0\.192\Z"
)
_HARMLESS: Final = re.compile(rf"(?!{_SUSPICIOUS}){_OCTET}(?:\.{_OCTET}){{3}}")
is_harmless: Final = _HARMLESS.fullmatch
"""Whether a text is an IPv4 address that nothing is wrong with by itself, as nearly all are: found in one step."""


def _nothing() -> Collection[Pair]:
    return ()


def _is_foreign(address: str) -> bool:
    return False


def _unbound(description: str) -> Pair | None:
    return None


@frozen
class EndpointRules:
    """Judges endpoints.

    *is_own* says whether an address is one of this machine's, *api_server* returns where the API
    server was reached, *bound_to* what a description of a listener listens on.
    """

    allowed: tuple[IPv4Network | IPv6Network, ...] = ()
    """Networks of which everything is allowed."""
    allows_local: bool = False
    """Whether loopback and link-local addresses are allowed."""
    listeners: tuple[Pair, ...] = ()
    """What we listen on; an empty address stands for all of this machine."""
    is_own: Callable[[str], bool] = _is_foreign
    api_server: Callable[[], Collection[Pair]] = _nothing
    bound_to: Callable[[str], Pair | None] = _unbound
    udp_listeners: tuple[Pair, ...] = ()
    """What we take datagrams on: one that is sent there would come back as often as it is passed on."""
    ports: frozenset[int] = Factory(
        lambda self: frozenset(port for _, port in self.listeners), takes_self=True
    )
    """The ports of *listeners*."""

    def beside(self, listeners: Iterable[Listener]) -> "EndpointRules":
        """Return the rules where there are these *listeners*, too."""
        more: list[Pair] = []
        of_udp: list[Pair] = []
        for one in listeners:
            pair = self.bound_to(one.description)
            if pair is not None and pair not in (self.udp_listeners if one.is_udp else self.listeners):
                (of_udp if one.is_udp else more).append(pair)
        if not more and not of_udp:
            return self
        return evolve(
            self,
            listeners=(*self.listeners, *more),
            ports=self.ports | {port for _, port in more},
            udp_listeners=(*self.udp_listeners, *of_udp),
        )

    def over(self, transport: str) -> "EndpointRules":
        """Return the rules for endpoints that are spoken to over *transport*, ``TCP`` or ``UDP``.

        Where we and the API server listen on TCP there may be anybody on UDP.
        """
        if transport != "UDP":
            return self
        return EndpointRules(self.allowed, self.allows_local, self.udp_listeners, self.is_own)

    def address_fault(self, address: str) -> str | None:
        """Say why nothing at *address*, an IP address, may be connected to; None when something may."""
        fault = _address_fault(address, self.allows_local)
        return None if fault is None or self._allows(address) else fault

    def port_fault(self, address: str, port: int, api_servers: Collection[Pair]) -> str | None:
        """Say why *port* of *address* must not be connected to, as far as the port has a say."""
        fault: str | None = None
        if port in self.ports and any(
            port == other and self._is_at(bound, address) for bound, other in self.listeners
        ):
            fault = "is a listener of this controller"
        elif any(port == other and same_address(address, one) for one, other in api_servers):
            fault = "is the API server"
        return None if fault is None or self._allows(address) else fault

    def fault(self, address: str, port: int, api_servers: Collection[Pair]) -> str | None:
        """Say why *port* of *address* must not be connected to; None when it may."""
        return self.address_fault(address) or self.port_fault(address, port, api_servers)

    def api_servers(self, state: ClusterState) -> frozenset[Pair]:
        """Return where the API server is: where it was reached, and where it says that it is."""
        found = set(self.api_server())
        for one in state.slices.get(API_SERVER, ()):
            # Others of the Service may be anybody's.
            if one.key == API_SERVER:
                ports = [port.number for port in one.ports if port.number is not None]
                found.update((address, port) for address in one.ready for port in ports)
        return frozenset(found)

    def _is_at(self, bound: str, address: str) -> bool:
        if bound:
            return same_address(bound, address)
        plain = plain_address(address)
        return plain.is_loopback or self.is_own(str(plain))

    def _allows(self, address: str) -> bool:
        if not self.allowed:
            return False
        forms = {ip_address(address.partition("%")[0]), plain_address(address)}
        return any(form in network for network in self.allowed for form in forms)


@lru_cache(maxsize=4096)
def _address_fault(address: str, allows_local: bool) -> str | None:
    """Remembered, since the addresses of IPv6 are the same ones again whenever one of them changes."""
    return address_fault(address, allows_local=allows_local)
