"""What the pods of this controller get of those of an ingress-nginx: where they run, and what the cluster is told of them.  Pure.

What belongs to nginx itself, its image, memory and volumes, stays there, and is named.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ingress.ctl.inputs.input import Workload
from ingress.ctl.inputs.installation import Installation, object_in, objects_in, texts_in
from ingress.ctl.migrate.installation.carried import Carried, Carrying, member
from ingress.ctl.migrate.installation.overlays import Overlay
from ingress.ctl.migrate.installation.selectors import with_own_affinity, with_own_selector
from ingress.fields import RawObject

_POD: Final = "/spec/template/spec"
_OS: Final = {"kubernetes.io/os": "linux"}
_PLAIN_FIELDS: Final = ("priorityClassName", "runtimeClassName", "dnsConfig", "hostAliases")
"""Fields of a pod that mean the same in any."""
_USUAL_ENDS: Final = (None, 30, 300)
"""Seconds that a pod has for its end where nobody has thought of it: the API's, and Helm's for ingress-nginx."""
_USUAL_ENV: Final = frozenset({"LD_PRELOAD", "POD_NAME", "POD_NAMESPACE"})
_USUAL_VOLUMES: Final = frozenset({"webhook-cert"})
_TOLD_BY_OTHERS: Final = ("app.kubernetes.io/", "helm.sh/")
"""Prefixes of labels that say what somebody installed."""
_HASHES: Final = frozenset({"controller-revision-hash", "pod-template-generation", "pod-template-hash"})
_WRITTEN_BY_TOOLS: Final = ("checksum/", "kubectl.kubernetes.io/", "meta.helm.sh/")
_SCRAPED: Final = "prometheus.io/"
_PORTS: Final = {"http": 0, "https": 1}
"""Where the ports of the traffic are in the manifests."""


def pods_carried(found: Installation, overlay: Overlay, ports: Mapping[str, int]) -> Carried:
    """Return what is carried over to the workload of *overlay*; *ports* are those of the traffic in the container there, by name."""
    workload = found.workload
    carrying = Carrying(f"the pods of {workload}")
    pod = object_in(workload.template, "spec")
    _take_replicas(carrying, found, overlay)
    _take_placement(carrying, workload, pod, overlay)
    for name in _PLAIN_FIELDS:
        if pod.get(name):
            carrying.take(name, f"{_POD}/{name}", pod[name])
    policy = pod.get("dnsPolicy")
    if policy not in (None, "ClusterFirst", "ClusterFirstWithHostNet"):
        carrying.take("dnsPolicy", f"{_POD}/dnsPolicy", policy)
    _take_metadata(carrying, workload)
    if not workload.on_host_network:
        _take_host_ports(carrying, workload, ports)
    for field, why in _left(workload, pod):
        carrying.leave(field, why)
    return carrying.carried()


def namespace_carried(found: Installation) -> Carried:
    """Return what the namespace needs so that these pods are let in."""
    carrying = Carrying("the namespace")
    if not found.workload.on_host_network and any(_host_ports(found.workload)):
        # Ports of the node are allowed by this level alone.
        carrying.change(member("metadata", "labels", "pod-security.kubernetes.io/enforce"), "privileged")
    return carrying.carried()


def _take_replicas(carrying: Carrying, found: Installation, overlay: Overlay) -> None:
    workload = found.workload
    if workload.kind != overlay.kind:
        why = (
            "on the network of nodes it is a DaemonSet here: nodeSelector says on which"
            if workload.on_host_network
            else "without the network of nodes it is a Deployment here, of two replicas"
        )
        carrying.leave("kind", why)
        return
    replicas = workload.spec.get("replicas")
    if workload.kind != "Deployment" or found.autoscaler is not None or not isinstance(replicas, int):
        return
    if replicas > 2:
        carrying.take("replicas", "/spec/replicas", replicas)
    elif replicas < 2:
        carrying.leave("replicas", "two here, so that one serves while the other is replaced")


def _take_placement(carrying: Carrying, workload: Workload, pod: RawObject, overlay: Overlay) -> None:
    selector = object_in(pod, "nodeSelector")
    if {**_OS, **selector} != _OS:
        carrying.take("nodeSelector", f"{_POD}/nodeSelector", {**_OS, **selector})
    if pod.get("tolerations"):
        carrying.take("tolerations", f"{_POD}/tolerations", pod["tolerations"])
    affinity = object_in(pod, "affinity")
    if affinity:
        own = with_own_affinity(affinity, workload)
        carrying.take("affinity", f"{_POD}/affinity", own, _said_of_selectors(affinity, own))
    spread = objects_in(pod, "topologySpreadConstraints")
    if spread and overlay.kind != "Deployment":
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
    taken = {
        name: value
        for name, value in annotations.items()
        if not name.startswith((*_WRITTEN_BY_TOOLS, _SCRAPED))
    }
    if taken:
        path = member("spec", "template", "metadata", "annotations")
        carrying.take(f"annotations {', '.join(sorted(taken))}", path, taken)
    if scraped:
        carrying.leave(
            f"annotations {', '.join(scraped)}", "metrics are at the port of probes (k8s/monitoring)"
        )
    selector = object_in(workload.spec, "selector")
    selecting = object_in(selector, "matchLabels")
    labels = {
        name: value
        for name, value in texts_in(metadata, "labels").items()
        if name not in selecting and name not in _HASHES and not name.startswith(_TOLD_BY_OTHERS)
    }
    for name, value in sorted(labels.items()):
        carrying.take(f"label {name}", member("spec", "template", "metadata", "labels", name), value)


def _host_ports(workload: Workload) -> Iterator[RawObject]:
    for one in objects_in(workload.container, "ports"):
        if isinstance(one.get("hostPort"), int) and one["hostPort"]:
            yield one


def _take_host_ports(carrying: Carrying, workload: Workload, ports: Mapping[str, int]) -> None:
    by_number = {number: name for name, number in ports.items()}
    for one in _host_ports(workload):
        name = by_number.get(_number(one), "")
        field = f"hostPort {one['hostPort']}"
        if name:
            path = f"{_POD}/containers/0/ports/{_PORTS[name]}/hostPort"
            carrying.take(field, path, one["hostPort"])
        else:
            carrying.leave(field, "it is no port of HTTP or HTTPS")


def _number(port: RawObject) -> int:
    found = port.get("containerPort")
    return found if isinstance(found, int) else 0


def _left(workload: Workload, pod: RawObject) -> Iterator[tuple[str, str]]:
    """Yield the fields that stay, each with why."""
    if object_in(workload.container, "resources"):
        yield "resources", "nginx's say nothing of this controller: docs/sizing.md says what it needs"
    if pod.get("terminationGracePeriodSeconds") not in _USUAL_ENDS:
        yield "terminationGracePeriodSeconds", "it follows from --shutdown-delay and --shutdown-grace"
    if objects_in(pod, "imagePullSecrets"):
        yield "imagePullSecrets", "they are for another image, in another namespace"
    beside = [
        name for name in _names(objects_in(pod, "containers")) if name != workload.container.get("name")
    ]
    for field, names in (
        ("containers", beside),
        ("initContainers", _names(objects_in(pod, "initContainers"))),
        ("volumes", [name for name in _names(objects_in(pod, "volumes")) if name not in _USUAL_VOLUMES]),
        ("env", [name for name in _names(objects_in(workload.container, "env")) if name not in _USUAL_ENV]),
    ):
        if names:
            yield f"{field} {', '.join(names)}", "they are for nginx, or yours to put there"


def _names(some: Sequence[RawObject]) -> list[str]:
    return [name for one in some if isinstance(name := one.get("name"), str)]
