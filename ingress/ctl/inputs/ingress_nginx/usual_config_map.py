"""The ConfigMap of ingress-nginx among the objects of an input.  Pure."""

from typing import Final

from ingress.ctl.inputs.input import Input
from ingress.model.cluster.objects import ConfigMap, Kind, ObjectKey

USUAL_NAMES: Final = (
    "ingress-nginx-controller",
    "ingress-nginx-ingress-nginx-controller",
    "nginx-ingress-ingress-nginx-controller",
    "nginx-ingress-controller",
    "nginx-configuration",
    "nginx-load-balancer-microk8s-conf",
)
"""What the Helm chart, the manifests of the project and distributions call it."""


def find_config_map(given: Input) -> ConfigMap | None:
    """Return the ConfigMap that an option names, else the one with a usual name; the first layer that has it decides."""
    some: dict[ObjectKey, ConfigMap] = {}
    for layer in given.layers:
        for key, value in layer.state.of(Kind.CONFIG_MAP).items():
            if isinstance(value, ConfigMap):
                some.setdefault(key, value)
    named = given.settings.config_map
    if named is not None:
        return some.get(named)
    usual = sorted((USUAL_NAMES.index(key.name), key) for key in some if key.name in USUAL_NAMES)
    return some[usual[0][1]] if usual else None
