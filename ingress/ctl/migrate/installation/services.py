"""What a Service of this controller gets of one that leads to ingress-nginx.  Pure.

Addresses, numbers of ports on nodes, and names of balancers can be one Service's only: they wait until the other one is gone.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from ingress.ctl.inputs.ingress_nginx.installation import OUTSIDE, Installation, is_for_requests, port_numbers
from ingress.ctl.inputs.ingress_nginx.raw_values import name_of, object_in, objects_in, texts_in
from ingress.ctl.migrate.installation.annotations import ONE_ONLY, annotation_fate
from ingress.ctl.migrate.installation.carried import Carried, Carrying, Fate, member
from ingress.ctl.migrate.installation.metadata import purposeful_labels
from ingress.ctl.migrate.installation.overlays import LOAD_BALANCER, NODE_PORT, OWN_LABELS, OWN_NAME, Overlay
from ingress.ctl.migrate.installation.traffic import Traffic
from ingress.object_fields import RawObject

_SAME: Final = ("loadBalancerClass", "loadBalancerSourceRanges", "trafficDistribution")
"""Fields that mean the same in any Service."""
_USUAL: Final[Mapping[str, object]] = {
    "sessionAffinity": "None",
    "internalTrafficPolicy": "Cluster",
    "allocateLoadBalancerNodePorts": True,
    "publishNotReadyAddresses": False,
    "ipFamilyPolicy": "SingleStack",
}
"""The same, with what the API gives them where nobody says anything."""
_STANDARD: Final = (
    {"name": "http", "port": 80, "targetPort": "http"},
    {"name": "https", "port": 443, "targetPort": "https"},
)
_LONGEST_NAME: Final = 60
"""Of a Service, with room for a number."""
_RESERVED: Final = f"{OWN_NAME}-admission"
"""The Service of the component of that name."""
_HTTPS: Final = 443
_TCP: Final = "TCP"
_PROXIED: Final = (_TCP, "UDP")
_FOR_GOOD: Final = "the API server gives it to each Service for good"
_POLICY: Final = "externalTrafficPolicy"
_TLS_ENDS_BEFORE: Final = (
    "; where a load balancer ends TLS, let it send the PROXY protocol, and port 80 lead to http (docs/tls.md)"
)


def service_carried(found: Installation, service: RawObject, overlay: Overlay, traffic: Traffic) -> Carried:
    """Return what is carried over from *service*; *traffic* is what ingress-nginx listens at in its container.

    Without an *overlay* that has a Service, or for a further one, all of it is to be put on ``bare_service``.
    """
    carrying = Carrying(f"Service {found.workload.key.namespace}/{name_of(service)}")
    metadata, spec = object_in(service, "metadata"), object_in(service, "spec")
    is_new = not overlay.service_type or service is not found.services[0]
    _take_annotations(carrying, texts_in(metadata, "annotations"), set(_ports_on_nodes(spec)))
    selecting = object_in(spec, "selector")
    for name, value in purposeful_labels(texts_in(metadata, "labels"), selecting).items():
        carrying.take(f"label {name}", member("metadata", "labels", name), value)
    _take_reach(carrying, spec, "" if is_new else overlay.service_type)
    is_written = not metadata.get("uid")
    own_ports = list(_own_ports(carrying, found, spec, traffic, is_written=is_written))
    # Those of nodes that the overlay has may be those of ingress-nginx.
    if is_new or overlay is NODE_PORT or tuple(own_ports) != _STANDARD:
        carrying.take("ports", "/spec/ports", own_ports)
    for name in _SAME:
        if spec.get(name):
            carrying.take(name, f"/spec/{name}", spec[name])
    for name, usual in _USUAL.items():
        if name in spec and spec[name] is not None and spec[name] != usual:
            carrying.take(name, f"/spec/{name}", spec[name])
    if spec.get("sessionAffinity") == "ClientIP" and spec.get("sessionAffinityConfig"):
        carrying.take("sessionAffinityConfig", "/spec/sessionAffinityConfig", spec["sessionAffinityConfig"])
    if spec.get("ipFamilies") not in (None, ["IPv4"]):
        carrying.take("ipFamilies", "/spec/ipFamilies", spec["ipFamilies"])
    if spec.get("loadBalancerIP"):
        carrying.wait("loadBalancerIP", "/spec/loadBalancerIP", spec["loadBalancerIP"], ONE_ONLY)
    for name in ("clusterIP", "healthCheckNodePort"):
        # What the API server itself has given is no wish of anybody's.
        if is_written and spec.get(name):
            carrying.leave(name, _FOR_GOOD)
    return carrying.carried()


def _take_reach(carrying: Carrying, spec: RawObject, usual_type: str) -> None:
    """Take over from where a Service is reached, of which the API has what goes together; *usual_type* is that of ours."""
    found_type = spec.get("type")
    own_type = found_type if found_type in OUTSIDE else "ClusterIP"
    policy, external = spec.get(_POLICY), spec.get("externalIPs")
    if own_type != usual_type:
        carrying.take("type", "/spec/type", own_type)
    if own_type not in OUTSIDE:
        if usual_type:
            carrying.change(f"/spec/{_POLICY}", None)
    elif policy:
        carrying.take(_POLICY, f"/spec/{_POLICY}", policy)
    elif usual_type == LOAD_BALANCER.service_type:
        carrying.take(_POLICY, f"/spec/{_POLICY}", "Cluster", "where nothing is said, the API has it so")
    if external:
        carrying.wait("externalIPs", "/spec/externalIPs", external, ONE_ONLY)
        if policy and own_type not in OUTSIDE:
            carrying.wait(_POLICY, f"/spec/{_POLICY}", policy, "it goes with externalIPs")


def bare_service(name: str) -> RawObject:
    """Return a Service of this controller with nothing but its *name* and a selector."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": OWN_NAME, "labels": dict(OWN_LABELS)},
        "spec": {"selector": dict(OWN_LABELS)},
    }


