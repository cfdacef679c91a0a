"""From a backend reference to endpoints, or to the reason why there are none.

A Service port is found by number or name in the Service, and from there *by its
name* in the EndpointSlices, since each slice may give that name another number.
Two questions are answered apart, because they change at different times:

- ``backend_problems``: what is wrong with the reference itself.  That depends on the
  Service alone, and becomes a ``Problem`` of every Ingress that names it.
- ``resolve_backend``: the endpoints as of now, and the settings of connections to them.  A change
  of an EndpointSlice is answered by resolving the references to its Service again, and nothing else.

Every reference gets a state; one without endpoints says why, for the log line of the
503 that the proxy answers with.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ingress.annotations.contract.values import quoted
from ingress.model.cluster.many_ports import ports_like
from ingress.model.cluster.objects import ObjectKey, Service, ServicePort
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise, finished
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint, ManualEndpoint
from ingress.model.upstream.upstream_tls import (
    ByPolicy,
    Datagrams,
    LinkSettings,
    ProtocolAsked,
    ProtocolRefused,
    UpstreamTls,
)
from ingress.translate.claims import INVALID_KIND, SERVICE_KIND, ParsedObject
from ingress.translate.endpoints.endpoint_rules import API_SERVER, OPTION, EndpointRules, Pair
from ingress.translate.endpoints.external_names import external_name_fault
from ingress.translate.endpoints.slices import NOTHING_BEFORE, finding_endpoints, is_address
from ingress.translate.endpoints.upstream_tls import TlsLookup, lookup_in
from ingress.translate.gateway.app_protocols import app_protocol_fault
from ingress.translate.gateway.backend_policies import protocol_by_policy
from ingress.translate.options import TranslateOptions

HTTP2_IN_THE_CLEAR = "kubernetes.io/h2c"
"""The ``appProtocol`` of Service ports that are spoken to by HTTP/2.  All others change nothing, as in
ingress-nginx: they say what a port is about, and not how whoever wrote the Ingress wants it spoken to."""

_HIGHEST_PORT = 65535
_BACKENDS_A_STEP = 200


class _Terms(NamedTuple):
    """The settings of connections to a backend: inside of the cluster, and by external names."""

    ours: LinkSettings | None
    external: LinkSettings


_PLAIN = _Terms(None, LinkSettings(is_external=True))
# Terms that are one object are found equal at once, whenever a connection is looked for.
_HTTP2 = _Terms(LinkSettings(is_http2=True), LinkSettings(is_external=True, is_http2=True))
_FASTCGI = _Terms(LinkSettings(is_fastcgi=True), LinkSettings(is_external=True, is_fastcgi=True))


_SERVICE_AT = "service."
_WHOLE_AT = ("metadata.", "data[")
"""Where the fields begin that are one text, which names all of a backend: annotations, and entries of TCP services."""


@frozen
class BackendFault:
    """What is wrong with a reference; *field* is the part of the backend at fault, as in an Ingress."""

    reason: Reason
    message: str
    field: str = ""


def resolve_backends(
    references: Iterable[BackendReference], state: ClusterState, options: TranslateOptions
) -> dict[BackendReference, BackendState]:
    """Return the present state of each of *references*."""
    lookup = lookup_in(state)
    return {reference: resolve_backend(reference, state, options, lookup) for reference in references}


def backend_problems(
    parsed: ParsedObject, state: ClusterState, options: TranslateOptions
) -> Stepwise[tuple[Problem, ...]]:
    """Tell an object what is wrong with the backends that it names, be they used or not, if requests could get there.

    So with the Service that is kept for it, where that is somebody else's.  Takes some hundred backends a step.
    """
    problems = list(_kept_service_problems(parsed, state))
    if not parsed.needs_backends:
        return tuple(problems)
    faults: dict[BackendReference, BackendFault | None] = {}
    for number, (field, reference) in enumerate(parsed.named_backends(), 1):
        if reference in faults:
            fault = faults[reference]
        else:
            fault = backend_fault(reference, state, options) or _target_port_named(reference, state)
            faults[reference] = fault
        if fault is not None:
            part = fault.field
            if part.startswith(_SERVICE_AT):
                part = parsed.service_at + part.removeprefix(_SERVICE_AT)
            at = f"{field}.{part}" if part and not field.startswith(_WHOLE_AT) else field
            elsewhere = "" if reference.namespace == parsed.owner.key.namespace else reference.namespace
            problems.append(parsed.owner.problem(fault.reason, fault.message, at, elsewhere))
        if not number % _BACKENDS_A_STEP:
            yield
    return tuple(problems)


def _kept_service_problems(parsed: ParsedObject, state: ClusterState) -> Iterator[Problem]:
    key, owner = parsed.kept_service, parsed.owner
    service = None if key is None else state.services.get(key)
    if service is not None and service.gateway != owner.key.name:
        message = f"the Service {service.key.name} is not of {owner}, so it stays as it is"
        yield owner.problem(Reason.SERVICE_CONFLICT, message, "spec.infrastructure")


LOOKED_AT_ONCE: Final = 50
"""Backends that are looked at in one step for what options say of them."""


def default_backend_problems(state: ClusterState, options: TranslateOptions) -> tuple[Problem, ...]:
    """Tell what is wrong with the Service of ``--default-backend-service``."""
    default = options.default_backend_service
    fault = None if default is None else backend_fault(default, state, options)
    if default is None or fault is None:
        return ()
    message = f"--default-backend-service: {fault.message}"
    return (Problem("Service", default.namespace, default.name, fault.reason, message),)


def services_without_endpoints(
    references: Iterable[BackendReference], state: ClusterState, options: TranslateOptions
) -> Stepwise[tuple[ObjectKey, ...]]:
    """Find in steps the Services that the manifests leave without any address to go to.

    Those that ``--endpoint`` would help; empty unless the objects are from manifests.
    """
    found: set[ObjectKey] = set()
    if not options.from_manifests:
        return ()
    for number, one in enumerate(references, 1):
        if one.kind == SERVICE_KIND and _is_unplaced(one, state, options):
            found.add(service_key(one))
        if not number % LOOKED_AT_ONCE:
            yield
    return tuple(sorted(found))


def unused_endpoints(
    references: Iterable[BackendReference], state: ClusterState, options: TranslateOptions
) -> Stepwise[tuple[str, ...]]:
    """Say in steps of each option ``--endpoint`` that gives none of *references* an endpoint why it does not."""
    if not options.manual_endpoints:
        return ()
    used: set[ManualEndpoint] = set()
    named: set[ObjectKey] = set()
    for number, one in enumerate(references, 1):
        if one.kind == SERVICE_KIND:
            named.add(service_key(one))
            if backend_fault(one, state, options) is None:
                used.update(_manual_options(one, port_of(one, state), state, options))
        if not number % LOOKED_AT_ONCE:
            yield
    return tuple(
        f"--endpoint {_shown(manual)} gives no Service an endpoint: {_why_unused(manual, named, state)}"
        for manual in options.manual_endpoints
        if manual not in used
    )


def _shown(manual: ManualEndpoint) -> str:
    port = f":{manual.port}" if manual.port != "" else ""
    return f"{'*' if manual.service is None else manual.service}{port}={manual.endpoint}"


def _why_unused(manual: ManualEndpoint, named: Container[ObjectKey], state: ClusterState) -> str:
    service = manual.service
    if service is not None and service not in named:
        return f"nothing that is served names Service {service}"
    if service is not None and state.slices.get(service):
        return f"the manifests have an EndpointSlice of Service {service}"
    if manual.port != "":
        return f"nothing that is served names port {manual.port} of it"
    return "those that are named have an EndpointSlice, or an --endpoint of their own"


def _is_unplaced(reference: BackendReference, state: ClusterState, options: TranslateOptions) -> bool:
    """Say whether nothing tells where the Service of *reference* runs, so that ``--endpoint`` may."""
    key = service_key(reference)
    service = state.services.get(key)
    if _manual_endpoints(reference, port_of(reference, state), state, options):
        return False
    if service is None:
        return True
    if state.slices.get(key):
        return False
    if service.type == "ExternalName":
        return not options.serves_external_names
    if _port_of(service, reference) is None:
        # Wherever the Service runs, it does not have this port.
        return False
    return not (is_by_ip(reference, options) and is_address(service.cluster_ip))


def is_by_ip(reference: BackendReference, options: TranslateOptions) -> bool:
    """Whether the Service of *reference* is asked as a whole, by its cluster IP, where it has one."""
    return options.service_upstream if reference.by_cluster_ip is None else reference.by_cluster_ip


def service_key(reference: BackendReference) -> ObjectKey:
    """The key of the Service that *reference* names."""
    return ObjectKey(reference.namespace, reference.name)


def port_of(reference: BackendReference, state: ClusterState) -> ServicePort | None:
    """Return the port of its Service that *reference* means; None where there is none such."""
    service = state.services.get(service_key(reference))
    return None if service is None else _port_of(service, reference)


def _port_of(service: Service, reference: BackendReference) -> ServicePort | None:
    """Find the port of *service*, else the one whose ``targetPort`` is named: the API has no such reference, and ingress-nginx serves it."""
    transport = transport_of(reference)
    found = _find_port(service, reference.port, transport)
    # For an HTTPRoute or a GRPCRoute the Service is to have just that port.
    is_strict = isinstance(reference.protocol, ByPolicy)
    if found is None and service.type == "ExternalName" and isinstance(reference.port, int):
        # Such a Service need list no ports.  A number stands for itself, in ingress-nginx for HTTP also beside others.
        stands = not service.ports or (transport == "TCP" and not is_strict)
        return ServicePort("", reference.port, protocol=transport) if stands else None
    if found is not None or is_strict or service.type == "ExternalName":
        return found
    some = ports_like(service.ports, reference.port)
    usable = _usable(some, transport)
    return next((port for port in usable if port.target_port == reference.port), None)


def transport_of(reference: BackendReference) -> str:
    """Return the ``protocol`` of the Service port that *reference* means: a port may be there for both under one number."""
    return "UDP" if isinstance(reference.protocol, Datagrams) else "TCP"


def _usable(ports: Iterable[ServicePort], transport: str) -> Iterator[ServicePort]:
    return (port for port in ports if port.protocol == transport and 0 < port.number <= _HIGHEST_PORT)


def _find_port(service: Service, wanted: int | str, transport: str) -> ServicePort | None:
    """Find the port of *service* for *transport* by number or name; the first one when *wanted* is empty."""
    for port in _usable(service.ports if wanted == "" else ports_like(service.ports, wanted), transport):
        if wanted == "" or wanted in (port.number, port.name):
            return port
    return None


def backend_fault(
    reference: BackendReference, state: ClusterState, options: TranslateOptions
) -> BackendFault | None:
    """Return what is wrong with *reference* when it can lead nowhere as things are.

    Lacking endpoints is no fault of a reference: pods come and go.
    """
    if reference.kind == INVALID_KIND:
        # Whoever made this reference has reported why, with more detail.
        return None
    if reference.kind != SERVICE_KIND:
        what = quoted(reference.kind)
        message = f"backends of kind {what} are not implemented; the path answers 503"
        return BackendFault(Reason.RESOURCE_BACKEND, message, "resource")
    key = service_key(reference)
    service = state.services.get(key)
    if service is None:
        if _manual_endpoints(reference, None, state, options):
            return None
        return BackendFault(Reason.SERVICE_NOT_FOUND, _missing(key, options), "service.name")
    if service.type == "ExternalName":
        return _external_name_fault(reference, service, state, options)
    port = _port_of(service, reference)
    if port is None:
        return BackendFault(Reason.SERVICE_PORT_NOT_FOUND, _missing_port(service, reference), "service.port")
    unspoken = _unspoken(reference, port, state)
    return BackendFault(Reason.UNSUPPORTED_PROTOCOL, unspoken, "service.port") if unspoken else None


def _unspoken(reference: BackendReference, port: ServicePort | None, state: ClusterState) -> str:
    """Say why a route of a Gateway cannot speak to *port* as its Service wants it; empty where it can."""
    if not isinstance(reference.protocol, ByPolicy):
        return ""
    protocol = protocol_of(reference, port, state)
    has_tls = not isinstance(protocol, ProtocolAsked) or protocol.tls is not None
    fault = app_protocol_fault(port, is_grpc=reference.protocol.is_http2, has_tls=has_tls)
    return f"Service {service_key(reference)} {fault}" if fault else ""


def _external_name_fault(
    reference: BackendReference, service: Service, state: ClusterState, options: TranslateOptions
) -> BackendFault | None:
    if _manual_endpoints(reference, port_of(reference, state), state, options):
        return None
    if not options.serves_external_names:
        is_disabled = options.disable_external_name
        what = (
            ", which --disable-svc-external-name forbids"
            if is_disabled
            else "; allow these with --allow-external-name"
        )
        message = f"Service {service.key} is of type ExternalName{what}"
        return BackendFault(Reason.EXTERNAL_NAME_FORBIDDEN, message, "service.name")
    fault = external_name_fault(service.external_name)
    if fault is not None:
        message = f"Service {service.key}: externalName {quoted(service.external_name)} {fault}"
        return BackendFault(Reason.EXTERNAL_NAME_FORBIDDEN, message, "service.name")
    if _port_of(service, reference) is None:
        return BackendFault(Reason.SERVICE_PORT_NOT_FOUND, _missing_port(service, reference), "service.port")
    return None


def _target_port_named(reference: BackendReference, state: ClusterState) -> BackendFault | None:
    """Tell where *reference*, which leads somewhere, names the ``targetPort`` of a port."""
    port = port_of(reference, state)
    if port is None or reference.port in ("", port.number, port.name):
        return None
    wanted = _shown_port(reference.port)
    message = f"Service {service_key(reference)} has no port {wanted}, which is the targetPort of its port {port}; it is served as that port"
    return BackendFault(Reason.TARGET_PORT_NAMED, message, "service.port")


def _missing(key: ObjectKey, options: TranslateOptions) -> str:
    if options.from_manifests:
        return f"Service {key} is not in the manifests{_hint(key, options, 'correct the name, or ')}"
    return f"there is no Service {key}"


def _hint(key: ObjectKey, options: TranslateOptions, first: str = "") -> str:
    return f"; {first}start with --endpoint {key}=HOST:PORT" if options.names_endpoint_option else ""


def _shown_port(wanted: int | str) -> str:
    return quoted(wanted) if isinstance(wanted, str) else str(wanted)


def _missing_port(service: Service, reference: BackendReference) -> str:
    wanted, transport = reference.port, transport_of(reference)
    shown = _shown_port(wanted)
    if any(wanted in (port.number, port.name) for port in ports_like(service.ports, wanted)):
        return f"port {shown} of Service {service.key} is not a {transport} port"
    has = ", ".join(map(str, service.ports[:8])) or "no ports"
    return f"Service {service.key} has no port {shown}; it has {has}"


def resolve_backend(
    reference: BackendReference, state: ClusterState, options: TranslateOptions, lookup: TlsLookup
) -> BackendState:
    """Return the present state of *reference*; *lookup* completes what it requests of TLS."""
    return finished(resolving_backend(reference, state, options, lookup))


def resolving_backend(
    reference: BackendReference,
    state: ClusterState,
    options: TranslateOptions,
    lookup: TlsLookup,
    before: BackendState = NOTHING_BEFORE,
) -> Stepwise[BackendState]:
    """Find the same in steps, where there are many endpoints; all of it as *state* is at the first one."""
    port = port_of(reference, state)
    protocol = protocol_of(reference, port, state)
    if isinstance(protocol, ProtocolRefused):
        return BackendState(reason=protocol.why)
    if unspoken := _unspoken(reference, port, state):
        return BackendState(reason=unspoken, is_broken=True)
    tls: UpstreamTls | None = None
    if isinstance(reference.protocol, Datagrams):
        return (yield from _resolving(reference, port, state, options, _PLAIN, before))
    if protocol is None:
        is_http2 = _is_http2(port)
    else:
        is_http2 = protocol.is_http2
        if protocol.tls is not None:
            completed = lookup(protocol.tls)
            if not isinstance(completed, UpstreamTls):
                return BackendState(reason=completed.message)
            tls = completed
    if tls is not None:
        terms = _Terms(LinkSettings(tls, False, is_http2), LinkSettings(tls, True, is_http2))
    elif protocol is not None and protocol.is_fastcgi:
        terms = _FASTCGI
    else:
        terms = _HTTP2 if is_http2 else _PLAIN
    return (yield from _resolving(reference, port, state, options, terms, before))


def protocol_of(
    reference: BackendReference, port: ServicePort | None, state: ClusterState
) -> ProtocolAsked | ProtocolRefused | None:
    """Return how *reference*, which means *port*, is spoken to; None: as its Service says."""
    protocol = reference.protocol
    if isinstance(protocol, Datagrams):
        return None
    if not isinstance(protocol, ByPolicy):
        return protocol
    is_http2 = protocol.is_http2 or _is_http2(port)
    return protocol_by_policy(protocol, service_key(reference), port, state, is_http2=is_http2)


def _is_http2(port: ServicePort | None) -> bool:
    """Whether a Service says of *port* that it speaks HTTP/2."""
    return port is not None and port.app_protocol == HTTP2_IN_THE_CLEAR


def _resolving(
    reference: BackendReference,
    port: ServicePort | None,
    state: ClusterState,
    options: TranslateOptions,
    terms: _Terms,
    before: BackendState,
) -> Stepwise[BackendState]:
    if reference.kind == INVALID_KIND:
        return BackendState(reason="no usable backend is named", is_broken=True)
    key = service_key(reference)
    service = state.services.get(key)
    is_usual = reference.kind == SERVICE_KIND and not options.from_manifests
    if is_usual and service is not None and port is not None and service.type != "ExternalName":
        return (yield from _in_cluster(reference, service, port, state, options, terms, before))
    fault = backend_fault(reference, state, options)
    if fault is not None:
        if fault.reason is Reason.SERVICE_NOT_FOUND and options.from_manifests:
            return BackendState(reason=_no_slice(key, options), is_broken=True)
        return BackendState(reason=fault.message, is_broken=True)
    manual = _manual_endpoints(reference, port, state, options)
    if manual:
        return BackendState(tuple([one._replace(link_settings=terms.ours) for one in manual]))
    # The absence of either is a fault, unless there are manual endpoints.
    assert service is not None and port is not None
    if service.type == "ExternalName":
        name = service.external_name.lower().removesuffix(".")
        return BackendState((Endpoint(name, port.target_number or port.number, terms.external),))
    return (yield from _in_cluster(reference, service, port, state, options, terms, before))


def _in_cluster(
    reference: BackendReference,
    service: Service,
    port: ServicePort,
    state: ClusterState,
    options: TranslateOptions,
    terms: _Terms,
    before: BackendState,
) -> Stepwise[BackendState]:
    """Find where *port* of *service*, which has nothing strange about it, leads."""
    key = service.key
    rules = options.endpoint_rules.over(port.protocol)
    # The way to the API server that the cluster has for everybody.
    api_servers = () if key == API_SERVER or port.protocol == "UDP" else rules.api_servers(state)
    if is_by_ip(reference, options) and is_address(service.cluster_ip):
        return _by_cluster_ip(
            service, Endpoint(service.cluster_ip, port.number, terms.ours), rules, api_servers
        )
    slices = state.slices.get(key, ())
    if not slices:
        return BackendState(reason=_no_slice(key, options))
    return (
        yield from finding_endpoints(
            service, port, slices, rules, api_servers, options.locality, terms.ours, before
        )
    )


def _by_cluster_ip(
    service: Service, endpoint: Endpoint, rules: EndpointRules, api_servers: Collection[Pair]
) -> BackendState:
    fault = rules.fault(endpoint.address, endpoint.port, api_servers)
    if fault is None:
        return BackendState((endpoint,))
    message = f"no request for it goes to {endpoint}, which {fault}; {OPTION} is for exceptions"
    key = service.key
    problem = Problem(
        "Service", key.namespace, key.name, Reason.ENDPOINT_FORBIDDEN, message, "spec.clusterIP"
    )
    return BackendState(
        reason=f"the cluster IP of Service {key} may not be connected to", problems=(problem,)
    )


def _no_slice(key: ObjectKey, options: TranslateOptions) -> str:
    if options.from_manifests:
        return f"no EndpointSlice for {key} in the manifests{_hint(key, options)}"
    return f"Service {key} has no EndpointSlice"


def _manual_endpoints(
    reference: BackendReference,
    port: ServicePort | None,
    state: ClusterState,
    options: TranslateOptions,
) -> tuple[Endpoint, ...]:
    """Return what ``--endpoint`` gives for *reference*; equally specific options add up."""
    return tuple(sorted({manual.endpoint for manual in _manual_options(reference, port, state, options)}))


def _manual_options(
    reference: BackendReference,
    port: ServicePort | None,
    state: ClusterState,
    options: TranslateOptions,
) -> Sequence[ManualEndpoint]:
    """Return the options ``--endpoint`` that give the endpoints of *reference*, the most specific ones.

    It counts only where the manifests leave a Service without EndpointSlices, or leave
    the Service out.  The order is: this Service and port, this Service, any Service and
    this port, any Service.  Equally specific options add up.
    """
    if not options.from_manifests:
        return ()
    key = service_key(reference)
    if key in state.services and state.slices.get(key):
        return ()
    names = (reference.port,) if port is None else (reference.port, port.number, port.name)
    best: Sequence[ManualEndpoint] = ()
    best_rank = (False, False)
    for manual in options.manual_endpoints:
        if manual.service not in (None, key) or (manual.port != "" and manual.port not in names):
            continue
        rank = (manual.service is not None, manual.port != "")
        if not best or rank > best_rank:
            best, best_rank = [manual], rank
        elif rank == best_rank:
            best = [*best, manual]
    return best
