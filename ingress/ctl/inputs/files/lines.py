"""The lines of fields, found by reading a manifest once more, and only what is asked about of it.  Pure.

A field is a path as problems have it: ``spec.rules[0].http.paths[1].path``, ``metadata.annotations[NAME]``, ``data.KEY``.
Of a field that is not there the line is that of what it would be in.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from operator import itemgetter
from typing import Any, Final, TypeVar

import yaml
from yaml.events import (
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from ingress.cluster.manifests.documents import MAX_DEPTH
from ingress.cluster.manifests.manifest_files import is_json
from ingress.model.cluster.objects import ObjectId
from ingress.model.frozen import frozen

_Group = TypeVar("_Group")
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@frozen
class AskedField:
    """A field of the object that begins in *line*, as far as that is known; an empty *field* is all of the object."""

    object_id: ObjectId
    line: int
    field: str


_TOO_DEEP: Final = "the text is not the one that objects were read from, and its nesting takes long"

Lines = dict[AskedField, int]
_Rest = tuple[str, AskedField]
_Rests = list[_Rest]
"""What is left of the paths of fields below where the reading is, in their order."""
_REST: Final = itemgetter(0)


def lines_of(text: str, asked: Iterable[AskedField]) -> Lines:
    """Return where fields stand in *text*, as far as they are found; never raises."""
    wanted = list(asked)
    found: Lines = {}
    if is_json(text):
        with suppress(ValueError, RecursionError, IndexError):
            _Json(text, wanted, found).read()
            return found
    with suppress(yaml.YAMLError, ValueError, StopIteration, RecursionError):
        _Yaml(text, wanted, found).read()
    return found


def _rests_by(asked: Iterable[AskedField], group: Callable[[AskedField], _Group]) -> dict[_Group, _Rests]:
    found: dict[_Group, _Rests] = {}
    for one in asked:
        found.setdefault(group(one), []).append((one.field, one))
    for rests in found.values():
        rests.sort(key=_REST)
    return found


def _below(rests: _Rests, step: str | int) -> _Rests:
    """Return those of *rests* that lead to the member *step*, or the entry of that number, without this first step.

    They are looked up and not gone through: an object may have as many members as are asked about.
    """
    inside = [(rest.removeprefix("."), asked) for rest, asked in _beginning(rests, f"[{step}]")]
    if isinstance(step, str) and step:
        # A key of a ConfigMap has dots, too, so the name of a member decides where it ends.
        inside += _beginning(rests, f"{step}.")
        inside += ((f"[{rest}", asked) for rest, asked in _beginning(rests, f"{step}["))
        at = bisect_left(rests, step, key=_REST)
        while at < len(rests) and rests[at][0] == step:
            inside.append(("", rests[at][1]))
            at += 1
    inside.sort(key=_REST)
    return inside


def _beginning(rests: _Rests, prefix: str) -> Iterator[_Rest]:
    """Yield those of *rests* that begin with *prefix*, without it."""
    for at in range(bisect_left(rests, prefix, key=_REST), len(rests)):
        rest, asked = rests[at]
        if not rest.startswith(prefix):
            return
        yield rest[len(prefix) :], asked


def _is_further(rests: _Rests) -> bool:
    """Whether any of *rests* leads further down."""
    return bool(rests) and bool(rests[-1][0])


class _Yaml:
    """Follows the events of a stream.  An object is known by the line that it begins in."""

    def __init__(self, text: str, asked: Iterable[AskedField], found: Lines) -> None:
        self._events: Iterator[Event] = iter(yaml.parse(text, Loader=_Loader))
        self._found = found
        self._by_line = _rests_by(asked, lambda one: one.line)

    def read(self) -> None:
        depth = 0
        for event in self._events:
            kind = type(event)
            if kind is MappingEndEvent or kind is SequenceEndEvent:
                depth -= 1
            elif kind is SequenceStartEvent:
                depth += 1
            elif kind is MappingStartEvent:
                line = _line(event)
                rests = self._by_line.pop(line, None)
                if rests is None:
                    depth += 1
                else:
                    self._at(line, rests)
                    self._inside(event, rests)
            if depth > MAX_DEPTH:
                raise ValueError(_TOO_DEEP)
            if not self._by_line:
                return

    def _at(self, line: int, rests: _Rests) -> None:
        for _, asked in rests:
            self._found[asked] = line

    def _inside(self, event: Event, rests: _Rests) -> None:
        """Read the value that begins with *event* to its end."""
        kind = type(event)
        if kind is MappingStartEvent and _is_further(rests):
            self._mapping(rests)
        elif kind is SequenceStartEvent and _is_further(rests):
            self._sequence(rests)
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            depth = 1
            while depth:
                if depth > MAX_DEPTH:
                    raise ValueError(_TOO_DEEP)
                kind = type(next(self._events))
                if kind is MappingStartEvent or kind is SequenceStartEvent:
                    depth += 1
                elif kind is MappingEndEvent or kind is SequenceEndEvent:
                    depth -= 1

    def _mapping(self, rests: _Rests) -> None:
        for name in self._events:
            if type(name) is MappingEndEvent:
                return
            inside = _below(rests, name.value) if isinstance(name, ScalarEvent) else []
            if inside:
                self._at(_line(name), inside)
            else:
                self._inside(name, [])
            self._inside(next(self._events), inside)

    def _sequence(self, rests: _Rests) -> None:
        for number, entry in enumerate(self._events):
            if type(entry) is SequenceEndEvent:
                return
            inside = _below(rests, number)
            if inside:
                self._at(_line(entry), inside)
            self._inside(entry, inside)


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1


_SPACE: Final = re.compile(r"[ \t\r\n]*")


class _Json:
    """Goes through JSON by its own decoder, which is fast, and looks closer at what is asked about.

    Objects are known by kind, namespace and name, for JSON is often one line.
    """

    def __init__(self, text: str, asked: Iterable[AskedField], found: Lines) -> None:
        self._text = text
        self._decoder = json.JSONDecoder()
        self._found = found
        self._by_object = _rests_by(asked, lambda one: one.object_id)
        self._by_name: dict[tuple[str, str], list[ObjectId]] = {}
        for object_id in self._by_object:
            self._by_name.setdefault((object_id[0], object_id[1].name), []).append(object_id)
        self._counted = (0, 1)
        self._end = 0

    def read(self) -> None:
        position = self._after_space(0)
        while position < len(self._text):
            if self._text[position] == "{":
                position = self._after_space(self._document(position))
            else:
                position = self._after_space(self._decoder.raw_decode(self._text, position)[1])

    def _document(self, position: int) -> int:
        """Look at the object or list of objects at *position*, one entry after the other; return where it ends."""
        kind, metadata = "", None
        entries: list[tuple[int, str, object]] = []
        for name, begins, value in self._members(position, apart="items"):
            if name == "items" and self._text[begins] == "[":
                entries = [
                    (at, entry.get("kind", ""), entry.get("metadata"))
                    for at, entry in self._entries(begins)
                    if isinstance(entry, dict)
                ]
            elif name == "kind" and isinstance(value, str):
                kind = value
            elif name == "metadata":
                metadata = value
        end = self._end
        if kind.endswith("List"):
            for at, entry_kind, entry_metadata in entries:
                self._object(at, entry_kind or kind.removesuffix("List"), entry_metadata)
        else:
            self._object(position, kind, metadata)
        return end

    def _object(self, position: int, kind: object, metadata: object) -> None:
        rests = self._asked(kind, metadata) if isinstance(metadata, dict) and isinstance(kind, str) else None
        if rests:
            self._at(position, rests)
            self._inside(position, rests)

    def _asked(self, kind: str, metadata: Mapping[str, object]) -> _Rests | None:
        name, namespace = metadata.get("name"), metadata.get("namespace")
        ids = self._by_name.get((kind, name), ()) if isinstance(name, str) else ()
        for object_id in ids:
            if not namespace or namespace == object_id[1].namespace:
                return self._by_object.pop(object_id, None)
        return None

    def _inside(self, position: int, rests: _Rests) -> None:
        """Look for *rests* in the value that begins at *position*."""
        if not _is_further(rests):
            return
        if self._text[position] == "{":
            for name, at, _ in self._members(position):
                self._found_below(at, _below(rests, name))
        elif self._text[position] == "[":
            for number, (at, _) in enumerate(self._entries(position)):
                self._found_below(at, _below(rests, number))

    def _found_below(self, position: int, rests: _Rests) -> None:
        if rests:
            self._at(position, rests)
            self._inside(position, rests)

    def _members(self, position: int, apart: str | None = None) -> Iterator[tuple[str, int, object]]:
        """Yield the members of the object at *position*: name, where the value begins, and that; ``_end`` is then where it ends.

        A list that is the member *apart* is not decoded: whoever takes it goes through its entries, to its end.
        """
        position = self._after_space(position + 1)
        while self._text[position] != "}":
            name, position = self._decoder.raw_decode(self._text, position)
            begins = self._after_space(self._after_space(position) + 1)
            if name == apart and self._text[begins] == "[":
                yield name, begins, None
                position = self._end
            else:
                value, position = self._decoder.raw_decode(self._text, begins)
                yield name, begins, value
            position = self._after_comma(position)
        self._end = position + 1

    def _entries(self, position: int) -> Iterator[tuple[int, object]]:
        """Yield where the entries of the list at *position* begin, and these; ``_end`` is then where it ends."""
        position = self._after_space(position + 1)
        while self._text[position] != "]":
            value, end = self._decoder.raw_decode(self._text, position)
            yield position, value
            position = self._after_comma(end)
        self._end = position + 1

    def _after_comma(self, position: int) -> int:
        position = self._after_space(position)
        return self._after_space(position + 1) if self._text[position] == "," else position

    def _after_space(self, position: int) -> int:
        found = _SPACE.match(self._text, position)
        return position if found is None else found.end()

    def _at(self, position: int, rests: _Rests) -> None:
        counted, line = self._counted
        # Fields are mostly asked about in the order of the text.
        if position < counted:
            counted, line = 0, 1
        line += self._text.count("\n", counted, position)
        self._counted = position, line
        for _, asked in rests:
            self._found[asked] = line
