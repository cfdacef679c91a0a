"""The report as JSON, for programs; its shape is documented in ``docs/ingressctl.md``.

An object of the input is a line, so that nobody has to hold all of a large report at once.
"""

from collections.abc import Iterator
from typing import Any, Final

from attrs import asdict

from ingress.ctl.lint.finding import AnnotationReport, Finding, ObjectReport, Standing
from ingress.ctl.lint.reports.results import Results, summary
from ingress.ctl.lint.reports.texts import joined, json_text
from ingress.model.cluster.objects import ObjectId

VERSION: Final = 1
"""Of the shape: what is added keeps it, what is renamed or taken away raises it."""
STANDINGS: Final = {
    Standing.HONORED: "honored",
    Standing.DIFFERS: "differs",
    Standing.IGNORED: "ignored",
    Standing.NEVER_EXISTED: "never-existed",
    Standing.UNSAFE: "unsafe",
    Standing.CLOSED: "closed",
}


def lines(results: Results) -> Iterator[str]:
    """Yield the lines of *results*, which are one value together."""
    report = results.report
    counted = {_camel(name): number for name, number in asdict(summary(results)).items()}
    yield f'{{"version": {VERSION}, "fails": {json_text(results.fails)},'
    yield f' "summary": {json_text(counted)},'
    yield f' "notChecked": {json_text(list(report.not_checked))},'
    yield ' "objects": ['
    yield from joined(f"  {json_text(_object(one))}" for one in report.objects)
    yield ' ], "findings": ['
    yield from joined(f"  {json_text(_finding(one))}" for one in report.others)
    if results.shows_accepted:
        yield ' ], "accepted": ['
        yield from joined(
            f"  {json_text({**_finding(one.finding), 'reason': one.reason})}" for one in results.accepted
        )
    yield "]}"


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.title() for other in others)


def _object(one: ObjectReport) -> dict[str, Any]:
    return {
        **_identity(one.object_id),
        "file": one.place.file,
        "line": one.place.line,
        "ours": one.is_ours,
        "whyNot": one.why_not,
        "labels": dict(one.labels),
        "annotations": [_annotation(annotation) for annotation in one.annotations],
        "findings": [_finding(finding) for finding in one.findings],
    }


def _annotation(one: AnnotationReport) -> dict[str, Any]:
    return {"name": one.name, "standing": STANDINGS[one.standing], "why": one.why}


def _finding(one: Finding) -> dict[str, Any]:
    return {
        "level": one.level.word,
        "rule": one.rule,
        **_identity(one.object_id),
        "file": one.place.file,
        "line": one.place.line,
        "field": one.field,
        "message": one.message,
        "advice": one.advice,
        "changes": [{"field": change.field, "value": change.value} for change in one.changes],
    }


def _identity(object_id: ObjectId) -> dict[str, Any]:
    kind, key = object_id
    return {"kind": str(kind), "namespace": key.namespace, "name": key.name}
