"""What was called, as a tree: who called whom, how many calls are the package's own, and which end a stream.  Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence

from attrs import frozen

OURS = "ingress"
TIMED = frozenset({"AccessLog._flush_later", "LagWatch._look"})
"""What a clock calls some time after a request, in whichever round that falls."""

Event = tuple[str, str] | None
"""A call of a function, by module and qualified name; None is a return."""


@frozen
class Call:
    """One call, and how deep below the outermost one it was made."""

    depth: int
    module: str
    name: str

    @property
    def is_ours(self) -> bool:
        """Whether the function stands in the package that is measured."""
        return self.module.partition(".")[0] == OURS

    def __str__(self) -> str:
        return f"{'  ' * self.depth}{self.module}: {self.name}"


Calls = tuple[Call, ...]
"""In the order in which they were made, each behind its caller."""


def calls_of(events: Iterable[Event]) -> Calls:
    """Return the calls in *events*; it may begin amid calls, whose returns come first then."""
    depth = lowest = 0
    found: list[tuple[int, str, str]] = []
    for event in events:
        if event is None:
            depth -= 1
            lowest = min(lowest, depth)
        else:
            found.append((depth, *event))
            depth += 1
    return tuple(Call(depth - lowest, module, name) for depth, module, name in found)


def below(calls: Calls, at: int) -> Calls:
    """Return the call at index *at* and all that it brought about."""
    end = at + 1
    while end < len(calls) and calls[end].depth > calls[at].depth:
        end += 1
    return calls[at:end]


def entries(calls: Calls) -> list[Calls]:
    """Return what is ours in *calls*: each call that others made of ours, with all that it brought about; but for what a clock called."""
    found = []
    at = 0
    while at < len(calls):
        if calls[at].is_ours:
            tree = below(calls, at)
            top = tree[0].depth
            if tree[0].name not in TIMED:
                found.append(tuple(Call(each.depth - top, each.module, each.name) for each in tree))
            at += len(tree)
        else:
            at += 1
    return found


def made(trees: Iterable[Calls]) -> int:
    """How many calls of ours were made in *trees*, without the first of each, which is another's."""
    return sum(call.is_ours for tree in trees for call in tree[1:])


def made_by_others(trees: Iterable[Calls]) -> int:
    """How many calls of functions of others were made in *trees*: Twisted, attrs, the standard library."""
    return sum(not call.is_ours for tree in trees for call in tree)


ENOUGH = 3
"""So many rounds have to agree."""


def fewest_agreed(rounds: Sequence[list[Calls]]) -> tuple[list[Calls], int]:
    """Return the fewest calls of ours that some of *rounds* agree on, and how many these are; calls of others may differ.

    It is not what most agree on: on a busy machine most of them may look how late it is, and none calls less than it has to.
    """

    def ours(trees: list[Calls]) -> Calls:
        return tuple(call for tree in trees for call in tree if call.is_ours)

    found = Counter(map(ours, rounds))
    agreed = [calls for calls, count in found.items() if count >= ENOUGH]
    calls = min(agreed, key=len) if agreed else found.most_common(1)[0][0]
    alike = [trees for trees in rounds if ours(trees) == calls]
    return min(alike, key=made_by_others), len(alike)


def end_of_sent(trees: Iterable[Calls]) -> Calls:
    """Return what whoever wrote last called once it had written: the end of a stream whose answer is sent."""
    found: Calls = ()
    for tree in trees:
        writes = [at for at, call in enumerate(tree) if call.name.endswith(".write")]
        if writes:
            behind = end = writes[-1] + len(below(tree, writes[-1]))
            while end < len(tree) and tree[end].depth >= tree[writes[-1]].depth:
                end += 1
            found = tree[behind:end]
    return found


def end_of_received(trees: Iterable[Calls]) -> Calls:
    """Return ``answer_ended`` and what it called: the end of a stream whose answer has come."""
    for tree in trees:
        for at, call in enumerate(tree):
            if call.name.endswith(".answer_ended"):
                return below(tree, at)
    return ()
