"""The lines of findings: not only where an object begins, but the field that a finding is about."""

from collections import Counter

from attrs import evolve

from ingress.ctl.inputs.input import FieldOf, Input
from ingress.ctl.lint.finding import Finding, LintReport


def placed(report: LintReport, given: Input) -> LintReport:
    """Return *report*, of *given*, with each finding where its field stands, as far as that is found.

    Texts are read once more for that.  An object is looked for where others begin in its line, too, as in JSON.
    """
    lines = Counter(one.place for one in report.objects)
    found = given.exact_places(
        {
            *map(_field, report.findings),
            *((one.place, one.object_id, "") for one in report.objects if lines[one.place] > 1),
        }
    )

    def exact(finding: Finding) -> Finding:
        place = found.get(_field(finding))
        return finding if place is None else evolve(finding, place=place)

    return evolve(
        report,
        objects=tuple(
            evolve(
                one,
                place=found.get((one.place, one.object_id, ""), one.place),
                findings=tuple(map(exact, one.findings)),
            )
            for one in report.objects
        ),
        others=tuple(map(exact, report.others)),
    )


def _field(finding: Finding) -> FieldOf:
    return finding.place, finding.object_id, finding.field
