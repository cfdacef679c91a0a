"""The part of the page that is about ingress-nginx itself: its arguments, and what is around it."""

from collections.abc import Iterator, Sequence
from typing import Final

from ingress.ctl.migrate.installation.carried import CarriedField
from ingress.ctl.migrate.installation.kustomization import KUSTOMIZATION
from ingress.ctl.migrate.migration import Argument, ArgumentsReport
from ingress.ctl.pages.document import Block, Code, Line, Listing, Paragraph, Part, Reference, Table
from ingress.wording import number_of

MOST_WORKLOADS: Final = 10
"""Controllers that are written about."""
_MOST_ARGUMENTS: Final = 200
_MOST_CHARACTERS: Final = 400
_MOST_LISTED: Final = 20_000
"""Characters of a kustomization that is shown."""


_NONE: Final = (
    "No Deployment or DaemonSet of ingress-nginx was found, so what it is started with is not known. "
)
_IN_FILES: Final[Line] = (
    "Name the file that has it beside the others; ",
    Code(
        "kubectl --namespace ingress-nginx get"
        " deployments,daemonsets,services,horizontalpodautoscalers,poddisruptionbudgets --output=yaml"
    ),
    " writes one, and ",
    Code("kubectl get networkpolicies --all-namespaces --output=yaml"),
    " another one with the NetworkPolicies that let it in.",
)
_IN_CLUSTER: Final[Line] = (
    "What may not be read is told ",
    Reference("below", "unchecked"),
    "; ",
    Code("--like NAMESPACE/NAME"),
    " names one.",
)


def written_arguments(reports: Sequence[ArgumentsReport], *, is_live: bool) -> Iterator[Block]:
    """Yield what is under the heading: of each controller a table, and the kustomization that starts this one so."""
    if not reports:
        yield Paragraph((_NONE, *(_IN_CLUSTER if is_live else _IN_FILES)))
        return
    for place, report in enumerate(reports[:MOST_WORKLOADS]):
        yield Paragraph(tuple(_about(report, counts=place == 0, is_alone=len(reports) == 1)))
        rows = tuple(map(_row, report.arguments[:_MOST_ARGUMENTS]))
        if rows:
            yield Table(
                "What becomes of each argument, the worst first",
                ("Argument", "What becomes of it", "What to write here", "Remark"),
                rows,
            )
        around = tuple(map(_around, report.around[:_MOST_ARGUMENTS]))
        if around:
            yield Table(
                "What becomes of what is around it, the worst first",
                ("Of", "Field", "What becomes of it", "Remark"),
                around,
            )
        if sum(map(len, report.files.values())) > _MOST_LISTED:
            long = "What puts this controller into its place is too long to be shown; "
            yield Paragraph((long, Code("--output json"), " and ", Code("--patches"), " have it."))
            continue
        beside = "This controller as a kustomization: first beside it, and by its comments in its place; "
        chart = (Code("../txingress/k8s/chart"), " takes the values of its release in place of this:")
        yield Paragraph(
            (beside, Code("../txingress"), " is this repository. Where Helm has installed it, ", *chart)
        )
        for name, text in report.files.items():
            if name != KUSTOMIZATION:
                yield Paragraph(("Beside it ", Code(name), ":"))
            yield Listing(text.rstrip("\n"), "yaml")


def _about(report: ArgumentsReport, *, counts: bool, is_alone: bool) -> Iterator[Part]:
    workload = report.workload
    yield f"{workload.kind} "
    yield Code(str(workload.key))
    yield f" has {number_of(len(report.arguments), 'argument')}"
    if workload.place.file:
        yield ", in "
        yield Code(str(workload.place))
    yield ". "
    if not counts:
        yield "Objects are not judged by these; to have it so, name its class by "
        yield Code("-o controller-class=NAME")
        yield ", or its file alone."
    elif is_alone:
        yield "Objects are judged by these, but for what the command line says otherwise."
    else:
        yield "Of all that were found, objects are judged by these, but for what the command line says otherwise."


def _row(one: Argument) -> tuple[Line, ...]:
    taken = one.taken
    write: Line = (Code(_clipped(one.write)),) if one.write else ("nothing",)
    return (Code(_clipped(taken.given)),), (taken.becomes,), write, (_clipped(taken.why),)


def _around(one: CarriedField) -> tuple[Line, ...]:
    return (_clipped(one.owner),), (Code(_clipped(one.field)),), (one.fate.value,), (_clipped(one.why),)


def _clipped(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"
