"""What the operator says for all Ingresses: settings for each family, which hold where an annotation says nothing.

The value has a field for each family, by its name, so that an option decides one setting of one family by its path:
``bodies.max_bytes``.
"""

from typing import Any, Final

from attrs import AttrsInstance, field, make_class

from ingress.annotations.annotations import DEFAULTS, FAMILIES, AnnotationSettings, settings_of
from ingress.annotations.contract.values import Family

_Settings: Any = make_class(
    "OperatorSettings", {family.name: field(default=family.settings) for family in FAMILIES}, frozen=True
)

NOTHING_SAID: Final[AttrsInstance] = _Settings()
"""The defaults of every family."""


def usual_settings(operators: AttrsInstance) -> AnnotationSettings:
    """Return what *operators*, such a value, has for an Ingress that says nothing; ``DEFAULTS`` itself where that is all."""
    differing: list[tuple[Family[Any], object]] = []
    for family in FAMILIES:
        settings = getattr(operators, family.name, family.settings)
        if settings != family.settings:
            differing.append((family, settings))
    return settings_of(*differing) if differing else DEFAULTS
