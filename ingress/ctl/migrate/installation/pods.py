"""What the pods of this controller get of those of an ingress-nginx: where they run, and what the cluster is told of them.  Pure.

What belongs to nginx itself, its image, memory and volumes, stays there, and is named.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from ingress.ctl.inputs.ingress_nginx.installation import Installation
from ingress.ctl.inputs.ingress_nginx.raw_values import object_in, objects_in, texts_in
from ingress.ctl.inputs.input import Workload
from ingress.ctl.migrate.installation.carried import Carried, Carrying, member
from ingress.ctl.migrate.installation.metadata import is_of_tool, purposeful_labels
from ingress.ctl.migrate.installation.overlays import Overlay, own_kind
from ingress.ctl.migrate.installation.selectors import (
    is_alone_on_node,
    with_own_affinity,
    with_own_selector,
)
from ingress.ctl.migrate.installation.traffic import Traffic
from ingress.object_fields import RawObject

_POD: Final = "/spec/template/spec"
_OS: Final = {"kubernetes.io/os": "linux"}
_PLAIN_FIELDS: Final = ("priorityClassName", "runtimeClassName", "schedulerName", "dnsConfig", "hostAliases")
"""Fields of a pod that mean the same in any."""
_USUAL_ENDS: Final = (None, 30, 300)
"""Seconds that a pod has for its end where nobody has thought of it: the API's, and Helm's for ingress-nginx."""
_USUAL_RESOURCES: Final = {"requests": {"cpu": "100m", "memory": "90Mi"}}
"""Helm's for ingress-nginx."""
_USUAL_ENV: Final = frozenset({"LD_PRELOAD", "POD_NAME", "POD_NAMESPACE"})
_USUAL_VOLUMES: Final = frozenset({"webhook-cert"})
_SCRAPED: Final = "prometheus.io/"
_PORTS: Final = {"http": 0, "https": 1}
"""Where the ports of the traffic are in the manifests."""
_USUAL_SCHEDULER: Final = "default-scheduler"
_ONE_AFTER_THE_OTHER: Final = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
_NEW_FIRST: Final = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
"""As the Deployment in the manifests has it."""


def pods_carried(found: Installation, overlay: Overlay, traffic: Traffic) -> Carried:
    """Return what is carried over to the workload of *overlay*; *traffic* is what ingress-nginx listens at in its container."""
    workload = found.workload
    carrying = Carrying(f"the pods of {workload}")
    pod = object_in(workload.template, "spec")
    _take_kind(carrying, found, overlay)
    _take_placement(carrying, found, pod)
    for name in _PLAIN_FIELDS:
        if pod.get(name) and pod[name] != _USUAL_SCHEDULER:
            carrying.take(name, f"{_POD}/{name}", pod[name])
    policy = pod.get("dnsPolicy")
    if policy not in (None, "ClusterFirst", "ClusterFirstWithHostNet"):
        carrying.take("dnsPolicy", f"{_POD}/dnsPolicy", policy)
    _take_metadata(carrying, workload)
    if not workload.on_host_network:
        _take_host_ports(carrying, workload, traffic)
    for field, why in _left(workload, pod):
        carrying.leave(field, why)
    return carrying.carried()


def namespace_carried(found: Installation) -> Carried:
    """Return what the namespace needs so that these pods are let in."""
    carrying = Carrying("the namespace")
    if not found.workload.on_host_network and any(_host_ports(found.workload)):
        # Ports of the node are allowed by this level alone.
        path = member("metadata", "labels", "pod-security.kubernetes.io/enforce")
        carrying.change_later(path, "privileged")
    return carrying.carried()


def _take_kind(carrying: Carrying, found: Installation, overlay: Overlay) -> None:
    """Take over one pod on each node, or how many there are, and that a new one waits where a node has room for one."""
    workload = found.workload
    pod = object_in(workload.template, "spec")
    is_alone = any(_host_ports(workload)) or is_alone_on_node(object_in(pod, "affinity"), workload)
    strategy = _ONE_AFTER_THE_OTHER if is_alone else _NEW_FIRST
    if workload.kind != own_kind(found):
        carrying.leave("kind", "on the network of nodes it is a DaemonSet here: nodeSelector says on which")
    elif workload.kind != overlay.kind:
        carrying.take("kind", "/kind", workload.kind)
        for name in ("replicas", "strategy", "template/spec/topologySpreadConstraints"):
            carrying.change(f"/spec/{name}", None)
        carrying.change("/spec/updateStrategy", strategy)
    elif workload.kind == "Deployment":
        if is_alone:
            carrying.change("/spec/strategy", strategy)
        if found.autoscaler is None and found.scaled_object is None:
            _take_replicas(carrying, workload)


def _take_replicas(carrying: Carrying, workload: Workload) -> None:
    replicas = workload.spec.get("replicas")
    has_host_ports = any(_host_ports(workload))
    if replicas is None and has_host_ports:
        replicas = 1
    if not isinstance(replicas, int):
        return
    if replicas > 2:
        carrying.take("replicas", "/spec/replicas", replicas)
    elif replicas < 2 and has_host_ports:
        carrying.take("replicas", "/spec/replicas", replicas, "two cannot have the ports of one node")
    elif replicas < 2:
        carrying.leave("replicas", "two here, so that one serves while the other is replaced")


