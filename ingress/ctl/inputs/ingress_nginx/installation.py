"""What is around the pods of an ingress-nginx: the Services that lead to them, what scales, spares and guards them, and its class.  Pure.

They are looked for among raw objects, so everything may stand anywhere; what has another shape than the API gives it belongs to nobody.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from ingress.ctl.inputs.ingress_nginx.network_policies import Policies, Policy, labels_of_namespace
from ingress.ctl.inputs.ingress_nginx.raw_selectors import known_labels, selector_of
from ingress.ctl.inputs.ingress_nginx.raw_values import name_of, namespace_of, object_in, objects_in, texts_in
from ingress.ctl.inputs.input import Workload
from ingress.model.cluster.label_selectors import LabelSelector
from ingress.model.frozen import frozen
from ingress.object_fields import RawObject

SERVICE: Final = "Service"
AUTOSCALER: Final = "HorizontalPodAutoscaler"
SCALED_OBJECT: Final = "ScaledObject"
"""KEDA's, which makes an autoscaler of it."""
BUDGET: Final = "PodDisruptionBudget"
INGRESS_CLASS: Final = "IngressClass"
NETWORK_POLICY: Final = "NetworkPolicy"
NAMESPACE: Final = "Namespace"
IS_DEFAULT: Final = "ingressclass.kubernetes.io/is-default-class"
"""The annotation of the class that Ingresses get which name none."""
MOST_SERVICES: Final = 10
"""Services that are kept of one installation: it has two, where there is an address for inside."""
OUTSIDE: Final = ("LoadBalancer", "NodePort")
"""Types of Services that are reached from outside."""
_OWN_TRAFFIC: Final = ("metrics", "webhook", "prometheus")
"""Names that ports of its container have which nobody's requests come to."""
_IN_NAMESPACES: Final = frozenset({AUTOSCALER, SCALED_OBJECT, BUDGET, NETWORK_POLICY})


@frozen(eq=False)
class Installation:
    """One ingress-nginx with what is around it, as raw objects that name their namespaces."""

    workload: Workload
    services: tuple[RawObject, ...] = ()
    """Those that lead requests to its pods; the first is the one whose address it publishes, or else the likeliest."""
    autoscaler: RawObject | None = None
    scaled_object: RawObject | None = None
    """If there is one, it has made the autoscaler."""
    budget: RawObject | None = None
    default_classes: frozenset[tuple[str, str]] = frozenset()
    """Names and controllers of IngressClasses that Ingresses get which name none."""
    classes_with_parameters: frozenset[tuple[str, str]] = frozenset()
    """The same of those that refer to parameters."""
    policies: tuple[Policy, ...] = ()
    """The NetworkPolicies that let it in, and those about its own pods."""


def belonging(raw: RawObject, namespace: str) -> RawObject | None:
    """Return *raw* with its namespace, which is *namespace* where it names none, if it may belong to an ingress-nginx.

    Of Services, of which each application has some, those may that are reached from outside, or speak of ingress in what they select;
    of IngressClasses, which are in no namespace, the default and those with parameters; of Namespaces the metadata.
    """
    kind = raw.get("kind")
    metadata = object_in(raw, "metadata")
    if kind == INGRESS_CLASS:
        is_meant = _is_default(raw) or _has_parameters(raw)
        return {**raw, "metadata": {**metadata, "namespace": ""}} if is_meant else None
    if kind == NAMESPACE:
        return {"kind": kind, "metadata": {**metadata, "namespace": name_of(raw)}}
    if kind == SERVICE:
        spec = object_in(raw, "spec")
        selector = object_in(spec, "selector")
        if not selector or not (
            spec.get("type") in OUTSIDE
            or spec.get("externalIPs")
            or any("ingress" in text for text in selector.values() if isinstance(text, str))
        ):
            return None
    elif kind not in _IN_NAMESPACES:
        return None
    return {**raw, "metadata": {**metadata, "namespace": namespace_of(raw) or namespace}}


