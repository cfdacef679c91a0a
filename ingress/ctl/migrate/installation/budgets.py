"""What the PodDisruptionBudget in ``k8s/`` gets of that of an ingress-nginx: how many pods have to stay while nodes are drained.  Pure."""

from ingress.ctl.inputs.ingress_nginx.installation import Installation
from ingress.ctl.inputs.ingress_nginx.raw_values import name_of, object_in
from ingress.ctl.migrate.installation.carried import Carried, Carrying
from ingress.ctl.migrate.installation.overlays import own_kind


def budget_carried(found: Installation) -> Carried:
    """Return what is carried over from the budget, if there is one; that of ``k8s/`` lets one pod go at a time."""
    raw = found.budget
    if raw is None:
        return Carried()
    carrying = Carrying(f"PodDisruptionBudget {found.workload.key.namespace}/{name_of(raw)}")
    if own_kind(found) != "Deployment":
        carrying.leave("all of it", "a DaemonSet's pods are neither evicted nor counted by a budget")
        return carrying.carried()
    spec = object_in(raw, "spec")
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least == 1:
        # As Helm writes it.
        carrying.leave("minAvailable", "one pod at a time goes here, so one of two stays")
    elif isinstance(least, int | str):
        carrying.change("/spec/maxUnavailable", None)
        carrying.take("minAvailable", "/spec/minAvailable", least)
    elif isinstance(most, int | str) and most != 1:
        carrying.take("maxUnavailable", "/spec/maxUnavailable", most)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy:
        carrying.take("unhealthyPodEvictionPolicy", "/spec/unhealthyPodEvictionPolicy", policy)
    return carrying.carried()
