"""``lint``: an input in, what there is to say of each of its objects out.  Pure."""

from collections.abc import Iterable, Iterator

from ingress.annotations.annotations import FAMILIES
from ingress.ctl.inputs.input import Input, object_of
from ingress.ctl.lint.finding import AnnotationReport, Finding, LintReport, ObjectReport, Standing
from ingress.ctl.lint.rules import RULES
from ingress.model.objects import Kind, ObjectId
from ingress.model.problems import Problem, Reason
from ingress.translate.readers.ingress.objects import Ingress

_DIFFERS = {
    name: row.differs for family in FAMILIES for name, row in family.annotations.items() if row.differs
}
_STANDINGS = {
    Reason.UNSUPPORTED_ANNOTATION: Standing.IGNORED,
    Reason.INVALID_ANNOTATION: Standing.IGNORED,
    Reason.UNKNOWN_ANNOTATION: Standing.NEVER_EXISTED,
    Reason.ANNOTATION_NOTE: Standing.DIFFERS,
}


def lint(given: Input) -> LintReport:
    """Return what there is to say of *given*, of each of its layers by itself."""
    objects: list[ObjectReport] = []
    others: list[Finding] = []
    unknown: dict[Kind, set[str]] = {}
    for layer in given.layers:
        seen: set[ObjectId] = set()
        for object_id, verdict in layer.route_objects():
            seen.add(object_id)
            problems = tuple(_told(layer, layer.problems_of.get(object_id, ()), unknown))
            objects.append(
                ObjectReport(
                    object_id,
                    layer.place(object_id),
                    verdict.is_ours,
                    "" if verdict.is_ours else "it is of another class",
                    tuple(_annotations(layer, object_id, problems)) if verdict.is_ours else (),
                    _findings(layer, problems),
                    tuple(sorted(layer.labels.get(object_id, {}).items())),
                )
            )
        others += _findings(
            layer,
            (
                problem
                for object_id, some in layer.problems_of.items()
                if object_id not in seen
                for problem in _told(layer, some, unknown)
            ),
        )
    others += _findings(given, given.problems)
    not_checked = [f"{one.what}: {one.why}" for one in given.unread]
    not_checked += [
        f"whether {kind}s exist in {', '.join(sorted(some))}: the input has none of there"
        for kind, some in sorted(unknown.items())
    ]
    others.sort(key=lambda one: (-one.level, one))
    return LintReport(tuple(objects), tuple(others), tuple(not_checked))


def _told(given: Input, problems: Iterable[Problem], unknown: dict[Kind, set[str]]) -> Iterator[Problem]:
    """Yield those of *problems* that *given* knows enough to tell, and add the others to *unknown*."""
    for problem in problems:
        kind = given.coverage.unknown(problem)
        if kind is None:
            yield problem
        else:
            unknown.setdefault(kind, set()).add(problem.namespace)


def _findings(given: Input, problems: Iterable[Problem]) -> tuple[Finding, ...]:
    found = [
        Finding(
            RULES[problem.reason].level,
            problem.reason.value,
            object_of(problem),
            problem.message,
            problem.field,
            place=given.place_of(problem),
        )
        for problem in problems
    ]
    return tuple(sorted(found, key=lambda one: (-one.level, one)))


def _annotations(
    given: Input, object_id: ObjectId, problems: Iterable[Problem]
) -> Iterator[AnnotationReport]:
    value = given.state.of(object_id[0]).get(object_id[1])
    if not isinstance(value, Ingress):
        return
    prefix = given.options.annotations_prefix + "/"
    by_field: dict[str, Problem] = {}
    for problem in problems:
        by_field.setdefault(problem.field, problem)
    for full_name, text in value.annotations.items():
        if not full_name.startswith(prefix):
            continue
        name = full_name.removeprefix(prefix)
        told = by_field.get(f"metadata.annotations[{full_name}]")
        if told is not None:
            standing = _STANDINGS.get(told.reason, Standing.IGNORED)
            yield AnnotationReport(name, text, standing, told.message)
        elif name in _DIFFERS:
            yield AnnotationReport(name, text, Standing.DIFFERS, _DIFFERS[name])
        else:
            yield AnnotationReport(name, text, Standing.HONORED)
