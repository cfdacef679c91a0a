"""What runs a controller in a cluster: the ingress-nginx that is found, which is no failure where it may not be read, or the one that is named."""

from collections.abc import Collection, Iterator
from typing import Any, Final

from attrs import evolve

from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.ingress_nginx.installation import (
    AUTOSCALER,
    BUDGET,
    INGRESS_CLASS,
    NAMESPACE,
    NETWORK_POLICY,
    SCALED_OBJECT,
    SERVICE,
    belonging,
)
from ingress.ctl.inputs.ingress_nginx.workloads import WORKLOADS, controller_of, is_ours, workload_of
from ingress.ctl.inputs.input import Unread, Workload
from ingress.ctl.inputs.like import LikeOptions, read_arguments
from ingress.ctl.inputs.live.api_server import ApiServer, Forbidden, items_of
from ingress.model.cluster.objects import ObjectKey
from ingress.model.frozen import frozen
from ingress.object_fields import RawObject, is_object
from ingress.wording import plural_of

_AROUND: Final = {
    SERVICE: ("", "v1", "services"),
    AUTOSCALER: ("autoscaling", "v2", "horizontalpodautoscalers"),
    SCALED_OBJECT: ("keda.sh", "v1alpha1", "scaledobjects"),
    BUDGET: ("policy", "v1", "poddisruptionbudgets"),
}
"""The kinds around it in its namespace, each with its group, version and plural."""
_NETWORKING: Final = "networking.k8s.io", "v1"
_CLASSES: Final = "ingressclasses"
_POLICIES: Final = "networkpolicies"


@frozen
class FoundWorkloads:
    """What was found, by kind and key, and what could not be read."""

    workloads: tuple[Workload, ...] = ()
    around: tuple[RawObject, ...] = ()
    """What may be around these, with their namespaces (``ingress.ctl.inputs.ingress_nginx.installation``)."""
    unread: tuple[Unread, ...] = ()


def find_workloads(server: ApiServer, namespaces: Collection[str]) -> FoundWorkloads:
    """List the kinds in the whole cluster; where that is forbidden, in *namespaces*."""
    found: list[Workload] = []
    unread: list[Unread] = []
    served = server.plurals("apps", "v1")
    for kind, plural in WORKLOADS.items():
        if plural not in served:
            unread.append(Unread(plural_of(kind), "the API server says that it has none"))
            continue
        everywhere = _listed(server, kind, f"/apis/apps/v1/{plural}", "")
        if not isinstance(everywhere, Forbidden):
            found += everywhere
            continue
        read: list[str] = []
        for namespace in dict.fromkeys(namespaces):
            listed = _listed(server, kind, f"/apis/apps/v1/namespaces/{namespace}/{plural}", namespace)
            if not isinstance(listed, Forbidden):
                read.append(namespace)
                found += listed
        but = f" but those in {', '.join(read)}" if read else ""
        unread.append(Unread(f"{plural_of(kind)}{but}", everywhere.why))
    workloads = tuple(sorted(found, key=lambda one: (one.kind, one.key)))
    around, not_listed = find_around(server, workloads)
    return FoundWorkloads(workloads, around, (*unread, *not_listed))


def find_around(
    server: ApiServer, workloads: Collection[Workload]
) -> tuple[tuple[RawObject, ...], tuple[Unread, ...]]:
    """Return what may be around *workloads*, of their namespaces, and what could not be read of that."""
    found: list[RawObject] = []
    unread: list[Unread] = []
    for kind, path, namespace in _paths_around(server, workloads):
        listed = _listed_around(server, kind, path, namespace)
        if isinstance(listed, Forbidden):
            where = f" in {namespace}" if namespace else ""
            unread.append(Unread(f"{plural_of(kind)}{where}, of what is around ingress-nginx", listed.why))
        else:
            found += listed
    namespaces = {one.key.namespace for one in workloads if not one.on_host_network}
    if any(one.get("kind") == NETWORK_POLICY for one in found):
        for namespace in sorted(namespaces):
            labelled = server.single(f"/api/v1/namespaces/{namespace}")
            if isinstance(labelled, Forbidden):
                labels = (
                    f"the labels of namespace {namespace}, by which NetworkPolicies may let ingress-nginx in"
                )
                unread.append(Unread(labels, labelled.why))
            elif is_object(labelled) and (own := belonging({**labelled, "kind": NAMESPACE}, "")) is not None:
                found.append(own)
    return tuple(found), tuple(unread)


def _paths_around(server: ApiServer, workloads: Collection[Workload]) -> Iterator[tuple[str, str, str]]:
    """Yield the kinds, the paths of their lists, and the namespaces, where there are any."""
    namespaces = sorted({one.key.namespace for one in workloads})
    if not namespaces:
        return
    for kind, (group, version, plural) in _AROUND.items():
        if group and plural not in server.plurals(group, version):
            continue
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        for namespace in namespaces:
            yield kind, f"{root}/namespaces/{namespace}/{plural}", namespace
    root = f"/apis/{'/'.join(_NETWORKING)}"
    yield INGRESS_CLASS, f"{root}/{_CLASSES}", ""
    if _POLICIES in server.plurals(*_NETWORKING):
        # Wherever it sends requests, and not only in its own namespace.
        yield NETWORK_POLICY, f"{root}/{_POLICIES}", ""


def _listed_around(server: ApiServer, kind: str, path: str, namespace: str) -> list[RawObject] | Forbidden:
    def take(page: dict[str, Any]) -> list[RawObject]:
        some = (belonging({**raw, "kind": kind}, namespace) for raw in items_of(page))
        return [one for one in some if one is not None]

    return server.listed(path, take)


def _listed(server: ApiServer, kind: str, path: str, namespace: str) -> list[Workload] | Forbidden:
    def take(page: dict[str, Any]) -> list[Workload]:
        # The objects of a list leave out what the list says for all of them.
        some = (workload_of({**raw, "kind": kind}, namespace) for raw in items_of(page))
        return [one for one in some if one is not None]

    return server.listed(path, take)


def options_like(server: ApiServer, key: ObjectKey) -> LikeOptions:
    """Return the options of the controller that the Deployment or DaemonSet *key* runs; raises ``Mistake``."""
    for kind, plural in WORKLOADS.items():
        found = server.single(f"/apis/apps/v1/namespaces/{key.namespace}/{plural}/{key.name}")
        if isinstance(found, Forbidden):
            raise Mistake(f"{kind} {key} may not be read: {found.why}")
        if found is not None:
            controller = controller_of(found, key.namespace)
            if controller is None:
                raise Mistake(f"{kind} {key} has no container with arguments of a controller")
            like = read_arguments(controller.words, controller.key.namespace)
            return like if is_ours(controller.words) else evolve(like, workloads=(controller,))
    raise Mistake(f"there is neither a Deployment nor a DaemonSet {key} at {server.url}")
