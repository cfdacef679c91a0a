"""What becomes of an ingress-nginx's arguments and of what is around it, and the arguments that this controller gets in their place.  Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ingress.ctl.inputs.ingress_nginx.installation import Installation, Surroundings
from ingress.ctl.inputs.ingress_nginx.taken_arguments import (
    REFUSED,
    UNKNOWN,
    USUAL_CLASSES,
    Taken,
    taken_arguments,
)
from ingress.ctl.inputs.input import Workload
from ingress.ctl.migrate.firewall import PROCESSES
from ingress.ctl.migrate.installation.kustomization import kustomization
from ingress.ctl.migrate.installation.overlays import LOAD_BALANCER, overlay_for
from ingress.ctl.migrate.installation.traffic import traffic_of
from ingress.ctl.migrate.migration import Argument, ArgumentsReport
from ingress.options.ingress_nginx_arguments import Becomes

_WORST: Final = (
    UNKNOWN,
    REFUSED,
    *(one.value for one in (Becomes.NOT_HONORED, Becomes.OTHER, Becomes.OWN, Becomes.SAME, Becomes.NEEDLESS)),
)
_WEBHOOK: Final = "validating-webhook"
_PUBLISH: Final = "publish-service"
_ADDRESS: Final = "publish-status-address"
_INTERNAL: Final = "report-node-internal-ip-address"
_PORT: Final = re.compile(r"tcp:([0-9]+)")


def arguments_report(workload: Workload, around: Surroundings, *, inspects: bool = False) -> ArgumentsReport:
    """Return what becomes of the arguments of *workload*, and of what of *around* belongs to it; *inspects* tells that requests are to be inspected."""
    taken = taken_arguments(workload)
    published = (one.given.partition("=")[2] for one in taken if one.given.startswith(f"--{_PUBLISH}="))
    found = around.installation_of(workload, next(published, ""))
    own = own_arguments(found, taken)
    if inspects:
        *others, byname, controller = own
        own = (*others, PROCESSES, byname, controller)
    by_name = {one[2:].partition("=")[0]: one for one in own}
    rows = [Argument(one, by_name.get(one.option.partition("=")[0], "")) for one in taken]
    rows.sort(key=lambda row: (_WORST.index(row.taken.becomes), row.taken.name))
    has_webhook = any(one.name == _WEBHOOK and one.is_lost for one in taken)
    files = kustomization(found, own, traffic_of(taken), has_webhook=has_webhook)
    return ArgumentsReport(workload, tuple(rows), own, files.fields, files.texts)


def own_arguments(found: Installation, taken: Sequence[Taken]) -> tuple[str, ...]:
    """Return all arguments of this controller, as ``args`` has them: those that the manifests in ``k8s/`` have, and then what was taken over.

    The last two are the classes.
    """
    given = dict(_given(taken))
    overlay = overlay_for(found)
    texts: dict[str, str | None] = {**overlay.arguments}
    if not overlay.service_type and found.services and any(one.name == _PUBLISH for one in taken):
        # A Service beside the network of nodes.
        texts[_PUBLISH] = LOAD_BALANCER.arguments[_PUBLISH]
    is_internal = given.pop(_INTERNAL, "") is None
    if any(one.given == "--update-status=false" for one in taken):
        texts.pop(_PUBLISH, None)
        given.pop(_ADDRESS, None)
    elif _ADDRESS in given:
        texts.pop(_PUBLISH, None)
    elif _shows_nodes(found, taken):
        texts.pop(_PUBLISH, None)
        given["publish-node-addresses"] = None
        if is_internal:
            given[_INTERNAL] = None
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


def _shows_nodes(found: Installation, taken: Sequence[Taken]) -> bool:
    """Whether Ingresses have the addresses of nodes, as they have where nothing else is said.

    What runs behind a balancer and not on each node had a Service that nobody named, and gets one that is named.
    """
    said = {one.name for one in taken if one.given != f"--{one.name}="}
    if said & {_PUBLISH, _ADDRESS}:
        return False
    is_on_nodes = overlay_for(found) is not LOAD_BALANCER or found.workload.kind == "DaemonSet"
    return is_on_nodes or any(one.given == f"--{_INTERNAL}=true" for one in taken)


def _given(taken: Sequence[Taken]) -> Iterator[tuple[str, str | None]]:
    for one in taken:
        if one.option and not one.is_own:
            name, has_value, value = one.option.partition("=")
            yield name, value if has_value else None


def _argument(option: tuple[str, str | None]) -> str:
    name, value = option
    return f"--{name}" if value is None else f"--{name}={value}"
