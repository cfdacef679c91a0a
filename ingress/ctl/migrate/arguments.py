"""What becomes of the arguments of an ingress-nginx, for the report.  Pure."""

from typing import Final

from ingress.ctl.inputs.input import Workload
from ingress.ctl.inputs.taken_arguments import REFUSED, UNKNOWN, taken_arguments
from ingress.ctl.migrate.migration import Argument, ArgumentsReport
from ingress.ctl.migrate.own_arguments import kustomization, own_arguments
from ingress.options.ingress_nginx_arguments import Becomes

_WORST: Final = (
    UNKNOWN,
    REFUSED,
    *(one.value for one in (Becomes.NOT_HONORED, Becomes.OTHER, Becomes.OWN, Becomes.SAME, Becomes.NEEDLESS)),
)
_WEBHOOK: Final = "validating-webhook"


def arguments_report(workload: Workload) -> ArgumentsReport:
    """Return what becomes of the arguments of *workload*."""
    taken = taken_arguments(workload)
    own = own_arguments(workload, taken)
    by_name = {one[2:].partition("=")[0]: one for one in own}
    rows = [Argument(one, by_name.get(one.option.partition("=")[0], "")) for one in taken]
    rows.sort(key=lambda row: (_WORST.index(row.taken.becomes), row.taken.name))
    has_webhook = any(one.name == _WEBHOOK and one.is_lost for one in taken)
    text = kustomization(workload, own, has_webhook=has_webhook)
    return ArgumentsReport(workload, tuple(rows), own, text)
