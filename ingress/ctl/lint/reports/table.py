"""The report for people: what matters first, in the width of their terminal."""

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Final

import click
from attrs import frozen

from ingress.ctl.columns import columns, shortened, wrapped
from ingress.ctl.inputs.input import Place
from ingress.ctl.lint.finding import AnnotationReport, ObjectReport, Standing
from ingress.ctl.lint.reports.outcome import Outcome, Summary, summary
from ingress.ctl.lint.reports.remarks import AboutMany, AboutObject, Remark, remarks_of
from ingress.ctl.terminal import printable
from ingress.model.objects import ObjectId

_MARK_WIDTH: Final = 9
_LONGEST: Final = 4000
"""Characters of a message; more than that is no sentence for people."""
_NAMED: Final = 6
"""How many objects are named of those that have something in common."""
_COLOURS: Final = {
    "error": "red",
    "closes": "red",
    "unsafe": "red",
    "warning": "yellow",
    "ignored": "yellow",
    "never": "yellow",
    "note": "cyan",
    "differs": "cyan",
}
_STANDINGS: Final = tuple(Standing)


class Detail(IntEnum):
    """How much the table says."""

    LITTLE = 0
    """What fails, and the sum."""
    USUAL = 1
    MUCH = 2
    """Every object with all of its annotations, and nothing taken together."""


@frozen
class Look:
    """*width* is in columns; *paint* is given a text and keywords of ``click.style``."""

    width: int = 100
    has_colour: bool = False
    detail: Detail = Detail.USUAL

    def paint(self, text: str, colour: str | None = None, *, bold: bool = False, dim: bool = False) -> str:
        """Return *text* in a colour, bold or dim, where there are colours."""
        if not self.has_colour or not text:
            return text
        return click.style(text, fg=colour, bold=bold or None, dim=dim or None)


def table(outcome: Outcome, look: Look = Look()) -> Iterator[str]:
    """Yield the lines of the report of *outcome*."""
    return map(_inert, _Table(outcome, look).lines())


def _inert(line: str) -> str:
    """Take from *line* what a runner of builds would obey: to it, ``::`` begins a command (GitHub)."""
    text = line.lstrip()
    return line.replace("::", "\\x3a:", 1) if text.startswith("::") else line


