"""The report for people: what matters first, in the width of their terminal."""

from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from typing import Final

import click

from ingress.ctl.columns import columns, cut_inside, wrapped
from ingress.ctl.inputs.input import NOWHERE, Place
from ingress.ctl.lint.finding import AnnotationReport, Standing
from ingress.ctl.lint.reports.remarks import MANY, AboutMany, AboutObject, Remark, Spot, remarks_of
from ingress.ctl.lint.reports.results import Results, Summary, summary
from ingress.ctl.lint.reports.texts import object_name
from ingress.ctl.lint.rules import NOT_JUDGED
from ingress.ctl.terminal import printable
from ingress.model.cluster.objects import ObjectId
from ingress.model.frozen import frozen
from ingress.wording import first_of, number_of

_MARK_WIDTH: Final = 9
_LONGEST: Final = 4000
"""Characters of a message; more than that is no sentence for people."""
_NAMED: Final = 6
"""How many objects are named of those that have something in common."""
_NAMED_UNREAD: Final = 3
_PATH_WIDTH: Final = 48
"""What paths of things that were not checked take at most, so that what is said of them is seen."""
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


_USUAL: Final = Look()


def table(results: Results, look: Look = _USUAL) -> Iterator[str]:
    """Yield the lines of the report of *results*."""
    return map(_inert, _Table(results, look).lines())


def _inert(line: str) -> str:
    """Take from *line* what a runner of builds would obey: to it, ``::`` begins a command (GitHub)."""
    text = line.lstrip()
    return line.replace("::", "\\x3a:", 1) if text.startswith("::") else line


