"""Annotations of ingress-nginx that no family honors.

They stand here for their page, and for the values by which nothing is asked for: these are taken in silence.
What becomes of an Ingress that does ask is decided in ``ingress.annotations.access.guards``.
"""

from collections.abc import Mapping
from typing import Final

from ingress.annotations.contract.values import Annotation, ValueRefused, parse_boolean

_SERVED: Final = "the Ingress is served without it"

UNHONORED: Final[Mapping[str, Annotation]] = {
    "use-port-in-redirects": Annotation(
        "",
        parse_boolean,
        values="boolean; false",
        meaning="is not honored: a redirect to a path names the port that was asked, also by default, and one to HTTPS its port where that is not 443; "
        "nginx would name the port that it listens at itself, which clients of a Service do not know",
        differs=_SERVED,
    ),
}
"""By name; their settings are nobody's."""


def asks_for_nothing(name: str, value: str) -> bool:
    """Whether *value* leaves things as they are in any case, so that nobody need be told of it."""
    row = UNHONORED.get(name)
    if row is None:
        return False
    try:
        return not row.parse(value)
    except ValueRefused:
        return False
