"""What is around the pods of an ingress-nginx: the Services that lead to them, what scales them, and its class.  Pure.

They are looked for among raw objects, so everything may stand anywhere; what has another shape than the API gives it belongs to nobody.
"""

from collections.abc import Iterable
from typing import Final

from ingress.ctl.inputs.input import Workload
from ingress.fields import RawObject, is_object
from ingress.model.frozen import frozen

SERVICE: Final = "Service"
AUTOSCALER: Final = "HorizontalPodAutoscaler"
INGRESS_CLASS: Final = "IngressClass"
IS_DEFAULT: Final = "ingressclass.kubernetes.io/is-default-class"
"""The annotation of the class that Ingresses get which name none."""
MOST_SERVICES: Final = 10
"""Services that are kept of one installation: it has two, where there is an address for inside."""
OUTSIDE: Final = ("LoadBalancer", "NodePort")
"""Types of Services that are reached from outside."""
_OWN_TRAFFIC: Final = ("metrics", "webhook", "prometheus")
"""Names that ports of its container have which nobody's requests come to."""


@frozen(eq=False)
class Installation:
    """One ingress-nginx with what is around it, as raw objects that name their namespaces."""

    workload: Workload
    services: tuple[RawObject, ...] = ()
    """Those that lead requests to its pods; the first is the one whose address it publishes, or else the likeliest."""
    autoscaler: RawObject | None = None
    default_classes: frozenset[tuple[str, str]] = frozenset()
    """Names and controllers of IngressClasses that Ingresses get which name none."""


def belonging(raw: RawObject, namespace: str) -> RawObject | None:
    """Return *raw* with its namespace, which is *namespace* where it names none, if it may belong to an ingress-nginx.

    Of Services, of which each application has some, those may that are reached from outside, or speak of ingress in what they select;
    of IngressClasses, which are in no namespace, the default.
    """
    kind = raw.get("kind")
    metadata = object_in(raw, "metadata")
    if kind == INGRESS_CLASS:
        is_default = texts_in(metadata, "annotations").get(IS_DEFAULT) == "true"
        return {**raw, "metadata": {**metadata, "namespace": ""}} if is_default else None
    if kind == SERVICE:
        spec = object_in(raw, "spec")
        selector = object_in(spec, "selector")
        if not selector or not (
            spec.get("type") in OUTSIDE
            or spec.get("externalIPs")
            or any("ingress" in text for text in selector.values() if isinstance(text, str))
        ):
            return None
    elif kind != AUTOSCALER:
        return None
    own = metadata.get("namespace")
    return {**raw, "metadata": {**metadata, "namespace": own if isinstance(own, str) and own else namespace}}


def by_namespace(around: Iterable[RawObject]) -> dict[str, list[RawObject]]:
    """Return the objects *around* by their namespaces; what is in none is under the empty name."""
    found: dict[str, list[RawObject]] = {}
    for one in around:
        namespace = object_in(one, "metadata").get("namespace")
        found.setdefault(namespace if isinstance(namespace, str) else "", []).append(one)
    return found


def installation_of(workload: Workload, around: Iterable[RawObject], published: str = "") -> Installation:
    """Return *workload* with what of *around* is its own; *published* is NAMESPACE/NAME of the Service whose address it shows."""
    grouped = by_namespace(around)
    near = grouped.get(workload.key.namespace, [])
    services = [one for one in near if one.get("kind") == SERVICE and _leads_to(one, workload)]
    services = list({name_of(one): one for one in reversed(services)}.values())
    services.sort(
        key=lambda one: (f"{workload.key.namespace}/{name_of(one)}" != published, _reach(one), name_of(one))
    )
    scaling = (one for one in near if one.get("kind") == AUTOSCALER and _scales(one, workload))
    classes = (one for one in grouped.get("", []) if one.get("kind") == INGRESS_CLASS)
    default = frozenset((name_of(one), str(object_in(one, "spec").get("controller"))) for one in classes)
    return Installation(workload, tuple(services[:MOST_SERVICES]), next(scaling, None), default)


def port_numbers(workload: Workload) -> dict[str, int]:
    """Return the ports of the container by their names."""
    named: dict[str, int] = {}
    for one in objects_in(workload.container, "ports"):
        name, number = one.get("name"), one.get("containerPort")
        if isinstance(name, str) and isinstance(number, int):
            named[name] = number
    return named


def is_for_requests(port: RawObject, workload: Workload) -> bool:
    """Whether requests come to *port* of a Service, and not whoever reads metrics or asks before an Ingress is written."""
    target = port.get("targetPort", port.get("port"))
    names = [name for name, number in port_numbers(workload).items() if target in (name, number)]
    return target not in _OWN_TRAFFIC and not any(name in _OWN_TRAFFIC for name in names)


def name_of(raw: RawObject) -> str:
    """Return the name of an object; empty where it has none."""
    name = object_in(raw, "metadata").get("name")
    return name if isinstance(name, str) else ""


def texts_in(raw: RawObject, name: str) -> dict[str, str]:
    """Return the members of a field that is an object, as far as they and their names are texts."""
    found = object_in(raw, name).items()
    return {key: text for key, text in found if isinstance(key, str) and isinstance(text, str)}


def object_in(raw: RawObject, name: str) -> RawObject:
    """Return a field that is an object; an empty one where it is none."""
    found = raw.get(name)
    return found if is_object(found) else {}


def objects_in(raw: RawObject, name: str) -> list[RawObject]:
    """Return the objects in a field that is a list."""
    found = raw.get(name)
    return [one for one in found if is_object(one)] if isinstance(found, list) else []


def _leads_to(service: RawObject, workload: Workload) -> bool:
    spec = object_in(service, "spec")
    selector = object_in(spec, "selector")
    labels = workload.labels
    return (
        bool(selector)
        and all(labels.get(name) == value for name, value in selector.items())
        and any(is_for_requests(port, workload) for port in objects_in(spec, "ports"))
    )


def _reach(service: RawObject) -> int:
    match object_in(service, "spec").get("type"):
        case "LoadBalancer":
            return 0
        case "NodePort":
            return 1
        case _:
            return 2


def _scales(autoscaler: RawObject, workload: Workload) -> bool:
    target = object_in(object_in(autoscaler, "spec"), "scaleTargetRef")
    return (target.get("kind"), target.get("name")) == (workload.kind, workload.key.name)
