"""What scales this controller in the place of what scales an ingress-nginx: an autoscaler, or an object of KEDA.  Pure.

An autoscaler gives its numbers to that of ``k8s/components/autoscaler``.  A ScaledObject becomes one of this controller with the triggers that
mean the same here; where none does, its numbers go to the component, too.

Source: ``ScaledObject`` of ``keda.sh/v1alpha1``.
"""

from collections.abc import Iterator
from typing import Any, Final

from ingress.ctl.inputs.ingress_nginx.installation import Installation
from ingress.ctl.inputs.ingress_nginx.raw_values import name_of, object_in, objects_in, texts_in
from ingress.ctl.migrate.installation.carried import Carried, Carrying, is_sound
from ingress.ctl.migrate.installation.overlays import OWN_LABELS, OWN_NAME, own_kind
from ingress.model.frozen import frozen
from ingress.object_fields import RawObject

_LEAST_REPLICAS: Final = 2
"""Those of the component."""
_MOST_OF_KEDA: Final = 100
"""``maxReplicaCount`` where it is not said."""
_ONE_ON_EACH: Final = "there is one pod on each node"
_TWO: Final = "two here, so that one serves while the other is replaced"
_OF_RESOURCES: Final = ("cpu", "memory")
_SAME: Final = ("pollingInterval", "cooldownPeriod", "initialCooldownPeriod")


@frozen
class Scaling:
    """What is *carried* to the component, which is there if anything is, or the *scaled_object* in its place."""

    carried: Carried
    scaled_object: RawObject | None = None


def scaling_carried(found: Installation) -> Scaling:
    """Return what is carried over from what scales *found*, if anything does."""
    if found.scaled_object is not None:
        return _of_keda(found, found.scaled_object)
    raw = found.autoscaler
    if raw is None:
        return Scaling(Carried())
    carrying = Carrying(f"HorizontalPodAutoscaler {found.workload.key.namespace}/{name_of(raw)}")
    if own_kind(found) != "Deployment":
        carrying.leave("all of it", _ONE_ON_EACH)
        return Scaling(carrying.carried())
    spec = object_in(raw, "spec")
    _take_numbers(carrying, spec, "minReplicas", "maxReplicas")
    for name, why in (
        ("metrics", "the component has half of a processor for each replica (docs/sizing.md)"),
        ("behavior", "the component has one replica less in two minutes at most"),
    ):
        if spec.get(name):
            carrying.leave(name, why)
    return Scaling(carrying.carried())


def _take_numbers(carrying: Carrying, spec: RawObject, least_name: str, most_name: str) -> None:
    least, most = spec.get(least_name), spec.get(most_name)
    if isinstance(most, int):
        carrying.take(most_name, "/spec/maxReplicas", max(most, _LEAST_REPLICAS))
    if isinstance(least, int) and least > _LEAST_REPLICAS:
        carrying.take(least_name, "/spec/minReplicas", least)
    elif isinstance(least, int) and least < _LEAST_REPLICAS:
        carrying.leave(least_name, _TWO)


def _of_keda(found: Installation, raw: RawObject) -> Scaling:
    carrying = Carrying(f"ScaledObject {found.workload.key.namespace}/{name_of(raw)}")
    if own_kind(found) != "Deployment":
        carrying.leave("all of it", _ONE_ON_EACH)
        return Scaling(carrying.carried())
    for name in texts_in(object_in(raw, "metadata"), "annotations"):
        if "keda.sh/" in name:
            carrying.leave(f"annotation {name}", "it is about that object alone")
    spec = object_in(raw, "spec")
    triggers = list(_triggers(carrying, spec))
    if not triggers:
        carrying.leave(
            "triggers",
            "none means the same here: the component autoscaler stands in their place (docs/sizing.md)",
        )
        _take_numbers(
            carrying, {"maxReplicaCount": _MOST_OF_KEDA, **spec}, "minReplicaCount", "maxReplicaCount"
        )
        return Scaling(carrying.carried())
    own = {name: value for name, value in _own_spec(carrying, spec, triggers).items() if value is not None}
    metadata = {"name": OWN_NAME, "namespace": OWN_NAME, "labels": dict(OWN_LABELS)}
    scaled: RawObject = {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": metadata,
        "spec": own,
    }
    return Scaling(carrying.carried(), scaled)


