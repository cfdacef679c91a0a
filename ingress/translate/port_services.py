"""What the operator's port services ask for: a listener and a table for each port, and where its streams lead."""

from collections.abc import Iterator, Sequence

from ingress.annotations.annotations import DEFAULTS
from ingress.model.cluster.objects import Owner
from ingress.model.cluster.port_services import PortService, PortServices
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.network.listeners import (
    Listener,
    interface_of,
    likes_of,
    port_of,
    tcp_description,
    udp_description,
)
from ingress.model.network.streams import StreamSort
from ingress.model.upstream.backends import BackendReference
from ingress.model.upstream.upstream_tls import DATAGRAMS
from ingress.routing.variants import WeightedBackend
from ingress.translate.claims import AskedListener, ParsedObject
from ingress.translate.gateway.claims import TCP_PREFIX, UDP_PREFIX, GatewayClaims, StreamClaim, StreamLead
from ingress.translate.options import TranslateOptions


def parse_port_services(options: TranslateOptions) -> tuple[ParsedObject, ...]:
    """Return what the ConfigMaps of *options* ask for, each once, be it named for TCP and for UDP."""
    by_owner: dict[Owner, list[PortServices]] = {}
    for one in options.port_services:
        by_owner.setdefault(one.owner, []).append(one)
    return tuple(_parse(owner, tuple(listed), options) for owner, listed in by_owner.items())


def _parse(owner: Owner, listed: tuple[PortServices, ...], options: TranslateOptions) -> ParsedObject:
    taken = dict(_taken(options))
    likes = likes_of(options.listeners, secure=False)
    listeners: list[AskedListener] = []
    streams: list[StreamClaim] = []
    problems: list[Problem] = []
    for found in listed:
        problems.extend(found.problems)
        for one in found.services:
            whose = None if found.is_udp else taken.get(one.port)
            if whose is not None:
                message = f"port {one.port} is {whose}; nothing is served there for this entry"
                problems.append(owner.problem(Reason.LISTENER_CONFLICT, message, one.field))
                continue
            some, stream = _asked_of_udp(one, likes) if found.is_udp else _asked(one, likes)
            listeners += some
            streams.append(stream)
    return ParsedObject(
        owner,
        listed,
        (),
        (),
        None,
        DEFAULTS,
        tuple(dict.fromkeys(problems)),
        rules_field="data",
        service_at="",
        tables=tuple(one.table for one in streams),
        listeners=tuple(listeners),
        gateway=GatewayClaims(streams=tuple(streams)),
    )


def _taken(options: TranslateOptions) -> Iterator[tuple[int, str]]:
    """Yield the ports of TCP that this process has for something else, and for what."""
    for listener in options.listeners:
        port = port_of(listener.description)
        if port is not None:
            yield port, f"there for {'HTTPS' if listener.is_secure else 'HTTP'}"
    for port in options.gateway.own_ports:
        yield port, "that of the controller's own pages"


_Asked = tuple[list[AskedListener], StreamClaim]


def _asked(service: PortService, likes: Sequence[str]) -> _Asked:
    table = f"{TCP_PREFIX}{service.port}"
    listeners = [
        Listener(
            tcp_description(service.port, interface_of(like), like),
            table=table,
            is_stream=True,
            reads_header=service.reads_header,
        )
        for like in likes
    ]
    backend = BackendReference(service.service.namespace, service.service.name, service.service_port)
    lead = StreamLead(
        service.field,
        (WeightedBackend(backend),),
        ((service.field, backend),),
        sends_header=service.sends_header,
    )
    asked = [AskedListener(one, service.field) for one in listeners]
    return asked, StreamClaim(table, "", StreamSort.TCP, service.field, lead)


def _asked_of_udp(service: PortService, likes: Sequence[str]) -> _Asked:
    table = f"{UDP_PREFIX}{service.port}"
    listeners = [
        Listener(udp_description(service.port, interface_of(like), like), table=table, is_udp=True)
        for like in likes
    ]
    key = service.service
    backend = BackendReference(key.namespace, key.name, service.service_port, protocol=DATAGRAMS)
    lead = StreamLead(service.field, (WeightedBackend(backend),), ((service.field, backend),))
    asked = [AskedListener(one, service.field) for one in listeners]
    return asked, StreamClaim(table, "", StreamSort.UDP, service.field, lead)