def _take_placement(carrying: Carrying, found: Installation, pod: RawObject) -> None:
    workload = found.workload
    selector = object_in(pod, "nodeSelector")
    if {**_OS, **selector} != _OS:
        carrying.take("nodeSelector", f"{_POD}/nodeSelector", {**_OS, **selector})
    if pod.get("tolerations"):
        carrying.take("tolerations", f"{_POD}/tolerations", pod["tolerations"])
    affinity = object_in(pod, "affinity")
    if affinity:
        own = with_own_affinity(affinity, workload)
        why = _said_of_selectors(affinity, own)
        if is_alone_on_node(affinity, workload):
            why += "; with room for one on a node, an old pod ends before a new one starts"
        carrying.take("affinity", f"{_POD}/affinity", own, why)
    spread = objects_in(pod, "topologySpreadConstraints")
    if spread and own_kind(found) != "Deployment":
        carrying.leave("topologySpreadConstraints", "there is one pod on each node")
    elif spread:
        own_spread = [with_own_selector(one, workload) for one in spread]
        why = _said_of_selectors(spread, own_spread)
        carrying.take("topologySpreadConstraints", f"{_POD}/topologySpreadConstraints", own_spread, why)


def _said_of_selectors(before: object, after: object) -> str:
    return "" if before == after else "selectors of its own pods select those of this controller"


def _take_metadata(carrying: Carrying, workload: Workload) -> None:
    metadata = object_in(workload.template, "metadata")
    annotations = texts_in(metadata, "annotations")
    scraped = sorted(name for name in annotations if name.startswith(_SCRAPED))
    named = sorted(name for name in annotations if _names(name, workload))
    taken = {
        name: value
        for name, value in annotations.items()
        if name not in scraped and name not in named and not is_of_tool(name)
    }
    if taken:
        path = member("spec", "template", "metadata", "annotations")
        carrying.take(f"annotations {', '.join(sorted(taken))}", path, taken)
    if named:
        carrying.leave(f"annotations {', '.join(named)}", "they name a container of those pods")
    if scraped:
        carrying.leave(
            f"annotations {', '.join(scraped)}", "metrics are at the port of probes (k8s/monitoring)"
        )
    selecting = object_in(object_in(workload.spec, "selector"), "matchLabels")
    for name, value in purposeful_labels(texts_in(metadata, "labels"), selecting).items():
        carrying.take(f"label {name}", member("spec", "template", "metadata", "labels", name), value)


def _names(annotation: str, workload: Workload) -> bool:
    """Whether an annotation names a container, as AppArmor's and Datadog's do: the API refuses one that there is not."""
    containers = objects_in(object_in(workload.template, "spec"), "containers")
    last = annotation.rpartition("/")[2]
    return any(last in (name, f"{name}.{last.partition('.')[2]}") for name in _names_of(containers))


def _host_ports(workload: Workload) -> Iterator[RawObject]:
    for one in objects_in(workload.container, "ports"):
        if isinstance(one.get("hostPort"), int) and one["hostPort"]:
            yield one


def _take_host_ports(carrying: Carrying, workload: Workload, traffic: Traffic) -> None:
    for one in _host_ports(workload):
        name = traffic.name_of(_number(one))
        field = f"hostPort {one['hostPort']}"
        if not name:
            carrying.leave(field, "it is no port of HTTP or HTTPS")
            continue
        path = f"{_POD}/containers/0/ports/{_PORTS[name]}"
        carrying.wait(field, f"{path}/hostPort", one["hostPort"], "one pod of a node alone can have it")
        if one.get("hostIP"):
            carrying.change_later(f"{path}/hostIP", one["hostIP"])


def _number(port: RawObject) -> int:
    found = port.get("containerPort")
    return found if isinstance(found, int) else 0


def _left(workload: Workload, pod: RawObject) -> Iterator[tuple[str, str]]:
    """Yield the fields that stay, each with why."""
    if object_in(workload.container, "resources") not in ({}, _USUAL_RESOURCES):
        yield "resources", "nginx's say nothing of this controller: docs/sizing.md says what it needs"
    if pod.get("terminationGracePeriodSeconds") not in _USUAL_ENDS:
        yield "terminationGracePeriodSeconds", "it follows from --shutdown-delay and --shutdown-grace"
    if objects_in(object_in(pod, "securityContext"), "sysctls"):
        yield "securityContext.sysctls", "those of the network are for nginx, or yours to put there"
    if objects_in(pod, "imagePullSecrets"):
        yield "imagePullSecrets", "they are for another image, in another namespace"
    beside = [
        name for name in _names_of(objects_in(pod, "containers")) if name != workload.container.get("name")
    ]
    for field, names in (
        ("containers", beside),
        ("initContainers", _names_of(objects_in(pod, "initContainers"))),
        ("volumes", [name for name in _names_of(objects_in(pod, "volumes")) if name not in _USUAL_VOLUMES]),
        (
            "env",
            [name for name in _names_of(objects_in(workload.container, "env")) if name not in _USUAL_ENV],
        ),
    ):
        if names:
            yield f"{field} {', '.join(names)}", "they are for nginx, or yours to put there"


def _names_of(some: Sequence[RawObject]) -> list[str]:
    return [name for one in some if isinstance(name := one.get("name"), str)]
