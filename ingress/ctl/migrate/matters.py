"""What is the matter with objects, each thing once: what many of them have in common is not said for each.

Pure.  Names that nobody ever read are grouped by what is meant by them (``rate-limit``, ``rate-limit-window``), whatever
of these an object has.
"""

import re
from collections.abc import Iterator
from typing import Final

from attrs import define, evolve, field

from ingress.ctl.inputs.input import Place
from ingress.ctl.lint.finding import AnnotationReport, Finding, ObjectReport
from ingress.ctl.lint.reports.texts import message
from ingress.ctl.migrate.migration import Matter
from ingress.ctl.migrate.outcome import Outcome, differing, is_mistake, outcome_of_finding
from ingress.model.cluster.objects import ObjectId
from ingress.model.cluster.problems import Reason

_NAMES: Final = re.compile(
    r"(?P<names>[^\s:;]+(?:, [^\s:;]+)*): (?P<was>[^;]*?) (?:it|them); (?P<has>.*)", re.DOTALL
)
"""How ``ingress.annotations.unknown_names`` tells of names."""

Located = tuple[ObjectId, Place]
"""An object, and where it stands: layers may have it twice."""


@define
class _Group:
    matter: Matter
    names: set[str] = field(factory=set)
    was: str = ""
    has: str = ""
    advice: set[str] = field(factory=set)
    fields: dict[Located, str] = field(factory=dict)
    """The field that it is about in each object that has it."""

    def finished(self) -> Matter:
        objects = tuple(sorted(object_id for object_id, _ in self.fields))
        # What is advised may have a value of the object in it, and holds for that alone then.
        advice = next(iter(self.advice)) if len(self.advice) == 1 else ""
        if not self.names:
            return evolve(self.matter, advice=advice, objects=objects)
        names = ", ".join(sorted(self.names))
        text = f"{names}: {self.was} {'them' if len(self.names) > 1 else 'it'}; {self.has}"
        return evolve(self.matter, message=text, advice=advice, objects=objects)


class Matters:
    """Collects what is the matter with objects, one report after the other."""

    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], _Group] = {}

    def add(self, report: ObjectReport) -> None:
        """Take in what there is to say of one object."""
        located = (report.object_id, report.place)
        for finding in report.findings:
            group = self._of_finding(finding)
            group.advice.add(finding.advice)
            group.fields.setdefault(located, finding.field)
        for one in differing(report):
            self._of_annotation(one).fields.setdefault(located, "")

    def sorted(self) -> Iterator[tuple[Matter, dict[Located, str]]]:
        """Yield each matter, the worst first, with the field that it is about in each object that has it."""
        finished = [(group.finished(), group.fields) for group in self._groups.values()]
        yield from sorted(finished, key=lambda one: _order(one[0]))

    def _of_finding(self, finding: Finding) -> _Group:
        found = _NAMES.fullmatch(finding.message) if finding.rule == Reason.UNKNOWN_ANNOTATION else None
        said = message(finding)
        matter = Matter(said, outcome_of_finding(finding), finding.rule, is_mistake=is_mistake(finding))
        if found is None:
            return self._groups.setdefault((finding.rule, said), _Group(matter))
        key = (finding.rule, found["was"], found["has"])
        group = self._groups.setdefault(key, _Group(matter, was=found["was"], has=found["has"]))
        group.names.update(found["names"].split(", "))
        return group

    def _of_annotation(self, one: AnnotationReport) -> _Group:
        matter = Matter(f"{one.name}: {one.why}", Outcome.DIFFERS)
        return self._groups.setdefault(("", matter.message), _Group(matter))


def _order(matter: Matter) -> tuple[object, ...]:
    return -matter.outcome, not matter.is_mistake, -len(matter.objects), matter.message, matter.advice
