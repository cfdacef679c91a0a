"""The explanation of a stream: where a connection, or a datagram of UDP, leads of which no request is read.

The listeners of a snapshot say whether anybody is at the port; their tables say where it leads, and of several with a server name
the more specific host, as in ``ingress.proxy.dispatch``.  It comes in steps, as the explanation of a request does.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import evolve

from ingress.explain.asked_request import AskedStream
from ingress.explain.backends import Backends, waits_of
from ingress.explain.explanation import AskedRequest, BackendSeen, End, Explanation, Outcome, RouteSeen
from ingress.explain.handshakes import handshake_for, server_name_of, why_refused
from ingress.explain.outcomes import NOT_KNOWN, closed, led
from ingress.explain.routes import concerned, problems_by_object, problems_seen
from ingress.explain.served import Served
from ingress.explain.tables import served_by_table
from ingress.model.cluster.objects import Kind, ObjectId
from ingress.model.cluster.problems import Problem
from ingress.model.network.listeners import Listener, interface_of, port_of, udp_port_of
from ingress.model.network.streams import StreamSort
from ingress.model.stepwise import Stepwise
from ingress.routing.side_by_side import how_specific
from ingress.routing.streams import StreamRoute
from ingress.routing.variants import WeightedBackend
from ingress.translate.gateway.claims import is_of_gateways
from ingress.translate.snapshot import ListenerTable, Snapshot
from ingress.wording import first_of

_SHOWN_PORTS: Final = 8


def explaining_stream(asked: AskedStream, served: Served) -> Stepwise[Explanation]:
    """Find in steps what *served* does with *asked*."""
    url, snapshot = asked.url, served.snapshot
    request = AskedRequest(str(url), "", (), asked.client, asked.client, url.host, "", url.notes)
    start = Explanation(request, NOT_KNOWN)
    listeners = tuple(_listeners(asked, snapshot))
    found = _stream_of(asked, snapshot, listeners)
    problems = _of_port(url.port, (yield from problems_by_object(snapshot)))
    if found is None:
        outcome = Outcome(End.REFUSED, _why_nobody(asked, snapshot, listeners), False)
        of_config_maps = (one for one in problems if one[0] is Kind.CONFIG_MAP)
        seen, more = yield from problems_seen(of_config_maps, problems, "", served.objects)
        return evolve(start, outcome=outcome, problems=seen, more_problems=more)
    table, stream = found
    if stream.sort is StreamSort.TERMINATED:
        handshake = handshake_for(server_name_of(url.host), served_by_table(snapshot, table), served.now)
        start = evolve(start, handshake=handshake)
        if handshake.is_refused:
            return evolve(start, outcome=closed(why_refused(served_by_table(snapshot, table))))
    leads = tuple(_leads(stream, Backends(snapshot.backends, served.objects)))
    start = evolve(
        start,
        outcome=led(stream, leads),
        route=_route_seen(stream),
        backends=leads,
        settings=tuple(_settings(stream, any(one.reads_header for one in listeners))),
    )
    objects = concerned(start, stream.owner, stream.backends, served.objects)
    seen, more = yield from problems_seen(objects, problems, "", served.objects)
    return evolve(start, problems=seen, more_problems=more)


# Who is there


def _listeners(asked: AskedStream, snapshot: Snapshot) -> Iterator[Listener]:
    """Yield the listeners at the port: those at the address that is asked for, if there are any, else all."""
    is_udp = asked.url.scheme == "udp"
    found = [one for one in snapshot.listeners if one.is_udp is is_udp and _port_of(one) == asked.url.port]
    address = asked.url.host.removeprefix("[").removesuffix("]")
    yield from [one for one in found if address and interface_of(one.description) == address] or found


def _port_of(listener: Listener) -> int | None:
    return udp_port_of(listener.description) if listener.is_udp else port_of(listener.description)


def _stream_of(
    asked: AskedStream, snapshot: Snapshot, listeners: tuple[Listener, ...]
) -> tuple[str, StreamRoute] | None:
    """Return the stream that takes it, with the name of its table; None where nobody listens for one."""
    tables = dict(snapshot.tables())
    for one in listeners:
        stream = tables[one.table].streams.get("") if _takes_any(one) else None
        if stream is not None:
            return one.table, stream
    if asked.url.scheme != "tls" or not any(one.is_secure for one in listeners):
        return None
    names = [one.table for one in listeners if one.is_secure]
    # Those of Gateways without addresses of their own, which share the sockets of the command line.
    names += sorted(name for name in tables if is_of_gateways(name) and name.endswith(f":{asked.url.port}"))
    server_name = (server_name_of(asked.url.host) or "").lower().encode("ascii", "replace")
    name = max(dict.fromkeys(names), key=lambda one: _says(tables[one], server_name))
    stream = _named(tables[name], server_name)
    return None if stream is None else (name, stream)


def _takes_any(listener: Listener) -> bool:
    """Whether *listener* takes whatever comes, without a look at it."""
    return listener.is_udp or (listener.is_stream and not listener.is_secure)


def _says(table: ListenerTable, server_name: bytes) -> tuple[bool, int]:
    hosts = table.routes.host_of(server_name), table.streams.host_of(server_name)
    return max(map(how_specific, hosts))


def _named(table: ListenerTable, server_name: bytes) -> StreamRoute | None:
    """Return where *table* has TLS for *server_name* lead; None where requests are read of it."""
    if table.streams.has_names:
        return table.streams.find(server_name)
    route = table.routes.passing(server_name) if server_name else None
    if route is None or route.passthrough is None:
        return None
    lead = (WeightedBackend(route.passthrough),)
    return StreamRoute(route.host, StreamSort.PASSTHROUGH, route.owner, lead, route.path, route.timeouts)


def _why_nobody(asked: AskedStream, snapshot: Snapshot, listeners: tuple[Listener, ...]) -> str:
    """Say why it is no stream, and what helps."""
    url = asked.url
    if any(one.is_secure for one in listeners):
        if url.scheme == "tcp":
            return f"port {url.port} speaks TLS; ask for tls://{url.host or 'HOST'}:{url.port}"
        return f"no stream for this server name: requests are served; ask for https://{url.host}:{url.port}"
    if listeners:
        return (
            f"port {url.port} serves requests and no streams; ask for http://{url.host or 'HOST'}:{url.port}"
        )
    protocol = "UDP" if url.scheme == "udp" else "TCP"
    is_udp = url.scheme == "udp"
    ports = {_port_of(one) for one in snapshot.listeners if one.is_udp is is_udp}
    others = first_of([str(port) for port in sorted(port for port in ports if port)], _SHOWN_PORTS)
    there = f"; ports that are open for {protocol}: {others}" if others else ""
    return f"nothing listens on port {url.port} of {protocol}{there}"


# Where it leads


def _leads(stream: StreamRoute, backends: Backends) -> Iterator[BackendSeen]:
    total = sum(one.weight for one in stream.weighted)
    protocol = "UDP" if stream.sort is StreamSort.UDP else "TCP"
    for one in stream.weighted:
        seen = backends.seen(one.backend, 100 * one.weight / total)
        yield evolve(seen, protocol=protocol) if seen.endpoints else seen


def _route_seen(stream: StreamRoute) -> RouteSeen:
    owner, sort = stream.owner, stream.sort.value
    if owner is None:
        return RouteSeen(stream.host, stream.path, sort, "", "", "")
    key = owner.key
    return RouteSeen(
        stream.host, stream.path, sort, str(owner.kind), key.namespace, key.name, "", owner.created
    )


def _settings(stream: StreamRoute, reads_header: bool) -> Iterator[str]:
    if reads_header:
        yield "each connection begins with a PROXY header, which says who the client is"
    if stream.sends_header:
        yield "the endpoint gets a PROXY header before anything else"
    if stream.timeouts is not None:
        yield from waits_of(stream.timeouts)
    if not stream.is_logged:
        yield "it has no line in the access log"


def _of_port(port: int, problems: Mapping[ObjectId, set[Problem]]) -> dict[ObjectId, set[Problem]]:
    """Return *problems* without those of other entries of ConfigMaps, which list a port each."""
    field = f"data[{port}]"
    return {
        key: {one for one in found if key[0] is not Kind.CONFIG_MAP or one.field in ("", field)}
        for key, found in problems.items()
    }
