"""Problems of translation as findings: their rules, and what to write instead."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Final

from attrs import evolve

from ingress.annotations.firewall.family import NO_FIREWALL, OPTION
from ingress.annotations.unknown_names import UnknownNames
from ingress.cluster.kinds import KINDS
from ingress.cluster.manifests.manifest_files import line_told, without_line
from ingress.cluster.secrets.secret_references import ObjectReferences
from ingress.ctl.inputs.coverage import Coverage
from ingress.ctl.inputs.input import Input, Place, object_of
from ingress.ctl.lint.finding import Change, Finding, Level
from ingress.ctl.lint.mending import in_quotes, mended, renamed, unknown_names
from ingress.ctl.lint.rules import CLOSED_PATHS, CONVERTED, REGEX_NOT_ASKED, RULE_SHADOWED, RULES, Rule
from ingress.ctl.lint.survey import Subject
from ingress.ctl.suggestions.suggested_names import SuggestedNames, host_of_url
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey, Projection
from ingress.model.cluster.problems import Problem, Reason
from ingress.translate.claims import Claim
from ingress.translate.hosts.expressions import GUARD_IS_MISSING
from ingress.translate.readers.ingress.objects import CLASS_ANNOTATION, Ingress

_ABSENT: Final = {
    Reason.SERVICE_NOT_FOUND: Kind.SERVICE,
    Reason.SECRET_NOT_FOUND: Kind.SECRET,
    Reason.CONFIG_MAP_NOT_FOUND: Kind.CONFIG_MAP,
}
_OF_VALUES: Final = frozenset({Reason.INVALID_ANNOTATION, Reason.UNSUPPORTED_ANNOTATION})
_WITH_A_FIREWALL: Final = f"to see what becomes of it there, add -o {OPTION}=2; to have it, start the controller so, with an image that has ModSecurity"
OTHER_FORMS: Final = "where files are not applied together, lint each by itself"
_OF_CONTENT: Final = re.compile(rf"\Aline \d+: (?:{Kind.SECRET}|{Kind.CONFIG_MAP}): ")
_CLOSES: Final = re.compile(r"\banswers? 503\b")
_MISWRITTEN: Final = re.compile(r" run here: (?:missing|unexpected) ")
"""What RE2 says where a bracket or what is to be repeated is missing; what looks around or back it calls invalid."""
_UNQUOTED: Final = re.compile(r"must be text, but is (.+), which no API server takes")
"""What is told of an annotation that is not text, with what stands there."""
_GLOB: Final = re.compile(r"((?:/[A-Za-z0-9_~%-]+)*)/\*")
"""A path as other controllers have them, where the last sign stands for whatever is below; as an expression it repeats the slash."""
_STRICT: Final = "--strict-validate-path-type"
"""What is told of a path with other signs than a type of path may have."""
_AT_HOST: Final = re.compile(r"spec\.(?:rules\[(\d+)\]\.host|tls\[(\d+)\]\.hosts\[(\d+)\])")
_ALL_RULES: Final = "spec.rules"
_AT_PATH: Final = re.compile(r"spec\.rules\[(\d+)\]\.http\.paths\[\d+\]")


def findings_of(given: Input, problems: Iterable[Problem]) -> Iterator[Finding]:
    """Yield *problems* of what is no route object."""
    referred_to = _ReferredTo(given)
    for problem in problems:
        rule = RULES[problem.reason.value]
        object_id = object_of(problem)
        if problem.reason is Reason.DUPLICATE_OBJECT:
            if object_id not in referred_to:
                continue
            # What refers to it is judged by the first form of it; that is all there is to it.
            rule = evolve(rule, level=Level.NOTE, advice=OTHER_FORMS)
        elif problem.reason is Reason.MALFORMED_OBJECT and not (
            object_id in referred_to and not _is_nameless(problem)
        ):
            rule = evolve(rule, level=Level.NOTE, advice=f"{rule.advice}; no Ingress refers to it")
        elif problem.reason is Reason.DEPRECATED_VERSION:
            rule = _of_old_version(problem.kind)
        is_unread = _may_be_in_other_files(problem, given.coverage)
        yield Finding(
            min(rule.level, Level.WARNING) if is_unread else rule.level,
            rule.name,
            object_id,
            without_line(problem).message,
            problem.field,
            rule.advice,
            _place(given, problem),
        )


def _place(given: Input, problem: Problem) -> Place:
    """Return where that stands which *problem* is about: a manifest is a file, and an object begins in one."""
    if problem.kind == Kind.MANIFEST:
        return Place(problem.name, line_told(problem))
    return given.place(object_of(problem))


def _of_old_version(kind: str) -> Rule:
    """Return what is said of an object of *kind* that is written in an old version.

    kubectl converts nothing that is defined in the cluster, where both versions may be there, or the old one alone.
    """
    rule = RULES[Reason.DEPRECATED_VERSION.value]
    if kind == Kind.INGRESS:
        return rule
    if kind in (Kind.INGRESS_CLASS, Kind.ENDPOINT_SLICE):
        return evolve(rule, advice=CONVERTED)
    return evolve(rule, level=Level.NOTE, advice="")


def _may_be_in_other_files(problem: Problem, coverage: Coverage) -> bool:
    """Whether *problem* is that something is missing, of a kind of which others may be in files that were not read."""
    return problem.reason in _ABSENT and _ABSENT[problem.reason] not in coverage.whole


class _ReferredTo:
    """Whether the objects of an input are of any concern to its route objects."""

    def __init__(self, given: Input) -> None:
        self._given = given
        self._needed: dict[Kind, Container[ObjectKey]] = {}

    def __contains__(self, object_id: ObjectId) -> bool:
        kind, key = object_id
        if kind not in (Kind.SECRET, Kind.CONFIG_MAP):
            return True
        return key in self._given.settings.config_maps or key in self._needed_of(kind)

    def _needed_of(self, kind: Kind) -> Container[ObjectKey]:
        if kind not in self._needed:
            state = self._given.state
            # Who names no class is judged as if it were ours.
            served = evolve(self._given.options, watch_without_class=True)
            references = ObjectReferences(served, KINDS.routes, kind)
            references.changed(
                {
                    (row.read.kind, key): Projection(value)
                    for row in KINDS.routes
                    for key, value in state.of(row.read.kind).items()
                }
            )
            self._needed[kind] = references.begin_at_once()
        return self._needed[kind]


def _is_nameless(problem: Problem) -> bool:
    """Whether *problem* of a file is about a Secret or a ConfigMap in it without a name, which nothing can refer to."""
    return problem.kind == Kind.MANIFEST and _OF_CONTENT.search(problem.message) is not None


def problem_findings(subject: Subject, meant: SuggestedNames, coverage: Coverage) -> Iterator[Finding]:
    """Yield the problems of *subject*; *meant* says what may be meant by names that there are not.

    What is missing among manifests, and is no slip of another name, may be in files that were not read: so it is no error.
    """
    by_field = {claim.field: claim for some in subject.claims_by_host.values() for claim in some}
    shadowed = dict(_shadowed(subject))
    unknown = unknown_names(subject)
    # What is wrong with the host of a rule is as wrong where tls names it.
    malformed = tuple(one.field for one in subject.problems if one.reason is Reason.MALFORMED_OBJECT)
    invalid_hosts = frozenset(
        one.message.partition("; ")[0]
        for one in subject.problems
        if one.reason is Reason.INVALID_HOST and one.field.startswith("spec.rules")
    )
    for problem in subject.problems:
        at = _AT_PATH.match(problem.field)
        if problem.reason is Reason.PATH_CONFLICT and at is not None and int(at[1]) in shadowed:
            continue
        is_malformed = any(field.startswith(f"{problem.field}.") for field in malformed)
        if problem.reason is Reason.INVALID_BACKEND and is_malformed:
            continue
        if _is_told_otherwise(subject, problem, invalid_hosts):
            continue
        claim = by_field.get(problem.field.removesuffix(".path").removesuffix(".pathType"))
        found = _finding(subject, problem, claim, unknown)
        if problem.reason is Reason.PATH_CONFLICT and "stands in this Ingress twice" in problem.message:
            found = evolve(found, advice="remove one of them")
        if problem.reason is Reason.PATH_CONFLICT and problem.field == _ALL_RULES:
            # A rule without paths; the path of an annotation is one like any other.
            found = evolve(found, advice="leave the requests to one of the two")
        if problem.reason is Reason.UNSUPPORTED_PATH and _MISWRITTEN.search(problem.message):
            found = evolve(found, advice="correct the expression, which ingress-nginx does not take, either")
        advice = "" if found.advice else meant.advice(problem)
        if not advice and _may_be_in_other_files(problem, coverage):
            found = evolve(found, level=min(found.level, Level.WARNING))
        yield evolve(found, advice=advice) if advice else found
    for number, some in shadowed.items():
        others = "; ".join(dict.fromkeys(problem.message for problem in some[:2]))
        more = f"; and {len(some) - 2} more" if len(some) > 2 else ""
        yield subject.found(
            RULE_SHADOWED,
            f"{'its path is not' if len(some) == 1 else f'none of its {len(some)} paths is'} served: {others}{more}",
            f"spec.rules[{number}]",
            changes=[Change(f"spec.rules[{number}]", None)],
        )


def _shadowed(subject: Subject) -> Iterator[tuple[int, list[Problem]]]:
    """Yield the rules with several paths that all belong to others, by number."""
    value = subject.value
    lost: dict[int, list[Problem]] = {}
    for problem in subject.problems:
        at = _AT_PATH.fullmatch(problem.field)
        if problem.reason is Reason.PATH_CONFLICT and at is not None:
            lost.setdefault(int(at[1]), []).append(problem)
    for number, some in sorted(lost.items()):
        paths = value.rules[number].paths if isinstance(value, Ingress) else None
        if paths is not None and 1 < len(paths) == len({problem.field for problem in some}):
            yield number, some


def _is_told_otherwise(subject: Subject, problem: Problem, invalid_hosts: frozenset[str]) -> bool:
    """Whether a rule of lint's own says the same, and more."""
    if problem.reason is Reason.ANNOTATION_NOTE and problem.field.endswith("].path"):
        # What quirks make of paths.
        return True
    if problem.reason is Reason.INVALID_HOST and problem.field.startswith("spec.tls"):
        return problem.message.partition("; ")[0] in invalid_hosts
    if problem.reason is Reason.UNSUPPORTED_PATH and GUARD_IS_MISSING in problem.message:
        # The annotation that closes all paths is told of.
        return True
    if _UNQUOTED.match(problem.message) and _annotation(subject, problem.field) is not None:
        # It is mended by now, so that it can be read.
        return True
    # It is told with each annotation that has no effect without.
    return problem.field == subject.field("auth-tls-secret") and not subject.says("auth-tls-secret")


