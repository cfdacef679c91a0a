"""What becomes of an ingress-nginx's arguments and of what is around it, for the report.  Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from ingress.ctl.inputs.input import Workload
from ingress.ctl.inputs.installation import installation_of, port_numbers
from ingress.ctl.inputs.taken_arguments import REFUSED, UNKNOWN, Taken, taken_arguments
from ingress.ctl.migrate.installation.kustomization import kustomization
from ingress.ctl.migrate.migration import Argument, ArgumentsReport
from ingress.ctl.migrate.own_arguments import own_arguments
from ingress.fields import RawObject
from ingress.options.ingress_nginx_arguments import Becomes

_WORST: Final = (
    UNKNOWN,
    REFUSED,
    *(one.value for one in (Becomes.NOT_HONORED, Becomes.OTHER, Becomes.OWN, Becomes.SAME, Becomes.NEEDLESS)),
)
_WEBHOOK: Final = "validating-webhook"
_PUBLISH: Final = "--publish-service="
_TRAFFIC: Final = {"http": ("http-port", 80), "https": ("https-port", 443)}
"""The ports of the traffic by their names, each with the argument that says its number, and the number without it."""


def arguments_report(workload: Workload, around: Iterable[RawObject] = ()) -> ArgumentsReport:
    """Return what becomes of the arguments of *workload*, and of what of *around* belongs to it."""
    taken = taken_arguments(workload)
    published = (one.given.removeprefix(_PUBLISH) for one in taken if one.given.startswith(_PUBLISH))
    found = installation_of(workload, around, next(published, ""))
    own = own_arguments(found, taken)
    by_name = {one[2:].partition("=")[0]: one for one in own}
    rows = [Argument(one, by_name.get(one.option.partition("=")[0], "")) for one in taken]
    rows.sort(key=lambda row: (_WORST.index(row.taken.becomes), row.taken.name))
    has_webhook = any(one.name == _WEBHOOK and one.is_lost for one in taken)
    files = kustomization(found, own, _traffic_ports(workload, taken), has_webhook=has_webhook)
    return ArgumentsReport(workload, tuple(rows), own, files.fields, files.texts)


def _traffic_ports(workload: Workload, taken: Sequence[Taken]) -> dict[str, int]:
    """Return the numbers of the ports of the container of *workload* by their names here: by its arguments, or as the container calls them."""
    given = {one.name: one.given.partition("=")[2] for one in taken}
    named = port_numbers(workload)
    found: dict[str, int] = {}
    for name, (argument, usual) in _TRAFFIC.items():
        text = given.get(argument, "")
        found[name] = int(text) if text.isdecimal() else named.get(name, usual)
    return found
