"""Options that come of families of annotations: what the operator says for all Ingresses.

A family says by ``operators`` of an annotation, and by its own ``options``, what there is; none of them is written down
once more.  What reads an annotation reads the option of its name, too.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any

from ingress.annotations.contract.values import Annotation, Family
from ingress.options.option import Option
from ingress.options.values import read_as_annotation


def family_options(families: Iterable[Family[Any]], taken: Collection[str]) -> tuple[Option, ...]:
    """Return the options of *families*, sorted by name, but for those whose names are *taken* by options of the same meaning."""
    options = (
        _option(family, name, annotation)
        for family in families
        for name, annotation in (
            *((name, one) for name, one in family.annotations.items() if one.operators),
            *family.options.items(),
        )
        if name not in taken
    )
    return tuple(sorted(options, key=lambda option: option.name))


def _option(family: Family[Any], name: str, annotation: Annotation) -> Option:
    meaning = annotation.meaning or "what holds where no annotation of this name says otherwise"
    about = f"{meaning[:1].upper()}{meaning[1:]}"
    return Option(
        name=name,
        value="VALUE",
        read=_reading(annotation),
        refused=annotation.refused,
        to=f"translate.operators.{family.name}.{annotation.setting}",
        running=True,
        shows_default=False,
        help=f"{about} ({annotation.values})." if annotation.values else f"{about}.",
    )


def _reading(annotation: Annotation) -> Callable[[str], object]:
    def read(text: str) -> object:
        value = read_as_annotation(annotation.parse, text)
        if annotation.unhonored and value:
            raise ValueError("is not honored by this controller")
        return value

    return read