@frozen
class _Table:
    results: Results
    look: Look

    def lines(self) -> Iterator[str]:
        detail = self.look.detail
        accepted = [one.finding for one in self.results.accepted]
        told = remarks_of(self.results.report, accepted, sums_up=detail is not Detail.MUCH)
        differences = [one for one in told if isinstance(one, AboutMany) and not one.weight]
        differences.sort(key=lambda one: (-len(one.objects), one.remark.text))
        for one in told[: len(told) - len(differences)]:
            if detail is Detail.LITTLE and not self._fails(one.weight):
                continue
            yield from self._many(one) if isinstance(one, AboutMany) else self._object(one)
            yield ""
        if detail is not Detail.LITTLE:
            yield from self._differences(differences)
            yield from self._foot()
        yield from self._closing()

    def _fails(self, weight: int) -> bool:
        fail_on = self.results.fail_on
        return fail_on is not None and weight >= fail_on

    def _object(self, one: AboutObject) -> Iterator[str]:
        yield from self._beside(printable(object_name(one.object_id)), printable(str(one.place)), bold=True)
        for remark, spots in one.remarks:
            if self.look.detail is not Detail.LITTLE or self._fails(remark.weight):
                yield from self._remark(remark, self._where(spots, one.place))
        if self.look.detail is not Detail.LITTLE:
            yield from self._standings(one.annotations)

    def _beside(self, name: str, place: str, indent: str = "", *, bold: bool = False) -> Iterator[str]:
        """Yield *name* with *place* beside it, or below where that is too wide."""
        name = cut_inside(name, self.look.width - len(indent))
        painted = f"{indent}{self.look.paint(name, bold=bold)}"
        if not place:
            yield painted
        elif len(indent) + columns(name) + columns(place) + 2 > self.look.width:
            yield painted
            yield f"{indent}  {self.look.paint(place, dim=True)}"
        else:
            yield f"{painted}  {self.look.paint(place, dim=True)}"

    def _many(self, one: AboutMany) -> Iterator[str]:
        kind = common_kind(each.object_id for each in one.objects)
        yield self.look.paint(number_of(len(one.objects), kind or "object"), bold=True)
        yield from self._remark(one.remark)
        named = one.objects if self._names_all(len(one.objects)) else one.objects[:_NAMED]
        for each in named:
            name = object_name(each.object_id, kind)
            yield from self._beside(printable(name), printable(str(each.place)), self._indent)
            yield from self._advice(each.advice, "  ")
        if len(named) < len(one.objects):
            yield f"{self._indent}{self.look.paint(f'and {len(one.objects) - len(named)} more', dim=True)}"

    def _differences(self, differences: Iterable[AboutMany]) -> Iterator[str]:
        """Yield what is known of annotations beyond findings, each thing once."""
        is_empty = True
        for one in differences:
            if is_empty:
                yield self.look.paint("Annotations that are not honored to the letter", bold=True)
                is_empty = False
            yield from self._remark(one.remark)
            yield from self._dim(self._named([each.object_id for each in one.objects]))
        if not is_empty:
            yield ""

    def _remark(self, remark: Remark, where: str = "") -> Iterator[str]:
        first, *others = wrapped(printable(_bounded(remark.text)), self._text_width)
        mark = self.look.paint(remark.mark.ljust(_MARK_WIDTH - 2), _COLOURS[remark.mark], bold=True)
        yield f"  {mark}  {first}"
        yield from (f"{self._indent}{line}" for line in others)
        yield from self._advice(remark.advice)
        ends = [printable(end) for end in (where, remark.rule) if end]
        if columns("  ".join(ends)) <= self._text_width:
            ends = ["  ".join(ends)]
        for end in filter(None, ends):
            for line in wrapped(end, self._text_width, divides=False):
                yield f"{self._indent}{self.look.paint(line, dim=True)}"

    def _advice(self, advice: str, deeper: str = "") -> Iterator[str]:
        if advice:
            width = self._text_width - 2 - len(deeper)
            for at, line in enumerate(wrapped(printable(_bounded(advice)), width)):
                arrow = "  " if at else self.look.paint("→ ", "green")
                yield f"{self._indent}{deeper}{arrow}{line}"

    def _where(self, spots: Iterable[Spot], known: Place) -> str:
        """Return where in an object something is: lines where they are known, else fields; both where much is asked for."""
        named: dict[str, None] = {}
        file = ""
        for spot in spots:
            place = spot.place if spot.place.line and spot.place != known else NOWHERE
            field = "" if place.line and self.look.detail is not Detail.MUCH else spot.field
            # Of several lines of a file, the file is named with the first.
            where = f":{place.line}" if place.line and place.file == file else str(place)
            named[" ".join(filter(None, (where, field)))] = None
            file = place.file
        named.pop("", None)
        return self._listed(list(named))

    def _dim(self, text: str) -> Iterator[str]:
        for line in wrapped(printable(text), self._text_width):
            yield f"{self._indent}{self.look.paint(line, dim=True)}"

    def _standings(self, annotations: Iterable[AnnotationReport]) -> Iterator[str]:
        by_standing: dict[Standing, list[str]] = {}
        for one in annotations:
            by_standing.setdefault(one.standing, []).append(one.name)
        texts = []
        for standing in _STANDINGS:
            names = by_standing.get(standing)
            if names and standing is Standing.HONORED and self.look.detail is not Detail.MUCH:
                texts.append(f"{len(names)} {standing.value}")
            elif names:
                texts.append(f"{standing.value}: {', '.join(sorted(names))}")
        if texts:
            for at, line in enumerate(
                wrapped(printable(f"annotations  {'; '.join(texts)}"), self.look.width - 4)
            ):
                yield f"  {'  ' * bool(at)}{self.look.paint(line, dim=True)}"

    @property
    def _indent(self) -> str:
        return " " * (_MARK_WIDTH + 2)

    @property
    def _text_width(self) -> int:
        return max(self.look.width - _MARK_WIDTH - 2, 20)

    def _foot(self) -> Iterator[str]:
        """Yield what was not judged, and what is accepted."""
        report = self.results.report
        others: dict[str, list[ObjectId]] = {}
        for one in report.objects:
            is_said = any(one.why_not in finding.message for finding in one.findings)
            if not one.is_ours and not is_said:
                others.setdefault(one.why_not, []).append(one.object_id)
        yield from self._section(
            "Not served here", (self._named(some, f" ({why})") for why, some in others.items())
        )
        yield from self._section("Not checked", _not_checked(report.not_checked, self._names_all), most=2)
        if self.results.shows_accepted:
            accepted = (
                f"{one.finding.level.word} {object_name(one.finding.object_id)} ({one.finding.place}): "
                f"{one.finding.message} [{one.finding.rule}]; accepted: {one.reason}"
                for one in self.results.accepted
            )
            yield from self._section("Accepted", accepted)

    def _section(self, title: str, texts: Iterable[str], most: int | None = None) -> Iterator[str]:
        """Yield *texts* below *title*, of each at most so many lines unless everything is asked for."""
        is_empty = True
        for text in texts:
            if is_empty:
                yield self.look.paint(title, bold=True)
                is_empty = False
            lines = wrapped(printable(_bounded(text)), self.look.width - 6)
            if most is not None and len(lines) > most and self.look.detail is not Detail.MUCH:
                lines = [*lines[: most - 1], f"{lines[most - 1]} …"]
            for at, line in enumerate(lines):
                yield f"  {'  ' if at else '- '}{line}"
        if not is_empty:
            yield ""

    def _named(self, objects: list[ObjectId], aside: str = "") -> str:
        """Say how many *objects* there are, and which; *aside* comes before their names."""
        if len(objects) == 1:
            return f"{object_name(objects[0])}{aside}"
        kind = common_kind(objects)
        names = self._listed([object_name(one, kind) for one in objects])
        return f"{number_of(len(objects), kind or 'object')}{aside}: {names}"

    def _names_all(self, number: int) -> bool:
        return self.look.detail is Detail.MUCH or number <= _NAMED + 1

    def _listed(self, names: list[str]) -> str:
        """Join *names*, of many the first."""
        return first_of(names, len(names) if self._names_all(len(names)) else _NAMED)

    def _closing(self) -> Iterator[str]:
        counted = summary(self.results)
        worst = "error" if counted.errors else "warning" if counted.warnings else ""
        colour = _COLOURS.get(worst, "green")
        kind = common_kind(one.object_id for one in self.results.report.objects)
        advices = (
            finding.advice
            for one in self.results.report.objects
            for finding in one.findings
            if finding.rule in NOT_JUDGED and finding.advice
        )
        sentence = f"{objects_sentence(counted, kind, advices)} {findings_sentence(counted)}"
        for line in wrapped(printable(_bounded(sentence)), self.look.width):
            yield self.look.paint(line, colour, bold=True)


