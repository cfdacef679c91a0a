"""What a Service of this controller gets of one that leads to ingress-nginx.  Pure.

Addresses, numbers of ports on nodes, and names of balancers can be one Service's only: they wait until the other one is gone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ingress.ctl.inputs.installation import (
    OUTSIDE,
    Installation,
    is_for_requests,
    name_of,
    object_in,
    objects_in,
    port_numbers,
    texts_in,
)
from ingress.ctl.migrate.installation.carried import Carried, Carrying, member
from ingress.ctl.migrate.installation.overlays import OWN_LABELS, OWN_NAME, Overlay
from ingress.fields import RawObject

_SAME: Final = (
    "loadBalancerClass",
    "loadBalancerSourceRanges",
    "externalTrafficPolicy",
    "trafficDistribution",
    "sessionAffinityConfig",
)
"""Fields that mean the same in any Service."""
_USUAL: Final[Mapping[str, object]] = {
    "sessionAffinity": "None",
    "internalTrafficPolicy": "Cluster",
    "allocateLoadBalancerNodePorts": True,
    "publishNotReadyAddresses": False,
    "ipFamilyPolicy": "SingleStack",
}
"""The same, with what the API gives them where nobody says anything."""
_ITS_OWN: Final = re.compile(r"(?:name|hostname|ips?|ipv[46]|ids?|allocations|addresses)", re.IGNORECASE)
"""How the last word of an annotation is called that names an address, a balancer or a name in the DNS."""
_OUTCOMES: Final = frozenset(
    {
        "cloud.google.com/neg-status",
        "metallb.io/ip-allocated-from-pool",
        "metallb.universe.tf/ip-allocated-from-pool",
    }
)
"""Annotations that are written by whoever provides the balancer."""
_WRITTEN_BY_TOOLS: Final = ("kubectl.kubernetes.io/", "meta.helm.sh/")
_STANDARD: Final = (
    {"name": "http", "port": 80, "targetPort": "http"},
    {"name": "https", "port": 443, "targetPort": "https"},
)
_LONGEST_NAME: Final = 60
"""Of a Service, with room for a number."""
_ONE_ONLY: Final = "one Service alone can have it"


def service_carried(
    found: Installation, service: RawObject, overlay: Overlay, ports: Mapping[str, int]
) -> Carried:
    """Return what is carried over from *service*; *ports* are those of the traffic in the container of ingress-nginx, by name.

    Without an *overlay* that has a Service, or for a further one, all of it is to be put on ``bare_service``.
    """
    carrying = Carrying(f"Service {found.workload.key.namespace}/{name_of(service)}")
    spec = object_in(service, "spec")
    is_new = not overlay.service_type or service is not found.services[0]
    usual_type = "" if is_new else overlay.service_type
    found_type = spec.get("type")
    own_type = found_type if found_type in OUTSIDE else "ClusterIP"
    is_outside = own_type in OUTSIDE or bool(spec.get("externalIPs"))
    _take_annotations(carrying, texts_in(object_in(service, "metadata"), "annotations"))
    if own_type != usual_type:
        carrying.take("type", "/spec/type", own_type)
    if not is_outside and usual_type:
        carrying.change("/spec/externalTrafficPolicy", None)
    own_ports = list(_own_ports(carrying, found, spec, ports))
    if is_new or tuple(own_ports) != _STANDARD:
        carrying.take("ports", "/spec/ports", own_ports)
    for name in _SAME:
        if spec.get(name) and (name != "externalTrafficPolicy" or is_outside):
            carrying.take(name, f"/spec/{name}", spec[name])
    for name, usual in _USUAL.items():
        if name in spec and spec[name] is not None and spec[name] != usual:
            carrying.take(name, f"/spec/{name}", spec[name])
    if spec.get("ipFamilies") not in (None, ["IPv4"]):
        carrying.take("ipFamilies", "/spec/ipFamilies", spec["ipFamilies"])
    for name in ("loadBalancerIP", "externalIPs"):
        if spec.get(name):
            carrying.wait(name, f"/spec/{name}", spec[name], _ONE_ONLY)
    return carrying.carried()


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
        if name in names:
            name = f"{name}-{len(names)}"
        names.append(name)
    return names


def _take_annotations(carrying: Carrying, annotations: Mapping[str, str]) -> None:
    taken: dict[str, str] = {}
    waiting = False
    for name, value in sorted(annotations.items()):
        if name in _OUTCOMES or name.startswith(_WRITTEN_BY_TOOLS):
            continue
        if _ITS_OWN.fullmatch(re.split(r"[-/.]|(?<=[a-z])(?=[A-Z])", name)[-1]):
            path = member("metadata", "annotations", name)
            carrying.wait(f"annotation {name}", path, value, _ONE_ONLY)
            waiting = True
        else:
            taken[name] = value
            carrying.say_taken(f"annotation {name}")
    if taken or waiting:
        # Also an empty one, since each change of an annotation is one of its members.
        carrying.change("/metadata/annotations", taken)


def _own_ports(
    carrying: Carrying, found: Installation, spec: RawObject, ports: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    numbers = port_numbers(found.workload)
    by_number = {number: name for name, number in ports.items()}
    place = 0
    for one in objects_in(spec, "ports"):
        if not is_for_requests(one, found.workload):
            continue
        name, number = str(one.get("name") or f"port-{one.get('port')}"), _target(one, numbers)
        if number is None:
            carrying.leave(f"port {name}", "it leads to a port that the container does not name")
            continue
        own: dict[str, Any] = {"name": name, "port": one.get("port")}
        own["targetPort"] = by_number.get(number, number)
        for field in ("protocol", "appProtocol"):
            if one.get(field) not in (None, "TCP"):
                own[field] = one[field]
        if spec.get("type") == "NodePort" and one.get("nodePort"):
            path = f"/spec/ports/{place}/nodePort"
            carrying.wait(f"nodePort {one['nodePort']}", path, one["nodePort"], _ONE_ONLY)
        place += 1
        yield own


def _target(port: RawObject, numbers: Mapping[str, int]) -> int | None:
    """Return the number of the port that *port* leads to, by the *numbers* of names; None where it cannot be told."""
    target = port.get("targetPort", port.get("port"))
    if isinstance(target, str):
        return numbers.get(target)
    return target if isinstance(target, int) else None
