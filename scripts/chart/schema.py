"""The JSON schema of the chart's values, made of ``values.yaml``: which type each key has.

It refuses no key: which there are the templates say, with the one that is meant (``templates/_values.tpl``).
"""

from collections.abc import Mapping
from typing import Any, Final

from scripts.chart.keys import Key, keys

_COUNT: Final = {"type": ["integer", "string"], "pattern": "^[0-9]*$"}
"""A whole number, or one in quotes; an empty text is none."""
_EITHER: Final = {"type": ["boolean", "string"], "enum": [True, False, ""]}
_PORT: Final = {"type": ["integer", "string"]}
_TEXTS: Final = {
    "type": "object",
    "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
}
_PORTS: Final = {
    "type": "object",
    "patternProperties": {"^[0-9]+$": {"type": "string"}},
    "additionalProperties": False,
}
_ONE_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "image.pullPolicy": ("Always", "IfNotPresent", "Never"),
    "controller.kind": ("Deployment", "DaemonSet"),
    "controller.service.type": ("LoadBalancer", "NodePort", "ClusterIP"),
    "defaultBackend.service.type": ("ClusterIP", "NodePort", "LoadBalancer"),
    "controller.service.internal.type": ("", "LoadBalancer", "NodePort", "ClusterIP"),
    "controller.admissionWebhooks.failurePolicy": ("Ignore", "Fail"),
}
_SAME_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "externalTrafficPolicy": ("", "Local", "Cluster"),
    "sessionAffinity": ("", "None", "ClientIP"),
    "ipFamilyPolicy": ("", "SingleStack", "PreferDualStack", "RequireDualStack"),
    "unhealthyPodEvictionPolicy": ("", "AlwaysAllow", "IfHealthyBudget"),
}
_OTHERWISE: Final[Mapping[str, Mapping[str, Any]]] = {
    "image.tag": {"type": ["string", "number"]},
    "revisionHistoryLimit": _COUNT,
    "tcp": _PORTS,
    "udp": _PORTS,
    "controller.config": _TEXTS,
    "controller.addHeaders": _TEXTS,
    "controller.proxySetHeaders": _TEXTS,
    "controller.extraArgs": {
        "type": "object",
        "additionalProperties": {"type": ["string", "number", "boolean", "array", "null"]},
    },
    "controller.allowSnippetAnnotations": _EITHER,
    "controller.publishNodeAddresses": _EITHER,
    "controller.hostname": {"type": ["string", "object"]},
    "controller.shutdownDelaySeconds": {"type": ["number", "string"]},
    "controller.minAvailable": {"type": ["integer", "string"]},
    "controller.maxUnavailable": {"type": ["integer", "string"]},
    "controller.nodeSelector": {"type": "object", "additionalProperties": {"type": "string"}},
    "defaultBackend.minAvailable": {"type": ["integer", "string"]},
    "controller.containerPort": {
        "type": "object",
        "required": ["http", "https"],
        "additionalProperties": {"type": "integer"},
    },
}
_NUMBERS: Final = (
    "terminationGracePeriodSeconds", "minReadySeconds", "failureThreshold", "targetCPUUtilizationPercentage",
    "targetMemoryUtilizationPercentage", "healthCheckNodePort",
)  # fmt: skip
_LISTS_OF_TEXTS: Final = (
    "aliases", "namespaces", "clusterIPs", "externalIPs", "loadBalancerSourceRanges", "ipFamilies", "targetLabels",
)  # fmt: skip


def schema() -> dict[str, Any]:
    """Return the schema as plain values."""
    whole: dict[str, Any] = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}
    for one in keys():
        *above, name = one.path.split(".")
        holder = whole
        for parent in above:
            holder = holder["properties"][parent]
        holder.setdefault("properties", {})[name] = {"description": one.comment, **_type(one, name)}
        # A mapping that is taken away by null has no values to be looked at.
        if one.has_keys:
            holder.setdefault("required", []).append(name)
    return whole


def _type(one: Key, name: str) -> Mapping[str, Any]:
    if one.path in _ONE_OF:
        return {"enum": list(_ONE_OF[one.path])}
    if one.path in _OTHERWISE:
        return _OTHERWISE[one.path]
    if name in _SAME_NAMES:
        return {"enum": list(_SAME_NAMES[name])}
    if name == "allocateLoadBalancerNodePorts":
        return _EITHER
    if name in _NUMBERS or ".nodePorts.h" in one.path:
        return _COUNT
    if ".targetPorts.h" in one.path:
        return _PORT
    match one.default:
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer"}
        case list():
            items = {"items": {"type": "string"}} if name in _LISTS_OF_TEXTS else {}
            return {"type": "array", **items}
        case dict():
            return {"type": "object"}
    return {"type": "string"}
