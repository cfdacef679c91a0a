"""Whether somebody who leaves ingress-nginx has requests inspected by ModSecurity, which takes a component and an image here.  Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from ingress.annotations.firewall.family import CORE_RULES, ENABLE, OPTION, SNIPPET
from ingress.ctl.lint.finding import ObjectReport
from ingress.options.config_map_keys import OFF

PROCESSES: Final = f"--{OPTION}=2"
"""What the component ``firewall`` adds."""


def asks_for_firewall(ours: Iterable[ObjectReport], config_map: Mapping[str, str]) -> bool:
    """Whether one of *ours* asks for it, or a ConfigMap of this content does for all."""
    if _asks(config_map.get(ENABLE, "")):
        return True
    return any(
        annotation.name in (ENABLE, CORE_RULES, SNIPPET) and _asks(annotation.value)
        for one in ours
        for annotation in one.annotations
    )


def _asks(value: str) -> bool:
    return value.strip().lower() not in OFF
