"""Listeners: which hosts there are, by what protocol, and with which certificate.

A host with a certificate has a listener of its own.  In the clear one listener is for all hosts, but for those that a
wildcard or a rule without host must not get what they have no path for: these have one each, since a request belongs to
the listener that names its host best, and to the routes of that one alone.

A Gateway has 64 listeners at most, so there may be several.

Source: ``Listener``, ``ListenerTLSConfig``.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import Factory, define

from ingress.ctl.gateway.rendering_values import API_VERSION, GatewayOptions, Json, meta
from ingress.model.cluster.objects import ObjectKey
from ingress.model.frozen import frozen

MOST_LISTENERS: Final = 64
HTTP: Final = "http"
HTTPS: Final = "https"
TLS: Final = "tls"
_match_hostname = re.compile(
    r"(?:\*\.)?[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
).fullmatch


@frozen
class HostOfTable:
    """A host of the route table, and what is to listen for it."""

    host: str
    """As the table has it; empty for all."""
    certificates: Mapping[str, ObjectKey]
    """The Secrets by the host that they are shown for: its own, and those that only ``tls`` of Ingresses name; empty for all."""
    namespaces: frozenset[str]
    """Who has routes for it."""
    is_isolated: bool = False
    passes: bool = False
    """Whether its TLS goes to an endpoint as it is."""


@frozen
class Section:
    """A listener of one of the Gateways."""

    gateway: str
    name: str


@define
class _Gateway:
    name: str
    listeners: list[Json] = Factory(list)


class Listening:
    """All listeners, and by scheme and host of the table those that its routes are for."""

    def __init__(self, options: GatewayOptions, hosts: Iterable[HostOfTable]) -> None:
        self._options = options
        self._gateways: list[_Gateway] = []
        self._sections: dict[tuple[str, str], list[Section]] = {}
        self._names: set[str] = set()
        for host in hosts:
            self._add(host)

    def sections(self, scheme: str, host: str) -> tuple[Section, ...]:
        """Return the listeners for *host* of the table by *scheme*: ``http``, ``https`` or ``tls``."""
        return tuple(self._sections.get((scheme, host), ()))

    def gateways(self) -> list[Json]:
        """Return the Gateways."""
        return [
            {
                "apiVersion": API_VERSION,
                "kind": "Gateway",
                "metadata": meta(one.name, self._options.gateway.namespace),
                "spec": {"gatewayClassName": self._options.gateway_class, "listeners": one.listeners},
            }
            for one in self._gateways
        ]

    def _add(self, host: HostOfTable) -> None:
        if host.passes:
            listener = self._listener(TLS, host.host, host.namespaces)
            listener["tls"] = {"mode": "Passthrough"}
            self._put(TLS, host, listener)
        secured = {} if host.passes else host.certificates
        for shown, secret in sorted(secured.items()):
            listener = self._listener(HTTPS, shown, host.namespaces)
            reference: Json = {"kind": "Secret", "name": secret.name}
            if secret.namespace != self._options.gateway.namespace:
                reference["namespace"] = secret.namespace
            listener["tls"] = {"mode": "Terminate", "certificateRefs": [reference]}
            self._put(HTTPS, host, listener)
        if host.is_isolated:
            self._put(HTTP, host, self._listener(HTTP, host.host, host.namespaces))
        else:
            self._share(host)

    def _share(self, host: HostOfTable) -> None:
        """Let *host* be served by the listener in the clear of each Gateway that it has others at."""
        known = [*self._sections.get((HTTPS, host.host), ()), *self._sections.get((TLS, host.host), ())]
        names = list(dict.fromkeys(one.gateway for one in known)) or [self._with_room(0).name]
        self._sections[HTTP, host.host] = [Section(name, HTTP) for name in names]

    def _put(self, scheme: str, host: HostOfTable, listener: Json) -> None:
        gateway = self._with_room(1)
        gateway.listeners.append(listener)
        self._sections.setdefault((scheme, host.host), []).append(Section(gateway.name, listener["name"]))

    def _with_room(self, needed: int) -> _Gateway:
        """Return a Gateway that has room for so many listeners more."""
        if not self._gateways or len(self._gateways[-1].listeners) + needed > MOST_LISTENERS:
            base = self._options.gateway.name
            name = base if not self._gateways else f"{base}-{len(self._gateways) + 1}"
            shared: Json = {"name": HTTP, "port": 80, "protocol": "HTTP"}
            shared["allowedRoutes"] = {"namespaces": {"from": "All"}}
            self._gateways.append(_Gateway(name, [shared]))
        return self._gateways[-1]

    def _listener(self, scheme: str, host: str, namespaces: frozenset[str]) -> Json:
        listener: Json = {"name": self._name(scheme, host), "port": 80 if scheme == HTTP else 443}
        listener["protocol"] = scheme.upper()
        if host:
            listener["hostname"] = host
        listener["allowedRoutes"] = {"namespaces": _allowed(namespaces)}
        return listener

    def _name(self, scheme: str, host: str) -> str:
        base = f"{scheme}-{slug(host)}"[:240]
        name, number = base, 1
        while name in self._names:
            number += 1
            name = f"{base}-{number}"
        self._names.add(name)
        return name


def slug(host: str) -> str:
    """Return *host* as a part of a name."""
    return host.replace("*", "wildcard").replace(".", "-") or "all-hosts"


def is_hostname(host: str) -> bool:
    """Whether a listener can name *host* (``Hostname``)."""
    return len(host) <= 253 and _match_hostname(host) is not None


def _allowed(namespaces: frozenset[str]) -> Json:
    """Let in routes of *namespaces* alone: whose a host is has been decided."""
    requirement = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": sorted(namespaces)}
    return {"from": "Selector", "selector": {"matchExpressions": [requirement]}}