def _finding(
    subject: Subject, problem: Problem, claim: Claim | None, unknown: Mapping[str, UnknownNames]
) -> Finding:
    reason, name = problem.reason, _annotation(subject, problem.field)
    if reason in _OF_VALUES and name is not None:
        changes = tuple(mended(subject, name))
        written = str(changes[0].value) if changes else ""
        # Many a message has it already.
        advice = f"write {name}: {written!r}" if changes and f'"{written}"' not in problem.message else ""
        if subject.is_closed and _CLOSES.search(problem.message):
            # Where another value would do, removing the annotation is no help.
            is_value = reason is Reason.INVALID_ANNOTATION and "write " in problem.message
            rule = evolve(CLOSED_PATHS, advice="") if is_value else CLOSED_PATHS
            if NO_FIREWALL in problem.message:
                advice = _WITH_A_FIREWALL
            return subject.found(rule, problem.message, problem.field, advice, changes)
        return subject.found(RULES[reason.value], problem.message, problem.field, advice, changes)
    if reason is Reason.DEPRECATED_VERSION:
        return subject.found(_of_old_version(problem.kind), problem.message, problem.field)
    unquoted = _UNQUOTED.match(problem.message) if reason is Reason.INVALID_ANNOTATION else None
    if unquoted is not None:
        name = problem.field.removeprefix(f"metadata.annotations[{subject.prefix}").removesuffix("]")
        changes = tuple(in_quotes(subject, name, unquoted[1]))
        advice = f"write {name}: {changes[0].value!r}" if changes else ""
        return subject.found(RULES[reason.value], problem.message, problem.field, advice, changes)
    regex = None if claim is None or problem.field != f"{claim.field}.path" else claim.regex
    if reason is Reason.INVALID_PATH and regex is not None and regex.is_likely and regex.fault is None:
        kind = Change(problem.field.removesuffix(".path") + ".pathType", "ImplementationSpecific")
        below = None if claim is None else _GLOB.fullmatch(claim.path)
        if below is not None:
            plain = below[1] or "/"
            return subject.found(
                REGEX_NOT_ASKED,
                problem.message,
                problem.field,
                f"to take all that is below, write {plain} with pathType: Prefix",
                (Change(problem.field, plain), evolve(kind, value="Prefix")),
            )
        changes = () if regex.expression is None else (subject.setting("use-regex", "true"), kind)
        if _STRICT in problem.message and (subject.says("use-regex") or subject.says("rewrite-target")):
            advice = "write pathType: ImplementationSpecific"
            return subject.found(
                RULES[reason.value], problem.message, problem.field, advice, changes and (kind,)
            )
        return subject.found(REGEX_NOT_ASKED, problem.message, problem.field, changes=changes)
    if reason is Reason.UNKNOWN_ANNOTATION:
        some = None if name is None else unknown.get(name)
        changes = () if some is None else tuple(renamed(subject, some))
        return subject.found(RULES[reason.value], problem.message, problem.field, _advice(changes), changes)
    changes = _changes(subject, problem, claim)
    advice = f"write pathType: {changes[0].value}" if reason is Reason.MISSING_PATH_TYPE else ""
    if reason is Reason.INVALID_HOST:
        advice = host_of_url(_host_at(subject, problem.field))
    return subject.found(RULES[reason.value], problem.message, problem.field, advice, changes)


