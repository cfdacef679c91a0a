"""What endpoints may not be, by what this process listens on: the settings as rules of translation."""

from collections.abc import Callable, Collection
from ipaddress import ip_network

from ingress.proxy.listening.listeners import bound_to
from ingress.proxy.transport.resolving import is_own_address
from ingress.settings import Settings
from ingress.translate.endpoint_rules import EndpointRules, Pair


def endpoint_rules(settings: Settings, api_server: Callable[[], Collection[Pair]]) -> EndpointRules:
    """Return which endpoints may be connected to; *api_server* returns where the API server was reached."""
    probes = () if settings.probes is None else (settings.probes,)
    listening = map(bound_to, (*settings.http, *settings.https, settings.admin, *probes))
    return EndpointRules(
        allowed=tuple(map(ip_network, settings.endpoint_networks)),
        allows_local=bool(settings.manifests),
        listeners=tuple(one for one in listening if one is not None),
        is_own=is_own_address,
        api_server=api_server,
    )
