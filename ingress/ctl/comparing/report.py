"""The report of a comparison: a page of Markdown or HTML, or JSON.  Pure.

No value of a field that was sent is in it, and of URLs no parameter whose name tells of a secret.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ingress.ctl.comparing.allowances import ALLOWANCES
from ingress.ctl.comparing.causes import Attribution, Cause, causes
from ingress.ctl.comparing.differences import Compared, Weight
from ingress.ctl.comparing.samples import Chosen, Sample
from ingress.ctl.comparing.tally import Result
from ingress.ctl.pages.document import (
    Block,
    Code,
    Document,
    Heading,
    Line,
    Paragraph,
    Points,
    Strong,
    Table,
)
from ingress.model.frozen import frozen
from ingress.wording import number_of

EXAMPLES: Final = 5
"""Samples of each cause that a page shows; JSON has all."""
_MAX_SHOWN: Final = 300
_MAX_OBJECTS: Final = 10
_SECRET: Final = re.compile(
    r"(?<=[?&])([^=&]*(?:token|secret|password|passwd|signature|credential|session|jwt|api[-_]?key|auth|code)[^=&]*)=[^&]*",
    re.IGNORECASE,
)
_WORDS: Final = {
    Weight.OPEN: "let in here, kept out there",
    Weight.LOST: "an error here, none there",
    Weight.STATUS: "another status",
    Weight.BACKEND: "another backend",
    Weight.LOCATION: "another place to go",
    Weight.CERTIFICATE: "another certificate",
    Weight.FIELD: "other fields",
}


@frozen
class Report:
    """What a report is made of; *theirs* and *ours* are addresses, *backend_field* what backends say who they are by."""

    theirs: str
    ours: str
    chosen: Chosen
    result: Result
    attribution: Attribution
    backend_field: str = ""
    ended: str = ""
    """Why it ended before the last sample; empty where it did not."""
    is_slowed: bool = False

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Differences by cause, the worst first."""
        return causes(self.result.differing, self.attribution)


def summary(report: Report) -> str:
    """Return the line that says all."""
    result = report.result
    differing = len(result.differing) + result.beyond
    said = f"{result.asked} of {number_of(len(report.chosen.samples), 'request')} to each: {result.equal} answered alike, {differing} not"
    more = [
        (result.accepted, "accepted"),
        (len(result.unsteady), "unsteady"),
        (result.unanswered, "that neither answers"),
        (sum(count for _, count in report.chosen.left_out), "left out"),
    ]
    said += "".join(f", {count} {words}" for count, words in more if count)
    return f"{said}; ended before the last one: {report.ended}" if report.ended else said


def as_document(report: Report) -> Document:
    """Return the page."""
    return Document("Requests to both controllers", tuple(_blocks(report)))


def _blocks(report: Report) -> Iterator[Block]:
    yield Paragraph((Strong(f"{summary(report)}."),))
    yield Points((("Theirs: ", Code(report.theirs)), ("Ours: ", Code(report.ours))))
    found = report.causes
    if found:
        yield Heading(2, ("What differs",), "differs")
        for cause in found:
            yield from _cause(cause)
    if report.result.beyond:
        yield Paragraph((f"{report.result.beyond} more differ, and are not shown.",))
    yield from _others("What is unsteady", "unsteady", report.result.unsteady, True)
    yield from _others("Bodies that differ, where nothing else does", "bodies", report.result.hints, False)
    yield Heading(2, ("What was asked, and what counts",), "rules")
    yield Paragraph((_how_backends_are_known(report),))
    if found:
        yield Paragraph(
            (Code("ingressctl explain URL"), " says of each request why it is taken here as it is.")
        )
    if report.is_slowed:
        yield Paragraph(("A side had too much to do, and was asked more slowly.",))
    if report.chosen.left_out:
        yield Points(tuple((f"Left out: {count} {why}.",) for why, count in report.chosen.left_out))
    if report.result.used:
        accepted = sorted(report.result.used.items())
        yield Points(
            tuple(
                (f"Accepted, {number_of(count, 'time')}: " if count else "Accepted, and not met: ", words)
                for words, count in accepted
            )
        )
    yield Points(tuple((Strong(one.name), f": {one.means}") for one in ALLOWANCES))


def _cause(cause: Cause) -> Iterator[Block]:
    count = len(cause.compared)
    requests = f"{count} {'request' if count == 1 else 'requests'}"
    yield Heading(3, (f"{_WORDS[cause.weight].capitalize()}: {_cut(_without_secrets(cause.title))}",))
    if cause.known:
        yield Paragraph((f"{requests}. {cause.known}.",))
    else:
        yield Paragraph((f"{requests}, taken here by ", *_objects(cause), "."))
    if cause.expected:
        yield Paragraph(
            (f"By the objects that are given, the first of them: {_without_secrets(cause.expected)}.",)
        )
    if cause.suspects:
        yield Paragraph(("It may be because of:",))
        yield Points(tuple((words,) for words in cause.suspects))
    yield _table("Requests", cause.compared[:EXAMPLES], False)
    if count > EXAMPLES:
        yield Paragraph((f"And {count - EXAMPLES} more.",))


