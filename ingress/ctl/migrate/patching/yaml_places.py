"""Where the parts of a YAML text stand: its documents by their lines, and nodes by the offsets of their first and last characters.

Source of the marks: YAML 1.2 section 9.1.2 (a line that begins with ``---`` or ``...`` is between documents wherever it stands).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Any, Final
from weakref import WeakKeyDictionary

import yaml

from ingress.model.cluster.objects import ObjectId
from ingress.model.frozen import frozen

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_BETWEEN: Final = re.compile(r"^(?:---|\.\.\.)(?=[\s]|$)", re.MULTILINE)

Node = Any
"""A node of PyYAML's, which has no types."""


class Unsafe(Exception):  # noqa: N818 - it is a verdict on an edit, no failure
    """A text cannot be edited so that nothing else changes; the message says why."""


class Text:
    """A text with its lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = _LINE.findall(text)
        self._starts = [0, *accumulate(map(len, self.lines))]

    def offset(self, line: int, column: int = 0) -> int:
        """Return where column *column* of line *line* is, both from zero."""
        return self._starts[min(line, len(self.lines))] + column

    def line(self, offset: int) -> int:
        """Return the line, from zero, that *offset* is in."""
        return bisect_right(self._starts, offset, 0, max(1, len(self.lines))) - 1

    def is_boundary(self, offset: int) -> bool:
        """Whether a line begins at *offset*, or would if there were one more."""
        return not offset or self.text[offset - 1] == "\n"

    def boundary(self, offset: int) -> int:
        """Return how many lines are before *offset*, which is a boundary or the end of the text."""
        return len(self.lines) if offset == len(self.text) else self.line(offset)


def documents(text: str) -> list[int]:
    """Return the offsets at which parts of *text* begin that hold one document each, or none."""
    found = [0]
    for mark in _BETWEEN.finditer(text):
        if mark.start() and mark[0] == "---":
            found.append(mark.start())
    return found


def compose(text: str) -> list[Node]:
    """Return the nodes of the documents of *text*; raises ``Unsafe``."""
    try:
        return [node for node in yaml.compose_all(text, Loader=_LOADER) if node is not None]
    except (yaml.YAMLError, ValueError) as error:
        raise Unsafe("the text cannot be read as it is") from error


def scalar_of(node: Node, name: str) -> str:
    """Return the text of the field *name* of mapping *node*, empty where there is none."""
    found = child(node, name)
    return found.value if isinstance(found, yaml.ScalarNode) else ""


_NUMBERS: Final[WeakKeyDictionary[Node, dict[str, int]]] = WeakKeyDictionary()


def member_number(node: yaml.MappingNode, name: str) -> int | None:
    """Return which member of *node* the field *name* is, the last where it stands twice; None where there is none."""
    numbers = _NUMBERS.get(node)
    if numbers is None:
        numbers = _NUMBERS[node] = {
            key.value: number for number, (key, _) in enumerate(node.value) if isinstance(key.value, str)
        }
    return numbers.get(name)


def child(node: Node, step: str | int) -> Node | None:
    """Return what is at *step* below *node*; the last where a field stands twice."""
    if isinstance(node, yaml.MappingNode) and isinstance(step, str):
        number = member_number(node, step)
        return None if number is None else node.value[number][1]
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step]
    return None


def objects(root: Node) -> Iterator[Node]:
    """Yield the Kubernetes objects in *root*: itself, or the items of the lists that it is."""
    open_nodes = [root]
    while open_nodes:
        node = open_nodes.pop()
        items = child(node, "items")
        if isinstance(items, yaml.SequenceNode):
            open_nodes.extend(reversed(items.value))
        elif isinstance(node, yaml.MappingNode):
            yield node


def secret_lines(text: str) -> frozenset[int]:
    """Return the lines of *text*, from zero, that hold content of Secrets, or may: no part of a page has them."""
    begins = documents(text)
    found: set[int] = set()
    for begin, end in pairwise([*begins, len(text)]):
        part = text[begin:end]
        if "Secret" not in part:
            continue
        first = text.count("\n", 0, begin)
        try:
            for root in compose(part):
                found.update(first + line for line in _secret_lines_below(root, part.splitlines()))
        except Unsafe:
            found.update(range(first, first + part.count("\n") + 1))
    return frozenset(found)


def _secret_lines_below(root: Node, lines: list[str]) -> Iterator[int]:
    for node in objects(root):
        if scalar_of(node, "kind") not in ("Secret", "SecretList"):
            continue
        for key, value in node.value:
            # What was applied last stands among the annotations, content and all.
            if key.value not in ("apiVersion", "kind", "type"):
                until = value.end_mark
                # A block ends where the next one begins, so at a column with nothing before it.
                ends_on = until.line < len(lines) and lines[until.line][: until.column].strip(" \t-")
                yield from range(value.start_mark.line, until.line + bool(ends_on))


def is_object(node: Node, object_id: ObjectId) -> bool:
    """Whether *node* may be *object_id*: kind and name are its, and its namespace where it names one."""
    kind, key = object_id
    metadata = child(node, "metadata")
    return (
        scalar_of(node, "kind") == kind
        and scalar_of(metadata, "name") == key.name
        and scalar_of(metadata, "namespace") in ("", key.namespace)
    )


@frozen
class Edit:
    """What is between two offsets becomes *text*."""

    start: int
    end: int
    text: str


def applied(text: str, edits: list[Edit]) -> str:
    """Return *text* with *edits*; raises ``Unsafe`` where two of them touch the same characters."""
    parts: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda one: (one.start, one.end)):
        if edit.start < at:
            raise Unsafe("two changes are at one place")
        parts += (text[at : edit.start], edit.text)
        at = edit.end
    parts.append(text[at:])
    return "".join(parts)