def own_names(services: Sequence[RawObject]) -> list[str]:
    """Return what this controller's Services are called in the place of *services*: each like that one, and no two alike."""
    names: list[str] = []
    for one in services:
        ending = name_of(one).removeprefix(name_of(services[0])) if names else ""
        letters = re.sub("[^a-z0-9]+", "-", ending.lower()).strip("-")
        name = f"{OWN_NAME}-{letters}"[:_LONGEST_NAME].rstrip("-")
        if name in names or name == _RESERVED:
            name = f"{name}-{len(names)}"
        names.append(name)
    return names


def _take_annotations(
    carrying: Carrying, annotations: Mapping[str, str], ports_on_nodes: Collection[int]
) -> None:
    taken: dict[str, str] = {}
    waiting = False
    for name, value in sorted(annotations.items()):
        becomes = annotation_fate(name, value, ports_on_nodes)
        if becomes is None:
            continue
        fate, why = becomes
        field = f"annotation {name}"
        match fate:
            case Fate.TAKEN:
                taken[name] = value
                carrying.say_taken(field, why)
            case Fate.LATER:
                carrying.wait(field, member("metadata", "annotations", name), value, why)
                waiting = True
            case Fate.LEFT:
                carrying.leave(field, why)
    if taken or waiting:
        # Also an empty one, since each change of an annotation is one of its members.
        carrying.change("/metadata/annotations", taken)


def _ports_on_nodes(spec: RawObject) -> Iterator[int]:
    for number in (
        spec.get("healthCheckNodePort"),
        *(one.get("nodePort") for one in objects_in(spec, "ports")),
    ):
        if isinstance(number, int) and number:
            yield number


def _own_ports(
    carrying: Carrying, found: Installation, spec: RawObject, traffic: Traffic, *, is_written: bool
) -> Iterator[dict[str, Any]]:
    """Yield the ports that lead to what is served here.

    Numbers on nodes are somebody's wish where the Service is of that type, or as it *is_written*: else the API server gave them.
    """
    numbers = port_numbers(found.workload)
    ports = [one for one in objects_in(spec, "ports") if is_for_requests(one, found.workload)]
    targets = [_target(one, numbers) for one in ports]
    ends_before = any(
        one.get("port") == _HTTPS and number is not None and traffic.name_of(number) == "http"
        for one, number in zip(ports, targets, strict=True)
    )
    place = 0
    for one, number in zip(ports, targets, strict=True):
        name = str(one.get("name") or f"port-{one.get('port')}")
        missing = _why_missing(one, number, traffic)
        if missing or number is None:
            carrying.leave(f"port {name}", f"{missing}{_TLS_ENDS_BEFORE if ends_before else ''}")
            continue
        own: dict[str, Any] = {"name": name, "port": one.get("port")}
        own["targetPort"] = number
        if _protocol(one) == _TCP:
            own["targetPort"] = traffic.name_of(number) or number
        else:
            own["protocol"] = _protocol(one)
        if one.get("appProtocol") is not None:
            own["appProtocol"] = one["appProtocol"]
        if one.get("nodePort") and (spec.get("type") == NODE_PORT.service_type or is_written):
            path = f"/spec/ports/{place}/nodePort"
            carrying.wait(f"nodePort {one['nodePort']}", path, one["nodePort"], ONE_ONLY)
        place += 1
        yield own


def _why_missing(port: RawObject, number: int | None, traffic: Traffic) -> str:
    """Return why *port*, which leads to *number* in the container, leads to nothing here; empty where it does."""
    protocol = _protocol(port)
    if protocol not in _PROXIED:
        return f"only {' and '.join(_PROXIED)} are proxied"
    if number is None:
        return "it leads to a port that the container does not name"
    if protocol == _TCP and traffic.name_of(number):
        return ""
    if protocol in traffic.services:
        return ""
    neither = "it is neither HTTP's nor HTTPS's, and " if protocol == _TCP else ""
    return f"nothing listens at {number} here: {neither}there are no services of {protocol}"


def _protocol(port: RawObject) -> object:
    return port.get("protocol") or _TCP


def _target(port: RawObject, numbers: Mapping[str, int]) -> int | None:
    """Return the number of the port that *port* leads to, by the *numbers* of names; None where it cannot be told."""
    target = port.get("targetPort", port.get("port"))
    if isinstance(target, str):
        return numbers.get(target)
    return target if isinstance(target, int) else None