def _objects(cause: Cause) -> Line:
    """Name what takes the requests."""
    if len(cause.taken) == 1:
        (taken,) = cause.taken
        if not taken.path:
            return (Code(str(taken)),)
        return (Code(str(taken)), " (path ", Code(taken.path), ", to ", Code(taken.backend), ")")
    line: Line = ()
    for number, taken in enumerate(cause.taken[:_MAX_OBJECTS]):
        line += (", " if number else "", Code(str(taken)))
    more = len(cause.taken) - _MAX_OBJECTS
    return (*line, f" and {more} more") if more > 0 else line


def _table(caption: str, some: Iterable[Compared], is_unsteady: bool) -> Table:
    rows = []
    for one in some:
        differences = one.unsteady if is_unsteady else one.differences
        for number, difference in enumerate(differences):
            request: Line = (
                (Code(shown(one.sample)), f" ({one.sample.what})") if not number else ("the same",)
            )
            rows.append(
                (request, (difference.aspect,), (_value(difference.theirs),), (_value(difference.ours),))
            )
    return Table(caption, ("Request", "What", "Theirs", "Ours"), tuple(rows))


def _value(text: str) -> Code:
    return Code(_cut(_without_secrets(text)))


def _others(title: str, anchor: str, some: tuple[Compared, ...], is_unsteady: bool) -> Iterator[Block]:
    if not some:
        return
    yield Heading(2, (title,), anchor)
    if is_unsteady:
        yield _table("Unsteady", some[:EXAMPLES], True)
    else:
        yield Points(tuple((Code(shown(one.sample)), f": {one.hint}") for one in some[:EXAMPLES]))
    if len(some) > EXAMPLES:
        yield Paragraph((f"And {len(some) - EXAMPLES} more.",))


def _how_backends_are_known(report: Report) -> str:
    if report.backend_field:
        return f"Which backend answered is known by the field {report.backend_field}, which backends send."
    return (
        "Which backend answered there is not known: no field was named (--backend-header) by which backends say who they are."
        " What takes a request here is known by the objects. Whether a page is a controller's own is seen by its body."
    )


def _without_secrets(text: str) -> str:
    return _SECRET.sub(r"\1=(hidden)", text)


def shown(sample: Sample) -> str:
    """Return *sample* for people."""
    return f"{sample.method} {_cut(_without_secrets(sample.url))}"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def as_data(report: Report) -> dict[str, Any]:
    """Return the report as plain data."""
    result = report.result
    return {
        "theirs": report.theirs,
        "ours": report.ours,
        "summary": summary(report),
        "samples": len(report.chosen.samples),
        "asked": result.asked,
        "equal": result.equal,
        "accepted": result.accepted,
        "unanswered": result.unanswered,
        "ended": report.ended,
        "slowed": report.is_slowed,
        "backendHeader": report.backend_field,
        "leftOut": [{"why": why, "count": count} for why, count in report.chosen.left_out],
        "causes": [_cause_data(cause) for cause in report.causes],
        "beyond": result.beyond,
        "unsteady": [_compared_data(one) for one in result.unsteady],
        "bodies": [{**_sample_data(one.sample), "hint": one.hint} for one in result.hints],
        "acceptedEntries": [{"entry": words, "taken": count} for words, count in sorted(result.used.items())],
        "allowances": [{"name": one.name, "means": one.means} for one in ALLOWANCES],
    }


def _cause_data(cause: Cause) -> dict[str, Any]:
    return {
        "weight": cause.weight.name.lower(),
        "title": _without_secrets(cause.title),
        "objects": [{"object": str(one), "path": one.path, "backend": one.backend} for one in cause.taken],
        "known": cause.known,
        "expected": _without_secrets(cause.expected),
        "suspects": list(cause.suspects),
        "count": len(cause.compared),
        "requests": [_compared_data(one) for one in cause.compared],
    }


def _compared_data(one: Compared) -> dict[str, Any]:
    return {
        **_sample_data(one.sample),
        "differences": [
            {
                "aspect": some.aspect,
                "theirs": _without_secrets(some.theirs),
                "ours": _without_secrets(some.ours),
            }
            for some in (*one.differences, *one.unsteady)
        ],
    }


def _sample_data(sample: Sample) -> dict[str, Any]:
    return {
        "method": sample.method,
        "url": _without_secrets(sample.url),
        "what": sample.what,
        "of": sample.of,
        "fields": [name for name, _ in sample.fields],
    }
