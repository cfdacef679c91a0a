"""A comparison as text, as JSON and as Markdown."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ingress.ctl.pages.markdown import fenced
from ingress.ctl.served.blocks import SECTIONS, Block, blocks, by_section, summary
from ingress.ctl.served.differences import Comparison, Difference
from ingress.ctl.terminal import printable
from ingress.wording import number_of

SHOWN: Final = 10
"""Places at which the same changes, of which each is named, unless all are asked for."""
SHOWN_WHOLE: Final = 50
"""The same of what comes or goes."""
MOST_CHARACTERS: Final = 60_000
"""Of Markdown: a comment on GitHub takes 65,536."""

Line = tuple[str, str]
"""A sign (``-``, ``+``, ``~``, ``#`` for a heading, empty for what follows) and a line, without line break."""


def as_text(comparison: Comparison, *, all_places: bool = False) -> Iterator[Line]:
    """Yield the lines for a person, section by section."""
    for section, some in by_section(blocks(comparison)):
        yield "#", section
        for block in some:
            yield from _block(block, all_places=all_places)
        yield "", ""
    if comparison.not_compared:
        yield "#", "Not compared"
        for sentence in comparison.not_compared:
            yield "", f"  {printable(sentence)}"
        yield "", ""
    yield "", summary(comparison)


def _block(block: Block, *, all_places: bool) -> Iterator[Line]:
    shown = len(block.places) if all_places else SHOWN if block.sign == "~" else SHOWN_WHOLE
    for place in block.places[:shown]:
        yield block.sign, f"  {block.sign} {printable(place)}"
    left_out = len(block.places) - shown
    if left_out > 0:
        yield block.sign, f"  {block.sign} and {left_out} more; --all names them"
    for line in block.lines:
        yield "", f"      {printable(line)}"


def as_data(layers: Iterable[tuple[str, Comparison]]) -> dict[str, Any]:
    """Return comparisons, each with the name of its layer, as plain data.

    ``{"different": BOOLEAN, "differences": [...], "quiet": [...], "notCompared": [SENTENCE]}``; each difference has
    ``subject`` (``host``, ``route``, ``backend``, ...), ``change`` (``vanishes``, ``appears``, ``changes``), ``layer`` (empty where
    there is one alone), ``table``, ``host`` (empty: all hosts), ``path``, ``match``, ``field``, ``old``, ``new`` and ``instead``
    (what takes its requests on the other side).
    """
    loud: list[dict[str, Any]] = []
    quiet: list[dict[str, Any]] = []
    not_compared: dict[str, None] = {}
    for name, comparison in layers:
        for one in comparison.differences:
            (quiet if one.subject.is_quiet else loud).append(_difference(name, one))
        not_compared.update(dict.fromkeys(comparison.not_compared))
    return {"different": bool(loud), "differences": loud, "quiet": quiet, "notCompared": list(not_compared)}


def _difference(layer: str, one: Difference) -> dict[str, Any]:
    return {
        "subject": one.subject.word,
        "change": one.change,
        "layer": layer,
        "table": one.place.table,
        "host": one.place.host,
        "path": one.place.path,
        "match": one.place.match,
        "field": one.field,
        "old": one.old,
        "new": one.new,
        "instead": one.instead,
    }


def as_json(layers: Iterable[tuple[str, Comparison]]) -> str:
    """Return the same as JSON."""
    return json.dumps(as_data(layers), indent=2)


def as_markdown(layers: Iterable[tuple[str, Comparison]]) -> str:
    """Return comparisons for a comment on a pull request.

    All that tenants wrote stands in fenced blocks, where Markdown knows no HTML, no mentions and no links.  There are at
    most ``MOST_CHARACTERS``; what is left out is said.
    """
    parts: list[str] = []
    for name, comparison in layers:
        title = summary(comparison)
        parts.append(f"**ingressctl diff**: {title}.\n")
        if name:
            parts.append(fenced(f"# {printable(name)}", "diff") + "\n")
        parts += (_section(section, some) for section, some in by_section(blocks(comparison)))
        if comparison.not_compared:
            lines = [f"  {printable(one)}" for one in comparison.not_compared]
            parts.append(_details("Not compared", lines, is_open=False))
    return _bounded(parts)


def _section(section: str, some: list[Block]) -> str:
    lines: list[str] = []
    for block in some:
        for sign, line in _block(block, all_places=False):
            mark = "!" if sign == "~" else sign or " "
            lines.append(f"{mark} {line.strip().removeprefix(sign).strip() if sign else line[2:]}")
    count = sum(len(block.places) for block in some)
    return _details(f"{section} ({count})", lines, is_open=section in SECTIONS[:2])


def _details(title: str, lines: list[str], *, is_open: bool) -> str:
    opened = " open" if is_open else ""
    kept, size = [], 0
    for line in lines:
        size += len(line) + 1
        if size > MOST_CHARACTERS // 2:
            break
        kept.append(line)
    left_out = len(lines) - len(kept)
    if left_out:
        kept.append(
            f"# {number_of(left_out, 'more line is', 'more lines are')} left out; ingressctl diff prints all"
        )
    text = "\n".join(kept)
    return f"<details{opened}><summary>{title}</summary>\n\n{fenced(text, 'diff')}\n\n</details>\n"


def _bounded(parts: list[str]) -> str:
    kept: list[str] = []
    size = 0
    for number, part in enumerate(parts):
        size += len(part) + 1
        if size > MOST_CHARACTERS:
            left_out = len(parts) - number
            kept.append(
                f"{number_of(left_out, 'more section is', 'more sections are')} left out, for a comment has its bounds; ingressctl diff prints all.\n"
            )
            break
        kept.append(part)
    return "\n".join(kept)
