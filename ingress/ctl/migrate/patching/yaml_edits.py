"""Changes of objects as edits of the YAML that they stand in: comments, order and all other characters stay.

Only the lines concerned are touched.  What comes of it is read again and compared with what was meant; where anything
else would be different (an anchor that others use, a field that stands twice), there is no edit but a reason.  Pure.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import yaml

from ingress.cluster.manifests.documents import DocumentError, read_yaml
from ingress.ctl.lint.finding import Change
from ingress.ctl.migrate.patching.yaml_places import (
    Edit,
    Node,
    Text,
    Unsafe,
    applied,
    child,
    compose,
    documents,
    is_object,
    member_number,
    objects,
)
from ingress.model.cluster.objects import ObjectId
from ingress.model.frozen import frozen

MOST_CHARACTERS: Final = 1 << 20
"""Of a document that is edited; larger ones are what programs write, and are not kept by people."""
_MOST_ALONE: Final = 20
"""So many objects of a document are edited one by one where that cannot be done with all at once: each time all of it is read again."""
_OTHER_BREAKS: Final = re.compile("\r(?!\n)|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_NULL: Final = "tag:yaml.org,2002:null"
_PLAIN: Final = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_WORDS: Final = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))


@frozen
class Wanted:
    """The *changes* of one object, which begins in *line* (from one; 0 where that is not known)."""

    object_id: ObjectId
    line: int
    changes: tuple[Change, ...]


@frozen
class FileEdits:
    """How a file is to be edited: *edits* by object, and why some of them have none."""

    edits: Mapping[ObjectId, tuple[Edit, ...]]
    refused: Mapping[ObjectId, str]


def edits_of(text: str, wanted: Sequence[Wanted]) -> FileEdits:
    """Return the edits of *text* that make the changes *wanted*."""
    edits: dict[ObjectId, tuple[Edit, ...]] = {}
    refused: dict[ObjectId, str] = {}
    if _OTHER_BREAKS.search(text):
        return FileEdits(
            {}, dict.fromkeys((one.object_id for one in wanted), "the file has unusual line breaks")
        )
    waiting = sorted(wanted, key=lambda one: one.line, reverse=True)
    while waiting and waiting[-1].line < 1:
        waiting.pop()
    line = 1
    for start, end in pairwise((*documents(text), len(text))):
        if not waiting:
            break
        part = text[start:end]
        last = line + part.count("\n") + (end == len(text))
        own: list[Wanted] = []
        while waiting and waiting[-1].line < last:
            own.append(waiting.pop())
        if own:
            _edit(part, start, line, own, edits, refused)
        line = last
    for one in wanted:
        if one.object_id not in edits:
            refused.setdefault(one.object_id, "where it stands in the file is not known")
    return FileEdits(edits, refused)


def _edit(
    part: str,
    start: int,
    line: int,
    wanted: Sequence[Wanted],
    edits: dict[ObjectId, tuple[Edit, ...]],
    refused: dict[ObjectId, str],
) -> None:
    """Add the edits of one document, which begins at offset *start* and *line*; together where that works, else some one by one."""
    try:
        found = _checked(part, line, wanted, refused)
    except Unsafe as error:
        left = [one for one in wanted if one.object_id not in refused]
        if len(left) > 1:
            for one in left[:_MOST_ALONE]:
                _edit(part, start, line, [one], edits, refused)
            for one in left[_MOST_ALONE:]:
                refused[one.object_id] = f"with the others of its document: {error}"
        for one in left if len(left) == 1 else ():
            refused[one.object_id] = str(error)
        return
    for object_id, some in found.items():
        edits[object_id] = tuple(Edit(one.start + start, one.end + start, one.text) for one in some)


def _checked(
    part: str, line: int, wanted: Sequence[Wanted], refused: dict[ObjectId, str]
) -> dict[ObjectId, list[Edit]]:
    """Return the edits of the document *part*, each object's; notes which are *refused* alone, and raises ``Unsafe`` for all."""
    if len(part) > MOST_CHARACTERS:
        raise Unsafe("the document is too large to be edited")
    # The mark of UTF-8 is no character of the document, and counts in no column.
    mark = len(part) - len(part.removeprefix("\ufeff"))
    text = part[mark:]
    roots = compose(text)
    every = [node for root in roots for node in objects(root)]
    found: dict[ObjectId, list[Edit]] = {}
    places: list[tuple[int, Wanted]] = []
    for one in wanted:
        try:
            number = _number(every, one, line)
            found[one.object_id] = _Editing(Text(text), every[number]).edits(one.changes)
        except Unsafe as error:
            refused[one.object_id] = str(error)
            continue
        places.append((number, one))
    new = applied(text, [edit for some in found.values() for edit in some])
    before, after = _values(text), _values(new)
    for number, one in places:
        make_changes(before[number], one.changes)
    if before != after:
        raise Unsafe("more than what is meant would change with it")
    return {
        object_id: [Edit(edit.start + mark, edit.end + mark, edit.text) for edit in some]
        for object_id, some in found.items()
    }


