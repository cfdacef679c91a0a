"""The affinity of pods, where what it selects are the pods of ingress-nginx.  Pure."""

from typing import Any

from ingress.ctl.inputs.ingress_nginx.raw_selectors import selects
from ingress.ctl.inputs.ingress_nginx.raw_values import object_in, objects_in
from ingress.ctl.inputs.input import Workload
from ingress.ctl.migrate.installation.overlays import OWN_LABELS
from ingress.object_fields import RawObject, is_object

_SCHEDULING = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_NODE = "kubernetes.io/hostname"


def with_own_affinity(affinity: RawObject, workload: Workload) -> RawObject:
    """Return *affinity* of the pods of *workload*; where it is about these, it is about those of this controller."""
    own = dict(affinity)
    for name in ("podAffinity", "podAntiAffinity"):
        if is_object(rules := affinity.get(name)):
            own[name] = {field: _terms(field, terms, workload) for field, terms in rules.items()}
    return own


def is_alone_on_node(affinity: RawObject, workload: Workload) -> bool:
    """Whether *affinity* lets no two pods of *workload* run on one node."""
    rules = object_in(affinity, "podAntiAffinity")
    return any(
        one.get("topologyKey") == _NODE and selects(object_in(one, "labelSelector"), workload.labels)
        for one in objects_in(rules, _SCHEDULING[0])
    )


def _terms(field: str, terms: object, workload: Workload) -> object:
    if not isinstance(terms, list):
        return terms
    if field == _SCHEDULING[0]:
        return [with_own_selector(one, workload) if is_object(one) else one for one in terms]
    return [
        {**one, "podAffinityTerm": with_own_selector(object_in(one, "podAffinityTerm"), workload)}
        if is_object(one)
        else one
        for one in terms
    ]


def with_own_selector(term: RawObject, workload: Workload) -> RawObject:
    """Return *term*, which has a ``labelSelector``; one of the pods of *workload* is one of this controller's pods."""
    if not selects(object_in(term, "labelSelector"), workload.labels):
        return term
    own: dict[str, Any] = {**term, "labelSelector": {"matchLabels": dict(OWN_LABELS)}}
    if own.get("namespaces") == [workload.key.namespace]:
        del own["namespaces"]
    return own