def _not_checked(sentences: Iterable[str], names_all: Callable[[int], bool]) -> Iterator[str]:
    """Yield *sentences*, what is said of many paths once, and long paths cut in the middle: what helps has to be seen."""
    by_why: dict[str, list[str]] = {}
    for sentence in sentences:
        what, _, why = sentence.partition(": ")
        by_why.setdefault(why.replace(f" {what} ", " CHART "), []).append(sentence)
    for why, same in by_why.items():
        paths = [sentence.partition(": ")[0] for sentence in same]
        if len(same) >= MANY and why:
            named = paths if names_all(len(paths)) else paths[:_NAMED_UNREAD]
            more = f" and {len(paths) - len(named)} more" if len(named) < len(paths) else ""
            # What helps comes first: the end may be cut.
            yield f"{len(same)} paths, each {why}: {', '.join(cut_inside(one, _PATH_WIDTH) for one in named)}{more}"
        else:
            yield from (_short(path, sentence) for path, sentence in zip(paths, same, strict=True))


def _short(path: str, sentence: str) -> str:
    """Return *sentence*, which begins with *path*, with that cut if it is long; in what helps it is not cut, for nobody could use it."""
    cut = cut_inside(path, _PATH_WIDTH) if "/" in path else path
    if cut == path:
        return sentence
    return cut + sentence[len(path) :].replace(f" {path} ", " CHART ")


def _bounded(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def objects_sentence(counted: Summary, kind: str | None, advices: Iterable[str]) -> str:
    """Say how many objects there are, all of *kind* if it is one, and what becomes of them; *advices* if none is served here."""
    if not counted.objects:
        return "There is no Ingress."
    if not counted.ours:
        advice = "; ".join(dict.fromkeys(advices))
        none = "none of them" if counted.objects > 1 else "not"
        return f"{number_of(counted.objects, kind or 'object')}, {none} served here{': ' * bool(advice)}{advice}."
    others = f", {counted.objects - counted.ours} of them not served here" * (counted.objects > counted.ours)
    return (
        f"{number_of(counted.objects, kind or 'object')}{others}: {counted.fully} honored fully, "
        f"{counted.differing} with differences, {counted.partly} in part."
    )


def findings_sentence(counted: Summary) -> str:
    """Say how many findings there are of each level, what is accepted, and what was not checked."""
    levels = ", ".join(
        number_of(number, word)
        for number, word in (
            (counted.errors, "error"),
            (counted.warnings, "warning"),
            (counted.notes, "note"),
        )
        if number
    )
    accepted = f", {counted.accepted} accepted" if counted.accepted else ""
    not_checked = f" {number_of(counted.not_checked, 'thing')} not checked." if counted.not_checked else ""
    return f"{levels or 'No findings'}{accepted}.{not_checked}"


def common_kind(objects: Iterable[ObjectId]) -> str | None:
    """Return the kind of all *objects*; None if there are several."""
    kinds = {kind for kind, _ in objects}
    return kinds.pop() if len(kinds) == 1 else None