def _number(every: Sequence[Node], one: Wanted, line: int) -> int:
    """Return the place among all objects of a document of the one that is wanted."""
    possible = [number for number, node in enumerate(every) if is_object(node, one.object_id)]
    exact = [number for number in possible if every[number].start_mark.line + line == one.line]
    for some in (exact, possible):
        if len(some) == 1:
            return some[0]
    raise Unsafe("where it stands in the file is not clear")


def _values(text: str) -> list[Any]:
    try:
        # What aliases share is written out, so that a change of one is none of the other.
        roots = json.loads(json.dumps([document.value for document in read_yaml(text)]))
    except DocumentError as error:
        raise Unsafe("it cannot be read any more afterwards") from error
    found: list[Any] = []
    lists: list[Any] = []
    open_values: list[Any] = roots[::-1]
    while open_values:
        value = open_values.pop()
        if isinstance(value, dict) and isinstance(value.get("items"), list):
            open_values.extend(reversed(value["items"]))
            lists.append({name: other for name, other in value.items() if name != "items"})
        elif isinstance(value, dict):
            found.append(value)
        elif value is not None:
            lists.append(value)
    # What is no object comes last, so that objects keep the places that their nodes have.
    return [*found, *lists]


def make_changes(value: Any, changes: Iterable[Change]) -> None:
    """Make *changes* in *value*, an object as data; raises ``Unsafe``."""
    for change in sorted(changes, key=_backwards):
        _apply(value, change)


def _backwards(change: Change) -> tuple[object, ...]:
    """Sort members of lists that go from the last to the first, behind all that stays."""
    places = tuple(-step if isinstance(step, int) else 0 for step in change.steps)
    return change.value is None, places


def _apply(value: Any, change: Change) -> None:
    """Make *change* in *value*; a container that is left empty goes, too.  Raises ``Unsafe`` where there is nothing to change."""
    way: list[tuple[Any, str | int]] = []
    for step in change.steps[:-1]:
        way.append((value, step))
        if isinstance(value, dict) and isinstance(step, str) and change.value is not None:
            if value.get(step) is None:
                value[step] = {}
            value = value[step]
        else:
            value = _at(value, step)
    last = change.steps[-1]
    if change.value is not None:
        is_there = isinstance(value, list) and isinstance(last, int) and last < len(value)
        if not is_there and not (isinstance(value, dict) and isinstance(last, str)):
            raise Unsafe("there is nothing of that shape to change")
        value[last] = change.value
        return
    _at(value, last)
    del value[last]
    while way and not value:
        value, step = way.pop()
        del value[step]


def _at(value: Any, step: str | int) -> Any:
    try:
        return value[step]
    except (KeyError, IndexError, TypeError):
        raise Unsafe("there is nothing of that shape to change") from None


