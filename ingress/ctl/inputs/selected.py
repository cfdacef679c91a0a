"""What a controller with ``--watch-namespace-selector`` leaves alone of what was read."""

from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping
from typing import Final

from ingress.cluster.kinds import KINDS
from ingress.cluster.namespace_labels import not_selected
from ingress.ctl.inputs.input import Unread
from ingress.model.cluster.label_selectors import LabelSelector
from ingress.model.cluster.objects import ObjectId, ObjectKey, Projection
from ingress.translate.readers.gateway.objects.names import NAMESPACE
from ingress.wording import first_of, number_of

_NAMED: Final = 3
_ABSENT: Final = "--watch-namespace-selector goes by labels, and no such Namespace was read: kubectl get namespaces --output=yaml writes them"


def left_alone(
    objects: Mapping[ObjectId, Projection],
    selector: LabelSelector | None,
    unknown: Container[str] = (),
) -> tuple[Collection[ObjectId], tuple[Unread, ...]]:
    """Return those of *objects* that *selector* does not let in, and what is to be told of them.

    Nothing is said of those in namespaces of which the labels are *unknown*.
    """
    if selector is None:
        return (), ()
    left = tuple(
        one for one in not_selected(objects, selector, KINDS.selected) if one[1].namespace not in unknown
    )
    return left, tuple(_told(Counter(key.namespace for _, key in left), objects))


def _told(counts: Counter[str], objects: Mapping[ObjectId, Projection]) -> Iterator[Unread]:
    absent = [name for name in sorted(counts) if (NAMESPACE, ObjectKey("", name)) not in objects]
    others = [name for name in sorted(counts) if name not in absent]
    for names, why in (
        (others, "--watch-namespace-selector does not select that"),
        (absent, _ABSENT),
    ):
        if names:
            what = number_of(sum(counts[name] for name in names), "object")
            where = f"namespace{'s' if len(names) > 1 else ''} {first_of(names, _NAMED)}"
            yield Unread(f"{what} of {where}", why, may_have_routes=names is absent)
