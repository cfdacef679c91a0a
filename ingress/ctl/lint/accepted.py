"""What a team accepts: findings that it knows of and leaves as they are, each with the reason.  Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from fnmatch import fnmatchcase, translate
from typing import Any, Final

from attrs import evolve, field

from ingress.ctl.errors import Mistake
from ingress.ctl.lint.finding import Finding, LintReport, ObjectReport
from ingress.ctl.lint.rules import RULES
from ingress.ctl.suggestions.close_names import did_you_mean
from ingress.model.cluster.objects import ObjectId
from ingress.model.frozen import frozen

_PATTERNS: Final = ("rules", "namespaces", "names", "annotations", "files")
_KEYS: Final = (*_PATTERNS, "reason", "until")
_ANNOTATION: Final = re.compile(r"metadata\.annotations\[(.*)\]\Z", re.DOTALL)


@frozen
class Patterns:
    """Texts in which ``*`` stands for anything and ``?`` for one character; without any, every text matches."""

    texts: tuple[str, ...] = ()
    _compiled: re.Pattern[str] | None = field(init=False, eq=False, repr=False)

    @_compiled.default
    def _compile(self) -> re.Pattern[str] | None:
        return re.compile("|".join(map(translate, self.texts))) if self.texts else None

    def match(self, *texts: str) -> bool:
        """Whether one of *texts* matches one of these."""
        return self._compiled is None or any(map(self._compiled.match, texts))


@frozen
class Acceptance:
    """An entry of the list of what is accepted: findings for which everything matches that it names."""

    number: int
    """Which it is in its file, from one."""
    reason: str
    until: date | None = None
    """The last day on which it holds."""
    rules: Patterns = Patterns()
    namespaces: Patterns = Patterns()
    names: Patterns = Patterns()
    annotations: Patterns = Patterns()
    """With the prefix, or without."""
    files: Patterns = Patterns()
    """Relative to the folder of the list."""

    def is_about(self, object_id: ObjectId, file: str) -> bool:
        """Whether findings of that object, in *file*, may be accepted."""
        key = object_id[1]
        return self.namespaces.match(key.namespace) and self.names.match(key.name) and self.files.match(file)

    def takes(self, finding: Finding, file: str) -> bool:
        """Whether it accepts *finding*, which stands in *file*."""
        return (
            self.rules.match(finding.rule)
            and self.is_about(finding.object_id, file)
            and (not self.annotations.texts or self._takes_annotation(finding.field))
        )

    def _takes_annotation(self, field: str) -> bool:
        found = _ANNOTATION.match(field)
        return found is not None and self.annotations.match(found[1], found[1].rpartition("/")[2])


@frozen
class AcceptedFinding:
    """A finding, and why it is accepted."""

    finding: Finding
    reason: str


def read_acceptances(tables: object, prefix: str) -> tuple[Acceptance, ...]:
    """Return what the value of ``accept`` says; *prefix* begins the message of a ``Mistake``, which names the file."""
    if not isinstance(tables, Sequence) or not all(isinstance(table, Mapping) for table in tables):
        raise Mistake(f"{prefix}accept is written as [[accept]], once for each thing that is accepted")
    return tuple(
        _read(number, table, f"{prefix}[[accept]] number {number}") for number, table in enumerate(tables, 1)
    )


def _read(number: int, table: Mapping[str, Any], where: str) -> Acceptance:
    for name in table:
        if name not in _KEYS:
            raise Mistake(f"{where}: there is no key {name!r}{did_you_mean(name, _KEYS)}")
    reason = table.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        raise Mistake(f'{where}: say why, as in reason = "the old clients need it"')
    until = table.get("until")
    if until is not None and (not isinstance(until, date) or isinstance(until, datetime)):
        raise Mistake(f"{where}: until is a date without quotes, as in until = 2027-03-31")
    patterns = {name: _patterns(table[name], f"{where}: {name}") for name in _PATTERNS if name in table}
    if not patterns:
        raise Mistake(f"{where}: it would accept everything; say one of {', '.join(_PATTERNS)}")
    for pattern in patterns.get("rules", Patterns()).texts:
        if not any(fnmatchcase(rule, pattern) for rule in RULES):
            raise Mistake(f"{where}: there is no rule {pattern!r}{did_you_mean(pattern, RULES)}")
    return Acceptance(number, reason, until, **patterns)


def _patterns(value: object, where: str) -> Patterns:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise Mistake(f"{where} is a text or a list of texts")
    return Patterns(tuple(texts))


@frozen
class Accepting:
    """*report* without what is accepted; *told* is what to know of the list itself, a sentence each."""

    report: LintReport
    accepted: tuple[AcceptedFinding, ...] = ()
    told: tuple[str, ...] = ()


def accept(
    report: LintReport,
    acceptances: Sequence[Acceptance],
    today: date,
    relative: Callable[[str], str],
    is_whole: bool = True,
) -> Accepting:
    """Take from *report* what is accepted *today*; *relative* makes of a file what patterns of files are about.

    An acceptance that takes nothing is told where that says something: if *report* is of all that the list is for, as
    *is_whole* says, or of an object that the acceptance is about.
    """
    if not acceptances:
        return Accepting(report)
    holding = [one for one in acceptances if one.until is None or one.until >= today]
    taken: list[AcceptedFinding] = []
    used: set[int] = set()
    relatives = {file: relative(file) for file in _files(report)}

    def is_left(finding: Finding) -> bool:
        file = relatives[finding.place.file]
        for one in holding:
            if one.takes(finding, file):
                used.add(one.number)
                taken.append(AcceptedFinding(finding, one.reason))
                return False
        return True

    left = evolve(
        report,
        objects=tuple(_without(one, is_left) for one in report.objects),
        others=tuple(filter(is_left, report.others)),
    )
    told = [
        f"[[accept]] number {one.number} held until {one.until}, and what it accepted counts again"
        for one in acceptances
        if one not in holding
    ]
    for one in holding:
        if one.number not in used and (is_whole or _is_about(one, report, relatives)):
            told.append(f"[[accept]] number {one.number} ({one.reason}) matches no finding any more")
    return Accepting(left, tuple(taken), tuple(told))


def _files(report: LintReport) -> set[str]:
    return {one.place.file for one in report.objects} | {one.place.file for one in report.findings}


def _is_about(acceptance: Acceptance, report: LintReport, relatives: Mapping[str, str]) -> bool:
    """Whether *report* has an object that *acceptance* is about, whatever there is to say of it."""
    return any(
        acceptance.is_about(object_id, relatives[place.file])
        for object_id, place in (
            *((one.object_id, one.place) for one in report.objects),
            *((one.object_id, one.place) for one in report.others),
        )
    )


def _without(one: ObjectReport, is_left: Callable[[Finding], bool]) -> ObjectReport:
    findings = tuple(filter(is_left, one.findings))
    return one if len(findings) == len(one.findings) else evolve(one, findings=findings)
