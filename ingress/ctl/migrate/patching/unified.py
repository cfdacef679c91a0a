"""Edits of a file as a unified diff that ``git apply`` and ``patch -p1`` take.  Pure."""

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Final

from ingress.ctl.migrate.patching.yaml_places import Edit, Text, applied
from ingress.model.frozen import frozen

CONTEXT: Final = 3
"""Lines around what changes."""


@frozen
class _Region:
    """Lines of the old text, from *first* to before *end*, and what stands there instead."""

    first: int
    end: int
    lines: tuple[str, ...]


def unified(path: str, file: Text, edits: Iterable[Edit], hidden: Collection[int] = ()) -> str:
    """Return the diff of the *file* called *path* by *edits*; empty where there are none.

    The lines *hidden*, from zero, are not shown around what changes.
    """
    regions = _regions(file, sorted(edits, key=lambda one: (one.start, one.end)))
    if not regions:
        return ""
    hunks: list[list[_Region]] = [[regions[0]]]
    for before, region in pairwise(regions):
        between = range(before.end, region.first)
        if len(between) > 2 * CONTEXT or any(line in hidden for line in between):
            hunks.append([])
        hunks[-1].append(region)
    parts = [f"--- {_name('a', path)}\n+++ {_name('b', path)}\n"]
    shift = 0
    for hunk in hunks:
        parts.append(_hunk(file.lines, hunk, shift, _context(len(file.lines), hunk, hidden)))
        shift += sum(len(region.lines) - (region.end - region.first) for region in hunk)
    return "".join(parts)


def _regions(file: Text, edits: Sequence[Edit]) -> list[_Region]:
    """Return the lines that *edits* touch, those of neighbors together."""
    groups: list[tuple[int, int, list[Edit]]] = []
    for edit in edits:
        ends_line = file.is_boundary(edit.end) or edit.end == len(file.text)
        if file.is_boundary(edit.start) and ends_line and (not edit.text or edit.text.endswith("\n")):
            first, end = file.boundary(edit.start), file.boundary(edit.end)
        else:
            first, end = file.line(edit.start), file.line(edit.end) + 1
        if groups and first < groups[-1][1]:
            before = groups.pop()
            groups.append((before[0], max(before[1], end), [*before[2], edit]))
        else:
            groups.append((first, end, [edit]))
    regions = []
    for first, end, some in groups:
        begin = file.offset(first)
        old = file.text[begin : file.offset(end)]
        new = applied(old, [Edit(one.start - begin, one.end - begin, one.text) for one in some])
        regions.append(_Region(first, end, tuple(Text(new).lines)))
    return regions


def _context(count: int, regions: Sequence[_Region], hidden: Collection[int]) -> tuple[int, int]:
    """Return where a hunk begins, and where it ends, in a file of *count* lines.

    Where hidden lines are left out there are as many lines before as behind: of a side that has fewer, ``patch``
    believes that it is an end of the file.
    """
    first, end = regions[0].first, regions[-1].end
    before = min(CONTEXT, first)
    behind = min(CONTEXT, count - end)
    shown_before = next((some for some in range(before) if first - 1 - some in hidden), before)
    shown_behind = next((some for some in range(behind) if end + some in hidden), behind)
    if shown_before < before or shown_behind < behind:
        shown_before = shown_behind = min(shown_before, shown_behind)
    return first - shown_before, end + shown_behind


def _hunk(lines: Sequence[str], regions: Sequence[_Region], shift: int, bounds: tuple[int, int]) -> str:
    begin, finish = bounds
    body: list[str] = []
    old = new = 0
    at = begin
    for region in (*regions, _Region(finish, finish, ())):
        kept = lines[at : region.first]
        gone = lines[region.first : region.end]
        body += [_line(" ", one) for one in kept]
        body += [_line("-", one) for one in gone]
        body += [_line("+", one) for one in region.lines]
        old += len(kept) + len(gone)
        new += len(kept) + len(region.lines)
        at = region.end
    # A side without lines is said to begin behind the line before it.
    old_first = begin + 1 if old else begin
    new_first = begin + shift + 1 if new else begin + shift
    return f"@@ -{old_first},{old} +{new_first},{new} @@\n{''.join(body)}"


def _line(mark: str, line: str) -> str:
    return f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"


def _name(side: str, path: str) -> str:
    """Return *path* as git writes it: in quotes where it has characters that would end it."""
    whole = f"{side}/{path}"
    if whole.isprintable() and whole.isascii() and not set(whole) & set('"\\ '):
        return whole
    escaped = "".join(
        f"\\{byte:03o}" if byte < 32 or byte > 126 or byte in b'"\\' else chr(byte)
        for byte in whole.encode("utf-8", "surrogateescape")
    )
    return f'"{escaped}"'