class Surroundings:
    """What may be around some ingress-nginxes, in the order in which it is looked for: there may be hundreds of them, and thousands of Services."""

    def __init__(self, around: Iterable[RawObject]) -> None:
        self._services: dict[tuple[str, str, str], list[RawObject]] = {}
        self._scaling: dict[tuple[str, str, str, str], RawObject] = {}
        self._budgets: dict[str, list[tuple[LabelSelector, RawObject]]] = {}
        self._classes: list[RawObject] = []
        policies: list[RawObject] = []
        labels: dict[str, Mapping[str, str]] = {}
        services: dict[tuple[str, str], RawObject] = {}
        for one in around:
            namespace = namespace_of(one)
            match one.get("kind"):
                case "Service":
                    services.setdefault((namespace, name_of(one)), one)
                case "HorizontalPodAutoscaler" | "ScaledObject" as kind:
                    target = object_in(object_in(one, "spec"), "scaleTargetRef")
                    of = str(target.get("kind") or "Deployment"), str(target.get("name"))
                    self._scaling.setdefault((namespace, kind, *of), one)
                case "PodDisruptionBudget":
                    selector = selector_of(object_in(object_in(one, "spec"), "selector"))
                    if selector.requirements:
                        self._budgets.setdefault(namespace, []).append((selector, one))
                case "IngressClass":
                    self._classes.append(one)
                case "NetworkPolicy":
                    policies.append(one)
                case "Namespace":
                    labels.setdefault(namespace, labels_of_namespace(one))
        self._by_name = {f"{namespace}/{name}": one for (namespace, name), one in services.items()}
        common = Counter(label for one in services.values() for label in _labels_of(one))
        for one in sorted(services.values(), key=_likeliest):
            # Whatever has all labels that a Service selects by has that one, which the fewest others select by.
            label = min(_labels_of(one), key=lambda label: common[label], default=None)
            if label is not None:
                self._services.setdefault(label, []).append(one)
        self._policies = Policies(policies, labels)

    def installation_of(self, workload: Workload, published: str) -> Installation:
        """Return *workload* with what is its own; *published* is NAMESPACE/NAME of the Service whose address it shows."""
        of = workload.key.namespace
        target = workload.kind, workload.key.name
        labels = known_labels(workload.labels)
        budgets = self._budgets.get(of, ())
        return Installation(
            workload,
            tuple(self._leading_to(workload, published)),
            self._scaling.get((of, AUTOSCALER, *target)),
            self._scaling.get((of, SCALED_OBJECT, *target)),
            next((one for selector, one in budgets if selector.is_met(labels)), None),
            _named(filter(_is_default, self._classes)),
            _named(filter(_has_parameters, self._classes)),
            () if workload.on_host_network else self._policies.about(of, labels),
        )

    def _leading_to(self, workload: Workload, published: str) -> Sequence[RawObject]:
        """Return those that lead to *workload*, the one *published* first, and as many of the others as are kept."""
        of = workload.key.namespace
        found: list[RawObject] = []
        for label in known_labels(workload.labels).items():
            group = (one for one in self._services.get((of, *label), ()) if _leads_to(one, workload))
            found += islice(group, MOST_SERVICES)
        found.sort(key=_likeliest)
        first = self._by_name.get(published)
        if first is not None and namespace_of(first) == of and _leads_to(first, workload):
            found = [first, *(one for one in found if one is not first)]
        return found[:MOST_SERVICES]


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


def _labels_of(service: RawObject) -> list[tuple[str, str, str]]:
    """Return the labels that *service* selects by, each with its namespace."""
    selector = texts_in(object_in(service, "spec"), "selector")
    return [(namespace_of(service), *label) for label in selector.items()]


def _leads_to(service: RawObject, workload: Workload) -> bool:
    spec = object_in(service, "spec")
    labels = workload.labels
    return all(labels.get(name) == value for name, value in object_in(spec, "selector").items()) and any(
        is_for_requests(port, workload) for port in objects_in(spec, "ports")
    )


def _likeliest(service: RawObject) -> tuple[int, str]:
    match object_in(service, "spec").get("type"):
        case "LoadBalancer":
            return 0, name_of(service)
        case "NodePort":
            return 1, name_of(service)
        case _:
            return 2, name_of(service)


def _is_default(ingress_class: RawObject) -> bool:
    return texts_in(object_in(ingress_class, "metadata"), "annotations").get(IS_DEFAULT) == "true"


def _has_parameters(ingress_class: RawObject) -> bool:
    return bool(object_in(object_in(ingress_class, "spec"), "parameters"))


def _named(classes: Iterable[RawObject]) -> frozenset[tuple[str, str]]:
    """Return the names and controllers of *classes*."""
    return frozenset((name_of(one), str(object_in(one, "spec").get("controller"))) for one in classes)
