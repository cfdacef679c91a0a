"""YAML and JSON text to plain values, with the lines they came from.

Made for text that people write and programs cut off: every fault is a
``DocumentError`` with its line, and no text can make reading run away.  Nesting is
bounded, an alias is counted as often as it is used, nothing is ever constructed
from a tag, and nothing here recurses.  What the values mean is not known here.

Plain scalars are read as Kubernetes tools read them: ``yes`` and ``on`` are booleans,
``010`` is eight, but times stay text and ``12:30`` is no number.  A field that stands
twice takes its last value, and is noted in ``Document.repeated``.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import yaml
from attrs import define, field
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from ingress.model.frozen import frozen

MAX_DEPTH = 100
"""Objects of the kinds that are read nest about ten deep."""

MAX_ALIASED_VALUES = 1_000_000
"""How many values aliases may add to those that were written out."""

_PORTION = 8192
"""Bytes that are parsed in one go, which takes some 50 µs."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Scalars so tagged are read as plain ones; other tags, known or not, leave text.
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float"))
_WORDS: dict[str, object] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
for _word, _meaning in (
    ("true", True),
    ("yes", True),
    ("on", True),
    ("false", False),
    ("no", False),
    ("off", False),
):
    _WORDS.update({_word: _meaning, _word.capitalize(): _meaning, _word.upper(): _meaning})
# More digits than these fit no field of the API; such a scalar stays text.
_INTEGER = re.compile(r"[-+]?(?:0x[0-9a-fA-F]{1,16}|0b[01]{1,64}|0o?[0-7]{1,22}|0|[1-9][0-9]{0,19})")
_LONGEST_PLAIN = 128
"""Longer than all that these take."""
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]{1,40}|[0-9]{1,40}(?:\.[0-9]{0,40})?)(?:[eE][-+]?[0-9]{1,4})?")


