"""What becomes of an ingress-nginx's arguments and of what is around it, for the report.  Pure."""

from collections.abc import Iterable
from typing import Final

from ingress.ctl.inputs.input import Workload
from ingress.ctl.inputs.installation import installation_of
from ingress.ctl.inputs.taken_arguments import REFUSED, UNKNOWN, taken_arguments
from ingress.ctl.migrate.installation.kustomization import kustomization
from ingress.ctl.migrate.installation.traffic import traffic_of
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
    files = kustomization(found, own, traffic_of(taken), has_webhook=has_webhook)
    return ArgumentsReport(workload, tuple(rows), own, files.fields, files.texts)