def _triggers(carrying: Carrying, spec: RawObject) -> Iterator[RawObject]:
    """Yield those that mean the same here, and say why the others do not."""
    for number, one in enumerate(objects_in(spec, "triggers")):
        field, sort, metadata = f"triggers[{number}]", one.get("type"), texts_in(one, "metadata")
        reference = object_in(one, "authenticationRef")
        if not is_sound(one):
            carrying.leave(field, "no such value is in the API")
        elif sort in _OF_RESOURCES and "Utilization" in (
            one.get("metricType", "Utilization"),
            metadata.get("type"),
        ):
            carrying.leave(
                field, "it is in percent of what ingress-nginx requests, and pods here request something else"
            )
        elif any("nginx" in text.lower() for text in metadata.values()):
            carrying.leave(
                field,
                "it asks for something of ingress-nginx: docs/metrics.md has the series of this controller",
            )
        elif any(name.endswith("FromEnv") for name in metadata):
            carrying.leave(field, "it reads a variable of the pods of ingress-nginx")
        elif reference and reference.get("kind", "TriggerAuthentication") == "TriggerAuthentication":
            carrying.leave(field, "its TriggerAuthentication is in the namespace of ingress-nginx")
        else:
            carrying.say_taken(field)
            yield {name: value for name, value in one.items() if name != "metadata"} | {
                "metadata": _of_own_container(sort, object_in(one, "metadata"))
            }


def _of_own_container(sort: object, metadata: RawObject) -> RawObject:
    """Return *metadata* of a trigger; the container that it names, if it goes by resources of one, is called otherwise here."""
    return (
        {**metadata, "containerName": OWN_NAME}
        if sort in _OF_RESOURCES and "containerName" in metadata
        else metadata
    )


def _own_spec(carrying: Carrying, spec: RawObject, triggers: list[RawObject]) -> dict[str, Any]:
    least, most = spec.get("minReplicaCount"), spec.get("maxReplicaCount")
    least = least if isinstance(least, int) else 0
    most = most if isinstance(most, int) else _MOST_OF_KEDA
    own: dict[str, Any] = {
        "scaleTargetRef": {"name": OWN_NAME},
        "minReplicaCount": max(least, _LEAST_REPLICAS),
        "maxReplicaCount": max(most, _LEAST_REPLICAS),
    }
    if spec.get("maxReplicaCount") is not None:
        carrying.say_taken("maxReplicaCount")
    if least >= _LEAST_REPLICAS:
        carrying.say_taken("minReplicaCount")
    elif spec.get("minReplicaCount") is not None:
        carrying.leave("minReplicaCount", _TWO)
    if spec.get("idleReplicaCount") is not None:
        carrying.leave("idleReplicaCount", _TWO)
    for name in _SAME:
        if isinstance(spec.get(name), int):
            own[name] = spec[name]
            carrying.say_taken(name)
    is_whole = len(triggers) == len(objects_in(spec, "triggers"))
    advanced = object_in(spec, "advanced")
    behavior = object_in(object_in(advanced, "horizontalPodAutoscalerConfig"), "behavior")
    if behavior and is_sound(behavior):
        own["advanced"] = {"horizontalPodAutoscalerConfig": {"behavior": behavior}}
        carrying.say_taken("advanced.horizontalPodAutoscalerConfig.behavior")
    restores = advanced.get("restoreToOriginalReplicaCount")
    if isinstance(restores, bool):
        own.setdefault("advanced", {})["restoreToOriginalReplicaCount"] = restores
        carrying.say_taken("advanced.restoreToOriginalReplicaCount")
    if advanced.get("scalingModifiers"):
        if is_whole and is_sound(advanced["scalingModifiers"]):
            own.setdefault("advanced", {})["scalingModifiers"] = advanced["scalingModifiers"]
            carrying.say_taken("advanced.scalingModifiers")
        else:
            carrying.leave("advanced.scalingModifiers", "its formula may name a trigger that is not here")
    if spec.get("fallback"):
        if is_sound(spec["fallback"]) and any(one.get("type") not in _OF_RESOURCES for one in triggers):
            own["fallback"] = spec["fallback"]
            carrying.say_taken("fallback")
        else:
            carrying.leave("fallback", "it is for triggers that are not here")
    return {**own, "triggers": triggers}