class _Editing:
    """The edits of one object, whose node is *root*."""

    def __init__(self, text: Text, root: Node) -> None:
        self._text = text
        self._root = root
        self._break = "\r\n" if "\r\n" in text.text else "\n"

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        """Return them; raises ``Unsafe``."""
        edits: list[Edit] = []
        added: dict[int, tuple[Node, dict[str, Any]]] = {}
        removed: dict[tuple[str | int, ...], set[int]] = {}
        for change in changes:
            *way, last = change.steps
            if change.value is None:
                self._note_removed(tuple(way), last, removed)
                continue
            node, missing = self._follow(change.steps)
            if not missing:
                edits.append(self._replaced(node, change.value))
            else:
                names = [name for name in missing if isinstance(name, str)]
                if len(names) < len(missing):
                    raise Unsafe("a member would be added to a list")
                inner = added.setdefault(id(node), (node, {}))[1]
                for name in names[:-1]:
                    inner = inner.setdefault(name, {})
                inner[names[-1]] = change.value
        self._widen(removed, added)
        for way_there, numbers in removed.items():
            node, _ = self._follow(way_there)
            edits += self._without(node, numbers)
        # Where two mappings end at one place, what belongs to the inner one comes first.
        for node, values in sorted(added.values(), key=lambda one: -_column(one[0])):
            gone = next((some for way, some in removed.items() if self._follow(way)[0] is node), set())
            edits.append(self._with(node, values, is_left_empty=len(gone) == len(node.value)))
        return edits

    def _follow(self, steps: Sequence[str | int]) -> tuple[Node, Sequence[str | int]]:
        """Return the node that is reached by *steps*, and those of them that are not there."""
        node = self._root
        for number, step in enumerate(steps):
            found = child(node, step)
            if found is None:
                return node, steps[number:]
            node = found
        return node, ()

    def _note_removed(
        self, way: tuple[str | int, ...], last: str | int, removed: dict[tuple[str | int, ...], set[int]]
    ) -> None:
        node, missing = self._follow(way)
        if missing or child(node, last) is None:
            raise Unsafe("it comes from elsewhere in the file")
        number = member_number(node, last) if isinstance(last, str) else last
        assert number is not None
        removed.setdefault(way, set()).add(number)

    def _widen(
        self,
        removed: dict[tuple[str | int, ...], set[int]],
        added: Mapping[int, tuple[Node, dict[str, Any]]],
    ) -> None:
        """Have what would be left empty go as a whole."""
        open_ways = sorted(removed, key=len)
        while open_ways:
            way = open_ways.pop()
            node, _ = self._follow(way)
            if way and len(removed[way]) == len(node.value) and id(node) not in added:
                del removed[way]
                self._note_removed(way[:-1], way[-1], removed)
                open_ways = sorted({*open_ways, way[:-1]}, key=len)

    def _replaced(self, node: Node, value: str | int) -> Edit:
        if not isinstance(node, yaml.ScalarNode):
            raise Unsafe("it is no plain value")
        start, end = self._span(node)
        if node.style in ("|", ">"):
            # The value ends with its last line.
            return Edit(start, self._text.offset(self._last_line(node) + 1), _scalar(value) + self._break)
        space = " " if start == end else ""
        return Edit(start, end, space + _scalar(value, node.style))

    def _without(self, node: Node, numbers: set[int]) -> list[Edit]:
        """Return what removes the members at these places of a mapping or a list."""
        members = [self._member(one) for one in node.value]
        edits: list[Edit] = []
        if node.flow_style:
            for first, last in _runs(numbers):
                start, end = members[first][0], members[last][1]
                if last + 1 < len(members):
                    end = members[last + 1][0]
                elif first:
                    start = members[first - 1][1]
                edits.append(Edit(start, end, ""))
            return edits
        for number in sorted(numbers):
            start, _, last_line = members[number]
            line = self._text.line(start)
            begin = self._text.offset(line)
            before = self._text.text[begin:start]
            if isinstance(node, yaml.SequenceNode):
                before = before.rstrip(" ").removesuffix("-")
            if not before.strip(" "):
                edits.append(Edit(begin, self._text.offset(last_line + 1), ""))
            elif number + 1 < len(members) and number + 1 not in numbers:
                # It stands behind the dash of a list, which the next one takes over.
                edits.append(Edit(start, members[number + 1][0], ""))
            else:
                raise Unsafe("it shares its line with something else")
        return edits

    def _with(self, node: Node, values: Mapping[str, Any], *, is_left_empty: bool) -> Edit:
        """Return what adds *values* to a mapping."""
        if isinstance(node, yaml.ScalarNode) and node.tag == _NULL:
            start, end = self._span(node)
            return Edit(start, end, f"{' ' if start == end else ''}{{{_flow(values)}}}")
        if not isinstance(node, yaml.MappingNode):
            raise Unsafe("it is no mapping")
        if not node.flow_style:
            key, _ = node.value[-1]
            at = self._text.offset(self._member(node.value[-1])[2] + 1)
            begins = "" if self._text.text[at - 1 : at] == "\n" else self._break
            return Edit(at, at, begins + self._block(values, key.start_mark.column))
        if not node.value:
            start, end = self._span(node)
            if self._text.text[start] != "{":
                raise Unsafe("it has an anchor or a tag")
            return Edit(start + 1, start + 1, _flow(values))
        first, last = self._member(node.value[0]), self._member(node.value[-1])
        between = "," + (self._gap(first[0]) or " ")
        return Edit(last[1], last[1], ("" if is_left_empty else between) + _flow(values))

    def _gap(self, start: int) -> str:
        """Return the line break and blanks before *start*, where it is the first of its line."""
        begin = self._text.offset(self._text.line(start))
        before = self._text.text[begin:start]
        return "" if before.strip(" \t") else self._break + before

    def _block(self, values: Mapping[str, Any], column: int) -> str:
        lines = []
        for name, value in values.items():
            if isinstance(value, Mapping):
                lines.append(
                    f"{' ' * column}{_scalar(name, None)}:{self._break}{self._block(value, column + 2)}"
                )
            else:
                lines.append(f"{' ' * column}{_scalar(name, None)}: {_scalar(value)}{self._break}")
        return "".join(lines)

    def _span(self, node: Node) -> tuple[int, int]:
        start, end = node.start_mark, node.end_mark
        return self._text.offset(start.line, start.column), self._text.offset(end.line, end.column)

    def _member(self, member: Any) -> tuple[int, int, int]:
        """Return the first and the last offset of a member, with its name, and its last line."""
        key, value = member if isinstance(member, tuple) else (member, member)
        return self._span(key)[0], self._span(value)[1], self._last_line(value)

    def _last_line(self, node: Node) -> int:
        """Return the last line, from zero, that something of *node* stands in."""
        while not isinstance(node, yaml.ScalarNode) and not node.flow_style and node.value:
            node = node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1]
        end = node.end_mark
        line: int = end.line
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            line -= end.column == 0
            while line > node.start_mark.line and not self._text.lines[line].strip():
                line -= 1
        return line


def _column(node: Node) -> int:
    column: int = (
        node.value[-1][0].start_mark.column if isinstance(node, yaml.MappingNode) and node.value else 0
    )
    return column


def _runs(numbers: set[int]) -> list[tuple[int, int]]:
    """Return *numbers* as runs of neighbors, first and last."""
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def _flow(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{_quoted(name)}: {{{_flow(value)}}}"
        if isinstance(value, Mapping)
        else f"{_quoted(name)}: {_flow_scalar(value)}"
        for name, value in values.items()
    )


def _flow_scalar(value: str | int) -> str:
    return str(value) if isinstance(value, int) else _quoted(value)


def _scalar(value: str | int, style: str | None = '"') -> str:
    """Return *value* as it is written behind a colon, in the *style* of what was there: plain, ``'`` or ``"``."""
    if isinstance(value, int):
        return str(value)
    if not style and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    if style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return _quoted(value)


def _quoted(text: str) -> str:
    """Return *text* as a quoted scalar that is YAML, and JSON but for characters beyond the first 65,536 that cannot be shown."""
    return '"' + "".join(map(_character, text)) + '"'


def _character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    number = ord(character)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