@frozen
class _Table:
    outcome: Outcome
    look: Look

    def lines(self) -> Iterator[str]:
        report = self.outcome.report
        detail = self.look.detail
        for one in remarks_of(report, sums_up=detail is not Detail.MUCH):
            if detail is Detail.LITTLE and not self._fails(one.weight):
                continue
            yield from self._many(one) if isinstance(one, AboutMany) else self._object(one)
            yield ""
        if detail is not Detail.LITTLE:
            yield from self._foot()
        yield from self._closing()

    def _fails(self, weight: int) -> bool:
        fail_on = self.outcome.fail_on
        return fail_on is not None and weight >= fail_on

    def _object(self, one: AboutObject) -> Iterator[str]:
        yield from self._heading(_name(one.object_id), str(one.place))
        for remark, places in one.remarks:
            if self.look.detail is not Detail.LITTLE or self._fails(remark.weight):
                elsewhere = [place for place in places if place != one.place and place.file]
                yield from self._remark(remark, elsewhere)
        if self.look.detail is not Detail.LITTLE:
            yield from self._standings(one.annotations)

    def _heading(self, name: str, place: str) -> Iterator[str]:
        name, place = shortened(printable(name), self.look.width), printable(place)
        if not place:
            yield self.look.paint(name, bold=True)
        elif columns(name) + columns(place) + 2 > self.look.width:
            yield self.look.paint(name, bold=True)
            yield f"  {self.look.paint(place, dim=True)}"
        else:
            yield f"{self.look.paint(name, bold=True)}  {self.look.paint(place, dim=True)}"

    def _many(self, one: AboutMany) -> Iterator[str]:
        yield self.look.paint(f"In {len(one.objects)} objects", bold=True)
        yield from self._remark(one.remark, ())
        some = [f"{_name(object_id)} ({place})" if place.file else _name(object_id) for object_id, place in one.objects]
        yield from self._paragraph(self._listed(some), dim=True)

    def _remark(self, remark: Remark, places: Iterable[Place]) -> Iterator[str]:
        rule = f"  [{remark.rule}]" if remark.rule else ""
        text = printable(_bounded(remark.text)) + rule
        first, *more = wrapped(text, self._text_width)
        mark = self.look.paint(remark.mark.ljust(_MARK_WIDTH - 2), _COLOURS[remark.mark], bold=True)
        yield f"  {mark}  {first}"
        for line in more:
            yield f"{self._indent}{line}"
        if remark.advice:
            for at, line in enumerate(wrapped(printable(_bounded(remark.advice)), self._text_width - 2)):
                yield f"{self._indent}{'  ' if at else self.look.paint('→ ', 'green')}{line}"
        named = [str(place) for place in places]
        if named:
            yield from self._paragraph(f"at {self._listed(named)}", dim=True)

    def _standings(self, annotations: Iterable[AnnotationReport]) -> Iterator[str]:
        by_standing: dict[Standing, list[str]] = {}
        for one in annotations:
            by_standing.setdefault(one.standing, []).append(one.name)
        if not by_standing:
            return
        texts = []
        for standing in _STANDINGS:
            names = by_standing.get(standing, [])
            if not names:
                continue
            if standing is Standing.HONORED and self.look.detail is not Detail.MUCH:
                texts.append(f"{len(names)} {standing.value}")
            else:
                texts.append(f"{len(names)} {standing.value} ({', '.join(sorted(names))})")
        yield from self._paragraph(f"annotations: {', '.join(texts)}", dim=True)

    def _paragraph(self, text: str, *, dim: bool = False) -> Iterator[str]:
        for line in wrapped(printable(text), self._text_width):
            yield f"{self._indent}{self.look.paint(line, dim=dim)}"

    @property
    def _indent(self) -> str:
        return " " * (_MARK_WIDTH + 2)

    @property
    def _text_width(self) -> int:
        return max(self.look.width - _MARK_WIDTH - 2, 20)

    def _foot(self) -> Iterator[str]:
        """Yield what was not judged, and what is accepted."""
        report = self.outcome.report
        others: dict[str, list[ObjectReport]] = {}
        for one in report.objects:
            if not one.is_ours:
                others.setdefault(one.why_not, []).append(one)
        yield from self._section(
            "Not served here",
            (f"{why}: {self._listed([_name(one.object_id) for one in some])}" for why, some in others.items()),
        )
        yield from self._section("Not checked", map(self._clipped, report.not_checked))
        if self.outcome.shows_accepted:
            accepted = (
                f"{one.finding.level.word} {_name(one.finding.object_id)} ({one.finding.place}): "
                f"{one.finding.message} [{one.finding.rule}]; accepted: {one.reason}"
                for one in self.outcome.accepted
            )
            yield from self._section("Accepted", accepted)

    def _section(self, title: str, texts: Iterable[str]) -> Iterator[str]:
        is_empty = True
        for text in texts:
            if is_empty:
                yield self.look.paint(title, bold=True)
                is_empty = False
            for at, line in enumerate(wrapped(printable(_bounded(text)), self.look.width - 4)):
                yield f"  {'  ' if at else '- '}{line}"
        if not is_empty:
            yield ""

    def _clipped(self, text: str) -> str:
        if self.look.detail is Detail.MUCH:
            return text
        return shortened(text, 2 * (self.look.width - 4))

    def _listed(self, names: list[str]) -> str:
        """Join *names*, of many the first."""
        if self.look.detail is Detail.MUCH or len(names) <= _NAMED + 1:
            return ", ".join(names)
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"

    def _closing(self) -> Iterator[str]:
        counted = summary(self.outcome)
        worst = "error" if counted.errors else "warning" if counted.warnings else ""
        colour = _COLOURS.get(worst, "green")
        for line in wrapped(f"{_objects(counted)} {_findings(counted)}", self.look.width):
            yield self.look.paint(line, colour, bold=True)


def _objects(counted: Summary) -> str:
    if not counted.objects:
        return "No Ingress was read."
    others = f", {counted.objects - counted.ours} of them not served here" * (counted.objects > counted.ours)
    return (
        f"{_number(counted.objects, 'object')}{others}: {counted.fully} honored fully, {counted.differing} with differences, "
        f"{counted.partly} in part."
    )


def _findings(counted: Summary) -> str:
    levels = ", ".join(
        _number(number, word)
        for number, word in ((counted.errors, "error"), (counted.warnings, "warning"), (counted.notes, "note"))
        if number
    )
    accepted = f", {counted.accepted} accepted" if counted.accepted else ""
    not_checked = f" {_number(counted.not_checked, 'thing')} not checked." if counted.not_checked else ""
    return f"{levels or 'No findings'}{accepted}.{not_checked}"


def _number(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"


def _name(object_id: ObjectId) -> str:
    kind, key = object_id
    return f"{kind} {key}"


def _bounded(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
