"""What the autoscaler of ``k8s/components/autoscaler`` gets of that of an ingress-nginx.  Pure."""

from typing import Final

from ingress.ctl.inputs.installation import Installation, name_of, object_in
from ingress.ctl.migrate.installation.carried import Carried, Carrying
from ingress.ctl.migrate.installation.overlays import own_kind

_LEAST_REPLICAS: Final = 2
"""Those of the component."""


def scaling_carried(found: Installation) -> Carried:
    """Return what is carried over from the autoscaler, if there is one."""
    raw = found.autoscaler
    if raw is None:
        return Carried()
    carrying = Carrying(f"HorizontalPodAutoscaler {found.workload.key.namespace}/{name_of(raw)}")
    if own_kind(found) != "Deployment":
        carrying.leave("all of it", "there is one pod on each node")
        return carrying.carried()
    spec = object_in(raw, "spec")
    least, most = spec.get("minReplicas"), spec.get("maxReplicas")
    if isinstance(most, int):
        carrying.take("maxReplicas", "/spec/maxReplicas", max(most, _LEAST_REPLICAS))
    if isinstance(least, int) and least > _LEAST_REPLICAS:
        carrying.take("minReplicas", "/spec/minReplicas", least)
    elif isinstance(least, int) and least < _LEAST_REPLICAS:
        carrying.leave("minReplicas", "two here, so that one serves while the other is replaced")
    for name, why in (
        ("metrics", "the component has half of a processor for each replica (docs/sizing.md)"),
        ("behavior", "the component has one replica less in two minutes at most"),
    ):
        if spec.get(name):
            carrying.leave(name, why)
    return carrying.carried()
