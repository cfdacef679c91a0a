"""What endpoints may not be, by what this process listens on: rules of translation."""

from collections.abc import Callable, Collection, Iterable
from ipaddress import ip_network

from ingress.process.systemd.sockets import HandedOver
from ingress.proxy.listening.listeners import bound_to
from ingress.proxy.transport.resolving import is_own_address
from ingress.translate.endpoints.endpoint_rules import EndpointRules, Pair


def endpoint_rules(
    descriptions: Iterable[str],
    networks: Iterable[str],
    api_server: Callable[[], Collection[Pair]],
    *,
    allows_local: bool,
    handed_over: HandedOver | None = None,
) -> EndpointRules:
    """Return which endpoints may be connected to.

    *descriptions* are those of all listeners; in *networks* everything is allowed; *api_server* returns
    where the API server was reached; *handed_over* are the sockets that were open before the process.
    """
    known = handed_over or HandedOver()
    listening = (known.bound_to(one) or bound_to(one) for one in descriptions)
    return EndpointRules(
        allowed=tuple(map(ip_network, networks)),
        allows_local=allows_local,
        listeners=tuple(one for one in listening if one is not None),
        is_own=is_own_address,
        api_server=api_server,
        bound_to=bound_to,
    )
