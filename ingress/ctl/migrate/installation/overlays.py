"""The overlays of ``k8s/`` that an ingress-nginx can be replaced by, and what their pods have."""

from collections.abc import Mapping
from typing import Final

from ingress.ctl.inputs.ingress_nginx.installation import Installation
from ingress.ctl.inputs.ingress_nginx.raw_values import object_in
from ingress.model.frozen import frozen

OWN_NAME: Final = "txingress"
"""The name of this controller's objects in ``k8s/``, of their namespace, and of the label that selects its pods."""
OWN_LABELS: Final = {"app.kubernetes.io/name": OWN_NAME}


@frozen
class Overlay:
    """An overlay: the arguments that its pods have, but for classes, in their order."""

    name: str
    kind: str
    arguments: Mapping[str, str]
    service_type: str = ""
    """The type of its Service; empty where it has none."""


LOAD_BALANCER: Final = Overlay(
    "deployment-loadbalancer",
    "Deployment",
    {
        "probes": "tcp:10254",
        "admin": "tcp:10253:interface=127.0.0.1",
        "configmap": "txingress/txingress",
        "publish-service": "txingress/txingress",
        "shutdown-delay": "35",
    },
    "LoadBalancer",
)
NODE_PORT: Final = Overlay(
    "deployment-nodeport",
    "Deployment",
    {
        "probes": "tcp:10254",
        "admin": "tcp:10253:interface=127.0.0.1",
        "configmap": "txingress/txingress",
    },
    "NodePort",
)
HOST_NETWORK: Final = Overlay(
    "daemonset-hostnetwork",
    "DaemonSet",
    {
        "probes": "tcp:10254:interface=127.0.0.1",
        "admin": "tcp:10253:interface=127.0.0.1",
        "configmap": "txingress/txingress",
        "shutdown-delay": "10",
    },
)


def overlay_for(found: Installation) -> Overlay:
    """Return the overlay that runs this controller as ingress-nginx is run."""
    if found.workload.on_host_network:
        return HOST_NETWORK
    types = [object_in(one, "spec").get("type") for one in found.services[:1]]
    return NODE_PORT if types == [NODE_PORT.service_type] else LOAD_BALANCER


def own_kind(found: Installation) -> str:
    """Return the kind of the workload that runs this controller: the overlay's, or a DaemonSet's where there is one."""
    return HOST_NETWORK.kind if found.workload.kind == HOST_NETWORK.kind else overlay_for(found).kind