def _advice(changes: tuple[Change, ...]) -> str:
    """Say what to do about names that mean nothing."""
    written = [
        f"{str(one.steps[-1]).rpartition('/')[2]}: {one.value!r}" for one in changes if one.value is not None
    ]
    removed = "remove it" if len(changes) == 1 else "remove them"
    return f"write {', '.join(written)} instead" if written else removed if changes else ""


def _changes(subject: Subject, problem: Problem, claim: Claim | None) -> tuple[Change, ...]:
    """Return what does away with *problem*, where that is plain."""
    if problem.reason is Reason.MISSING_PATH_TYPE:
        is_plain = claim is None or claim.regex is None
        return (Change(problem.field, "Prefix" if is_plain else "ImplementationSpecific"),)
    value = subject.value
    names_both = isinstance(value, Ingress) and value.class_name and CLASS_ANNOTATION in value.annotations
    if problem.reason is Reason.CLASS_CONFLICT and names_both:
        return (Change(f"metadata.annotations[{CLASS_ANNOTATION}]", None),)
    if problem.reason is Reason.PATH_CONFLICT and _AT_PATH.fullmatch(problem.field):
        return (Change(problem.field, None),)
    return ()


def _host_at(subject: Subject, field: str) -> str:
    """Return the host that stands at *field*; empty where it is none of an Ingress."""
    at, value = _AT_HOST.fullmatch(field), subject.value
    if at is None or not isinstance(value, Ingress):
        return ""
    if at[1]:
        number = int(at[1])
        return value.rules[number].host if number < len(value.rules) else ""
    number = int(at[2])
    hosts = value.tls[number].hosts if number < len(value.tls) else ()
    return hosts[int(at[3])] if int(at[3]) < len(hosts) else ""


def _annotation(subject: Subject, field: str) -> str | None:
    """Return the name of the annotation that *field* is; None for another one, or one that the object does not have."""
    beginning = f"metadata.annotations[{subject.prefix}"
    name = field[len(beginning) : -1] if field.startswith(beginning) else None
    return name if name in subject.annotations else None
