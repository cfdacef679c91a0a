"""What runs ingress-nginx in a cluster, as far as a person may read that; nothing here is a failure."""

from collections.abc import Collection
from typing import Any

from ingress.ctl.inputs.input import Unread, Workload
from ingress.ctl.inputs.live.api_server import ApiServer, Forbidden, items_of
from ingress.ctl.inputs.workloads import WORKLOADS, workload_of
from ingress.model.frozen import frozen
from ingress.wording import plural_of


@frozen
class FoundWorkloads:
    """What was found, by kind and key, and what could not be read."""

    workloads: tuple[Workload, ...] = ()
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
    return FoundWorkloads(tuple(sorted(found, key=lambda one: (one.kind, one.key))), tuple(unread))


def _listed(server: ApiServer, kind: str, path: str, namespace: str) -> list[Workload] | Forbidden:
    def take(page: dict[str, Any]) -> list[Workload]:
        # The objects of a list leave out what the list says for all of them.
        some = (workload_of({**raw, "kind": kind}, namespace) for raw in items_of(page))
        return [one for one in some if one is not None]

    return server.listed(path, take)
