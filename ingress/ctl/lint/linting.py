"""``lint``: an input in, what there is to say of each of its objects out.  Pure.

Each layer of an input is judged by itself.  What is found is of three sorts: problems of translation
(``ingress.ctl.lint.problems``), what rules of lint's own look for (``ingress.ctl.lint.checks``), and what becomes of each
annotation (``ingress.ctl.lint.standings``).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from attrs import evolve

from ingress.ctl.inputs.coverage import HIDDEN
from ingress.ctl.inputs.input import Input, Place
from ingress.ctl.lint.checks.classes import check_classes, check_controllers, why_not_ours
from ingress.ctl.lint.checks.effects import check_effects
from ingress.ctl.lint.checks.fields import check_fields
from ingress.ctl.lint.checks.hosts import check_hosts
from ingress.ctl.lint.checks.paths import check_paths
from ingress.ctl.lint.checks.prefixes import check_prefixes
from ingress.ctl.lint.checks.rewrites import check_rewrites
from ingress.ctl.lint.checks.unsafe import check_safety
from ingress.ctl.lint.finding import Finding, Level, LintReport, ObjectReport
from ingress.ctl.lint.problems import findings_of, problem_findings
from ingress.ctl.lint.rules import CORS_NULL, CRITICAL_RISK, UNKNOWN_CLASS
from ingress.ctl.lint.standings import standings
from ingress.ctl.lint.survey import Subject, Survey
from ingress.ctl.suggestions.suggested_names import SuggestedNames
from ingress.model.cluster.objects import Kind, ObjectId
from ingress.model.cluster.problems import Problem, Reason
from ingress.wording import first_of

_Check = Callable[[Survey, Subject], Iterator[Finding]]
_CHECKS: Final[tuple[_Check, ...]] = (
    check_fields,
    check_hosts,
    check_paths,
    check_rewrites,
    check_effects,
    check_prefixes,
)
_MOST_NAMESPACES: Final = 8


def lint(given: Input) -> LintReport:
    """Return what there is to say of *given*."""
    reports: dict[tuple[ObjectId, Place], ObjectReport] = {}
    others: dict[Finding, None] = {}
    unknown = _Unknown()
    for layer in given.layers:
        survey = Survey(layer, partial(unknown.is_told, layer))
        for report in _reports(survey):
            at = (report.object_id, report.place)
            reports[at] = _joined(reports[at], report) if at in reports else report
        others.update(dict.fromkeys(check_controllers(survey)))
        for object_id, problems in survey.given.problems_of.items():
            if object_id not in survey.subjects:
                told = [one for one in problems if unknown.is_told(layer, one)]
                others.update(dict.fromkeys(findings_of(layer, told)))
        unknown.sentences.update(
            dict.fromkeys(
                f"which requests the expressions of host {host} take from other paths: there are too many of them"
                for host in survey.hosts_not_searched
            )
        )
    others.update(dict.fromkeys(findings_of(given, given.problems)))
    not_checked = (*(f"{one.what}: {one.why}" for one in given.unread), *unknown.told())
    ordered = sorted(reports.values(), key=lambda one: (one.object_id, one.place.file, one.place.line))
    if any(one.is_ours for one in ordered):
        ordered = [_beside_ours(one) for one in ordered]
    return LintReport(tuple(ordered), _sorted(others), not_checked)


class _Unknown:
    """What cannot be told by an input."""

    def __init__(self) -> None:
        self._absent: dict[Kind, set[str]] = {}
        self._forbidden: dict[Kind, set[str]] = {}
        self.sentences: dict[str, None] = {}

    def is_told(self, given: Input, problem: Problem) -> bool:
        """Whether *given* knows enough to tell *problem*; what it does not know is noted."""
        if problem.reason is Reason.SECRET_NOT_FOUND and _is_made_later(given, problem):
            return False
        kind = given.coverage.unknown(problem)
        if problem.reason in HIDDEN:
            self._forbidden.setdefault(HIDDEN[problem.reason], set()).add(problem.looked_in)
        elif kind is not None:
            self._absent.setdefault(kind, set()).add(problem.looked_in)
        return kind is None

    def told(self) -> Iterator[str]:
        """Yield a sentence for each thing that was not checked."""
        for kind, some in sorted(self._absent.items()):
            yield f"whether {kind}s exist in {_shown(some)}: none of there was read"
        for kind, some in sorted(self._forbidden.items()):
            yield f"{kind}s in {_shown(some)}: what is in them was not read"
        yield from sorted(self.sentences)


def _is_made_later(given: Input, problem: Problem) -> bool:
    """Whether *problem* is about a Secret that cert-manager makes in the cluster, so that no file has it."""
    if not given.options.from_manifests or not problem.field.startswith("spec.tls"):
        return False
    return "cert-manager" in problem.message


def _shown(namespaces: Iterable[str]) -> str:
    some = sorted(one or "the cluster" for one in namespaces)
    return first_of(some, _MOST_NAMESPACES, "namespaces")


def _reports(survey: Survey) -> Iterator[ObjectReport]:
    meant = SuggestedNames(survey.given.state)
    for object_id, subject in survey.subjects.items():
        found = list(check_classes(survey, subject))
        unsafe: list[Finding] = []
        if subject.verdict.is_ours:
            for check in _CHECKS:
                found += check(survey, subject)
            unsafe += check_safety(survey, subject)
        # What is unsafe about an annotation is another matter than where it differs, but for this one.
        told = {one.field for one in found} | {one.field for one in unsafe if one.rule == CORS_NULL.name}
        found += [
            one
            for one in problem_findings(subject, meant, survey.given.coverage)
            if not (one.rule == Reason.ANNOTATION_NOTE.value and one.field in told)
        ]
        # Of a snippet of which something else is told there is no need to say that it is one.
        told = {one.field for one in found}
        found += [one for one in unsafe if not (one.rule == CRITICAL_RISK.name and one.field in told)]
        dangers = frozenset(one.rule for one in unsafe if one.level > Level.NOTE)
        yield ObjectReport(
            object_id,
            subject.place,
            subject.verdict.is_ours,
            "" if subject.verdict.is_ours else why_not_ours(survey, subject),
            tuple(standings(subject, found, dangers, survey.given.options.annotation_policy))
            if subject.verdict.is_ours
            else (),
            _sorted(found),
            tuple(sorted(survey.given.labels.get(object_id, {}).items())),
        )


def _beside_ours(one: ObjectReport) -> ObjectReport:
    """Return *one* of a lint that judges others: that nobody is known to serve its class is most likely meant so."""
    if one.is_ours:
        return one
    found = (
        evolve(finding, level=Level.NOTE) if finding.rule == UNKNOWN_CLASS.name else finding
        for finding in one.findings
    )
    return evolve(one, findings=_sorted(found))


def _joined(one: ObjectReport, other: ObjectReport) -> ObjectReport:
    """Return what two layers say of the same object at the same place."""
    return evolve(one, findings=_sorted((*one.findings, *other.findings)))


def _sorted(findings: Iterable[Finding] | Mapping[Finding, None]) -> tuple[Finding, ...]:
    """Return *findings* without doubles, the worst first, and those of a file in the order of its lines."""
    return tuple(
        sorted(
            dict.fromkeys(findings),
            key=lambda one: (-one.level, one.rule, one.object_id, one.place.line, one),
        )
    )
