"""The arguments that this controller gets in the place of ingress-nginx's.  Pure.

They are whole: those that the manifests in ``k8s/`` have, and then what was taken over.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ingress.ctl.inputs.installation import Installation
from ingress.ctl.inputs.taken_arguments import USUAL_CLASSES, Taken
from ingress.ctl.migrate.installation.overlays import LOAD_BALANCER, overlay_for

_PUBLISH: Final = "publish-service"
_PORT: Final = re.compile(r"tcp:([0-9]+)")


def own_arguments(found: Installation, taken: Sequence[Taken]) -> tuple[str, ...]:
    """Return all arguments, as ``args`` has them; the last two are the classes."""
    given = dict(_given(taken))
    overlay = overlay_for(found)
    texts: dict[str, str | None] = {**overlay.arguments}
    if not overlay.service_type and found.services and any(one.name == _PUBLISH for one in taken):
        # A Service beside the network of nodes.
        texts[_PUBLISH] = LOAD_BALANCER.arguments[_PUBLISH]
    if any(one.given == "--update-status=false" for one in taken):
        texts.pop(_PUBLISH, None)
        given.pop("publish-status-address", None)
    if "publish-status-address" in given:
        texts.pop(_PUBLISH, None)
    if not found.workload.on_host_network:
        # A Service finds the ports by their names, and redirects to HTTPS go on to name none.
        given.pop("http", None)
        given.pop("https", None)
    probes = given.pop("probes", None)
    if probes is not None:
        # At the address where they are anyway.
        texts["probes"] = _PORT.sub(probes, texts["probes"] or "", count=1)
    classes = {name: given.pop(name, usual) for name, usual in USUAL_CLASSES.items()}
    return tuple(map(_argument, [*{**texts, **given}.items(), *classes.items()]))


def _given(taken: Sequence[Taken]) -> Iterator[tuple[str, str | None]]:
    for one in taken:
        if one.option and not one.is_own:
            name, has_value, value = one.option.partition("=")
            yield name, value if has_value else None


def _argument(option: tuple[str, str | None]) -> str:
    name, value = option
    return f"--{name}" if value is None else f"--{name}={value}"