class DocumentError(Exception):
    """Text that is no document: *line*, from one, and *reason*, which may name a column."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


@frozen
class Document:
    """One document: its value, and the lines, from one, of what it holds."""

    value: object
    line: int
    repeated: tuple[tuple[int, str], ...] = ()
    """Line and name of fields that stand twice in one object."""
    _lines: dict[int, int] = field(factory=dict, repr=False)

    def line_of(self, value: object) -> int:
        """Return the line where *value*, an object or list of this document, begins."""
        return self._lines.get(id(value), self.line)


def read_json(text: str) -> Iterator[Document]:
    """Yield one JSON document after the other; raises ``DocumentError``."""
    repeated: list[str] = []

    def as_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
        value = dict(pairs)
        if len(value) != len(pairs):
            times = Counter(name for name, _ in pairs)
            repeated.extend(name for name in value if times[name] > 1)
        return value

    decoder = json.JSONDecoder(object_pairs_hook=as_object)
    position = _after_space(text, 0)
    line, counted = 1, 0
    while position < len(text):
        line, counted = line + text.count("\n", counted, position), position
        repeated.clear()
        try:
            value, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            raise DocumentError(error.lineno, f"column {error.colno}: {error.msg}") from None
        except RecursionError:
            raise DocumentError(line, "is nested too deeply") from None
        except ValueError:
            raise DocumentError(line, "holds a number that is too long") from None
        yield Document(value, line, tuple((line, name) for name in repeated))
        position = _after_space(text, position)


def _after_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def read_yaml(text: str) -> Iterator[Document]:
    """Yield the documents of a YAML stream, each when it is complete; raises ``DocumentError``."""
    builder = _Builder(1)
    for event in read_events(text):
        kind = type(event)
        if kind is DocumentStartEvent:
            builder = _Builder(_line_of(event))
        elif kind is DocumentEndEvent:
            yield builder.document()
        else:
            builder.take(kind, event)


def read_events(text: str) -> Iterator[Event]:
    """Yield the events of a YAML stream, which have tags and marks; raises ``DocumentError``."""
    try:
        yield from yaml.parse(_Portions(text), Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join(part for part in (error.problem, error.context) if part)
        if mark is None:
            raise DocumentError(1, reason) from None
        raise DocumentError(mark.line + 1, f"column {mark.column + 1}: {reason}") from None
    except yaml.reader.ReaderError as error:
        # The position counts bytes in one of the two parsers and characters in the other.
        before = text.encode(errors="replace")[: error.position]
        raise DocumentError(before.count(b"\n") + 1, "holds a control character") from None
    except (yaml.YAMLError, ValueError) as error:
        # Half a surrogate pair, for one, which only text that was never bytes can hold.
        raise DocumentError(1, str(error)) from None


class _Portions:
    """The text as a stream, for a parser that would keep the interpreter to itself as long as a scalar is: seconds, where that is huge.

    While it asks for the next portion, others may have the interpreter.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self, most: int = _PORTION, /) -> str:
        """Return the next characters, of which the bytes are no more than *most*."""
        first, self._at = self._at, self._at + max(1, min(most, _PORTION) // 4)
        return self._text[first : self._at]


@define
class _Frame:
    """A mapping or list that is not closed yet."""

    mapping: dict[str, object] | None
    entries: list[object]
    anchor: str | None
    size_before: int
    name: str | None = None
    is_merge: bool = False
    merged: list[dict[str, object]] = field(factory=list)


class _Builder:
    """Builds the value of one document from its events.

    ``_open`` holds the containers from the outermost to the one being filled.  An anchor
    is known only when its value is complete, so no value can hold itself.
    """

    def __init__(self, line: int) -> None:
        self._line = line
        self._value: object = None
        self._open: list[_Frame] = []
        self._anchors: dict[str, tuple[object, int]] = {}
        self._lines: dict[int, int] = {}
        self._repeated: list[tuple[int, str]] = []
        self._size = 0
        self._aliased = 0

    def document(self) -> Document:
        return Document(self._value, self._line, tuple(self._repeated), self._lines)

    def take(self, kind: type[Event], event: Event) -> None:
        if kind is ScalarEvent:
            self._scalar(event)
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            self._begin(event, kind is MappingStartEvent)
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            self._end(_line_of(event))
        elif kind is AliasEvent:
            self._alias(event)

    def _scalar(self, event: Any) -> None:
        self._size += 1
        frame = self._open[-1] if self._open else None
        if frame is not None and frame.mapping is not None and frame.name is None:
            # A field's name is text whatever it looks like, as it is in JSON.
            self._name(frame, event.value, _line_of(event), event.implicit[0] and event.value == "<<")
            value: object = event.value
        else:
            value = (
                _plain_value(event.value) if event.implicit[0] or event.tag in _PLAIN_TAGS else event.value
            )
            self._place(value, _line_of(event))
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1)

    def _name(self, frame: _Frame, name: str, line: int, is_merge: bool) -> None:
        frame.name = name
        frame.is_merge = is_merge
        if frame.mapping is not None and name in frame.mapping and not is_merge:
            self._repeated.append((line, name))

    def _begin(self, event: Any, is_mapping: bool) -> None:
        line = _line_of(event)
        if len(self._open) >= MAX_DEPTH:
            raise DocumentError(line, "is nested too deeply")
        if self._open and self._open[-1].mapping is not None and self._open[-1].name is None:
            raise DocumentError(line, "a mapping or a list cannot be the name of a field")
        frame = _Frame({} if is_mapping else None, [], event.anchor, self._size)
        self._lines[id(_content(frame))] = line
        self._size += 1
        self._open.append(frame)

    def _end(self, line: int) -> None:
        frame = self._open.pop()
        value = _content(frame)
        if frame.mapping is not None:
            for merged in frame.merged:
                for name, merged_value in merged.items():
                    frame.mapping.setdefault(name, merged_value)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (value, self._size - frame.size_before)
        self._place(value, line)

    def _alias(self, event: Any) -> None:
        line = _line_of(event)
        if event.anchor not in self._anchors:
            raise DocumentError(line, f"the alias *{event.anchor} has no complete value before it")
        value, size = self._anchors[event.anchor]
        self._size += size
        self._aliased += size
        if self._aliased > MAX_ALIASED_VALUES:
            raise DocumentError(line, "aliases make this document too large")
        frame = self._open[-1] if self._open else None
        if frame is not None and frame.mapping is not None and frame.name is None:
            if not isinstance(value, str):
                raise DocumentError(line, "only text can be the name of a field")
            self._name(frame, value, line, is_merge=False)
        else:
            self._place(value, line)

    def _place(self, value: object, line: int) -> None:
        """Put a complete *value* where it belongs: into its container, or as the document's."""
        if not self._open:
            self._value = value
            return
        frame = self._open[-1]
        if frame.mapping is None:
            frame.entries.append(value)
            return
        if frame.is_merge:
            frame.merged += _mappings(value, line)
        elif frame.name is not None:
            frame.mapping[frame.name] = value
        frame.name = None
        frame.is_merge = False


def _content(frame: _Frame) -> object:
    return frame.entries if frame.mapping is None else frame.mapping


def _mappings(value: object, line: int) -> list[dict[str, object]]:
    """Return what ``<<`` brings in; of several mappings the first has precedence."""
    mappings: list[dict[str, object]] = []
    for part in value if isinstance(value, list) else [value]:
        if not isinstance(part, dict):
            raise DocumentError(line, "only mappings can be merged with <<")
        mappings.append(part)
    return mappings


def _line_of(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1


def _plain_value(text: str) -> object:
    if len(text) > _LONGEST_PLAIN:
        # To look for it would go through all of it, once more.
        return text
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _INTEGER.fullmatch(text):
        digits = text.lstrip("+-")
        base = 8 if digits[0] == "0" and digits.isdigit() else 0
        return int(text, base)
    return float(text) if _FLOAT.fullmatch(text) else text
