"""Which addresses the Ingresses are to show, and what to write for one of them.  Pure.

The addresses of a Service are those that ingress-nginx publishes for it, by type:

- LoadBalancer: what its status has, of each entry the IP address if there is one, and then its
  external IPs;
- ExternalName: the name;
- NodePort: its external IPs, or the cluster IP where it has none;
- ClusterIP: the cluster IP.

What the API would refuse in a status is left out: the cluster IP ``None`` of a headless Service,
and names that are no DNS names.
"""

import ipaddress
import re
from collections.abc import Iterable
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from ingress.model.cluster.object_meta import NO_META, Address, ObjectMeta
from ingress.model.cluster.objects import Kind, Service
from ingress.model.cluster.state import ClusterState
from ingress.model.reporting.reporting import Reporting

_LABEL = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
IN_ORDER: Final = attrgetter("hostname", "ip")
"""By what addresses are sorted: by name, and then by IP address."""
_DNS_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")


def published_addresses(
    settings: Reporting, state: ClusterState, of_nodes: tuple[Address, ...] | None = None
) -> tuple[Address, ...] | None:
    """Return the addresses to show, sorted; None when nothing is known or to be said about them.

    No addresses at all is an answer, too: a load balancer that has none yet.  *of_nodes* are those of Nodes, None while
    they are not known.
    """
    if settings.publish_addresses:
        return normalized(settings.publish_addresses)
    if settings.looks_for_nodes:
        return of_nodes
    key = settings.publish_service
    service = None if key is None else state.services.get(key)
    if key is None or service is None:
        return None
    return service_addresses(service, state.metas.get((Kind.SERVICE, key), NO_META))


def service_addresses(service: Service, meta: ObjectMeta) -> tuple[Address, ...]:
    """Return the addresses by which *service* is reached from outside, sorted."""
    external = [Address(ip) for ip in meta.external_ips]
    if service.type == "ExternalName":
        name = service.external_name.lower().removesuffix(".")
        return normalized([Address(name) if _is_ip(name) else Address("", name)])
    if service.type == "LoadBalancer":
        balancers = [Address(ip) if ip else Address("", name.lower()) for ip, name in meta.addresses]
        return normalized([*balancers, *external])
    if service.type == "NodePort" and external:
        return normalized(external)
    return normalized([Address(service.cluster_ip)])


def normalized(addresses: Iterable[Address]) -> tuple[Address, ...]:
    """Return the valid ones of *addresses*, each once, sorted by name and then by IP address."""
    return _normalized(tuple(addresses))


@lru_cache(maxsize=16)
def _normalized(addresses: tuple[Address, ...]) -> tuple[Address, ...]:
    """Thousands of Ingresses have the same, of hundreds of Nodes."""
    return tuple(sorted(filter(_is_valid, set(addresses)), key=IN_ORDER))


def addresses_to_write(
    meta: ObjectMeta,
    published: tuple[Address, ...] | None,
    writer: str,
    *,
    is_ours: bool,
    was_ours: bool,
) -> tuple[Address, ...] | None:
    """Return what the status of an Ingress is to have, or None when it is to stay as it is.

    *writer* is the field manager under which we write.  The addresses of an Ingress that is not
    ours are removed only if they are ours.  That is so when the API server says that we wrote
    them, and nobody else.  Where it does not say who did, it is so when we have seen the Ingress
    become another's, and there is no address that we do not publish: whoever took it over has
    not written yet.
    """
    if is_ours:
        if published is None or normalized(meta.addresses) == published:
            return None
        return published
    if not meta.addresses:
        return None
    if meta.writer:
        return () if meta.writer == writer else None
    return () if was_ours and set(meta.addresses) <= set(published or ()) else None


def status_patch(addresses: tuple[Address, ...]) -> dict[str, Any]:
    """Return the merge patch that makes these the addresses.

    A merge patch replaces a list as a whole, and null removes the field (RFC 7396); an empty list
    would stay.
    """
    entries = [{"ip": one.ip} if one.ip else {"hostname": one.hostname} for one in addresses]
    return {"status": {"loadBalancer": {"ingress": entries or None}}}


def _is_valid(address: Address) -> bool:
    if address.ip:
        return _is_ip(address.ip)
    return _DNS_NAME.fullmatch(address.hostname) is not None and not _is_ip(address.hostname)


def _is_ip(text: str) -> bool:
    """Whether *text* is an IP address, without the zone that Python reads, too."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text
