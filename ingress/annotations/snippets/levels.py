"""Which level holds for a request, and what all levels of a snippet have."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import attrs
from attrs import evolve

from ingress.annotations.contract.snippet_blocks import NOTHING, Block, If, Level, Rewrite, Snippet
from ingress.annotations.snippets.running import Course
from ingress.model.frozen import frozen
from ingress.model.requests.templates import CONSTANTS, Template

_FIELDS_OF: Final[dict[type, tuple[str, ...]]] = {}


@frozen(cache_hash=True)
class Layers:
    """The levels before a path: those *around* it, which hold for the host, and those *here*, which are its own."""

    around: Level = NOTHING
    here: Level = NOTHING

    def level(self, course: Course | None) -> Level:
        """Return what holds for a request of this *course*; None where nothing was decided about it."""
        if course is None:
            return self.around.over(self.here)
        around = self.around if course.outer is None else self.around.over(course.outer)
        if course.replied == "server":
            return around
        place = NOTHING if course.place is None else course.place.block.level
        # A location that answers stands in place of the path; one that does not stands beside it.
        here = place if course.replied == "place" else self.here.beside(place)
        held = around.over(here)
        return held if course.inner is None else held.over(course.inner)


def levels_of(blocks: Iterable[Block]) -> Iterator[Level]:
    """Yield the levels of *blocks*, those of each ``if`` included."""
    for block in blocks:
        yield block.level
        for statement in block.statements:
            if isinstance(statement, If):
                yield statement.block.level


def rewrites(blocks: Iterable[Block]) -> bool:
    """Whether any of *blocks* may rewrite a request."""
    for block in blocks:
        for statement in block.statements:
            inner = statement.block.statements if isinstance(statement, If) else (statement,)
            if any(isinstance(one, Rewrite) for one in inner):
                return True
    return False


def searches(block: Block) -> bool:
    """Whether statements of *block* may look for expressions."""
    return any(
        isinstance(one, Rewrite)
        or (isinstance(one, If) and (one.condition.search is not None or searches(one.block)))
        for one in block.statements
    )


def blocks_of(snippet: Snippet) -> tuple[Block, ...]:
    """Return all blocks of a snippet that stand by themselves."""
    return (snippet.block, *(location.block for location in snippet.locations))


def keeping(snippet: Snippet) -> Snippet:
    """Return *snippet* with rules of access that nothing which stands within can take the place of."""
    return evolve(
        snippet,
        block=_keeping(snippet.block),
        locations=tuple(evolve(one, block=_keeping(one.block)) for one in snippet.locations),
    )


def _keeping(block: Block) -> Block:
    statements = tuple(
        evolve(one, block=_keeping(one.block)) if isinstance(one, If) else one for one in block.statements
    )
    level = block.level
    if level.access:
        level = evolve(level, access=(), kept=(*level.kept, level.access))
    return Block(statements, level)


def bound(snippet: Snippet, constants: Callable[[], Mapping[str, str]]) -> Snippet:
    """Return *snippet* with *constants* in place of the variables of these names; it is the same where it has none."""
    if not _has_constants(snippet):
        return snippet
    values = constants()
    return evolve(snippet, block=_bound(snippet.block, values), locations=_bound(snippet.locations, values))


@lru_cache(maxsize=1024)
def _has_constants(snippet: Snippet) -> bool:
    return any(
        not one.variables.isdisjoint(CONSTANTS) for one in _templates((snippet.block, snippet.locations))
    )


@lru_cache(maxsize=1024)
def captures_of(snippet: Snippet) -> frozenset[str]:
    """Return the numbers of groups that values of *snippet* are made of."""
    names = (one.variables for one in _templates((snippet.block, snippet.locations)))
    return frozenset(name for found in names for name in found if name.isdigit())


def _templates(value: object) -> Iterator[Template]:
    if isinstance(value, Template):
        yield value
        return
    inner = value if isinstance(value, tuple) else (getattr(value, name) for name in _fields(value))
    for one in inner:
        yield from _templates(one)


def _bound(value: Any, constants: Mapping[str, str]) -> Any:
    if isinstance(value, Template):
        return value.bound(constants)
    if isinstance(value, tuple):
        return tuple(_bound(one, constants) for one in value)
    names = _fields(value)
    return (
        evolve(value, **{name: _bound(getattr(value, name), constants) for name in names}) if names else value
    )


def _fields(value: object) -> tuple[str, ...]:
    kind = type(value)
    known = _FIELDS_OF.get(kind)
    if known is None:
        known = tuple(field.name for field in attrs.fields(kind)) if attrs.has(kind) else ()
        _FIELDS_OF[kind] = known
    return known
