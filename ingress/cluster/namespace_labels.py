"""Which objects lie in namespaces whose labels are like a selector wants them.  Pure."""

from collections.abc import Container, Iterator, Mapping

from ingress.model.cluster.label_selectors import LabelSelector
from ingress.model.cluster.objects import Kind, ObjectId, Projection
from ingress.translate.readers.gateway.objects.grants import Namespace
from ingress.translate.readers.gateway.objects.names import NAMESPACE


def is_selected(namespace: Projection | None, selector: LabelSelector) -> bool:
    """Whether the labels of *namespace*, if there is one that can be read, meet *selector*."""
    value = None if namespace is None else namespace.value
    return isinstance(value, Namespace) and selector.is_met(dict(value.labels))


def not_selected(
    objects: Mapping[ObjectId, Projection], selector: LabelSelector, kinds: Container[Kind]
) -> Iterator[ObjectId]:
    """Yield those of *objects*, which are all that there are, that are of *kinds* and lie where *selector* is not met."""
    selected = {
        key.name
        for (kind, key), projection in objects.items()
        if kind is NAMESPACE and is_selected(projection, selector)
    }
    for object_id in objects:
        kind, key = object_id
        if kind in kinds and key.namespace not in selected:
            yield object_id
