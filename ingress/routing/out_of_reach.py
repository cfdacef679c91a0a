"""Which regular expressions of a host no request gets to, since it is answered 414 before: more are asked first than one lookup may run.

A lookup runs those that a path begins like, in order (``ingress.routing.expression_routes``), and what it may run is bounded
(``ingress.model.text.lookup_budget``).  Every path begins like those of one of the *beginnings* of the host, and of the shorter ones that this
begins with; so these are all the cases that there are.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import Final, NamedTuple

from ingress.model.stepwise import Stepwise
from ingress.model.text.lookup_budget import MAX_RUN, MAX_WORK
from ingress.routing.asking_order import Compared, asking_order

USUAL_BYTES: Final = 64
"""Of a path: of whatever is longer, fewer expressions are run, and that is told where paths of this length are answered 414."""
_MOST_LOOKED_AT: Final = 1 << 20
"""As many are counted anew for one beginning and another, in about half a second; more than the first of them are told all the same."""
_AT_ONCE: Final = 200


class OutOfReach(NamedTuple):
    """One of those that were given, which no request gets to for one of its beginnings."""

    number: int
    runs: int
    """How many are run before."""
    path_bytes: int
    """Of how many bytes a path is at least that this holds for."""


def out_of_reach(all_compared: Sequence[Compared]) -> Stepwise[list[OutOfReach]]:
    """Return, in steps, which of all that one host has are asked so late that paths of usual length are answered 414 before, in their order.

    Those of the oldest realm are asked first.  What stands in the tables of others as it is written is not counted, though it may keep
    requests away from expressions.
    """
    if not (yield from _are_many(all_compared)):
        return []
    at, sizes = yield from _by_beginning(all_compared)
    found: dict[int, OutOfReach] = {}
    looked_at = 0
    for length, numbers in _crowded(at, sizes):
        yield
        if not numbers:
            continue
        looked_at += len(numbers)
        if looked_at > _MOST_LOOKED_AT and found:
            break
        running = list(accumulate(sizes[number].size for number in numbers[: MAX_RUN + 1]))
        last = min(MAX_RUN, bisect_right(running, MAX_WORK // length))
        if last == len(numbers):
            continue  # One that has two of these beginnings was counted for both, and is run once.
        least = 0 if last == MAX_RUN else MAX_WORK // running[last] + 1
        for done, number in enumerate(numbers[last:], 1):
            of = sizes[number].of
            found.setdefault(of, OutOfReach(of, last, least))
            if not done % _AT_ONCE:
                yield
    return sorted(found.values())


class _Sized(NamedTuple):
    size: int
    """Steps of its program."""
    of: int
    """Which of those it is that were given."""


def _are_many(all_compared: Iterable[Compared]) -> Stepwise[bool]:
    """Return, in steps, whether there are more than a lookup may run, were they all alike; nearly nobody has as many."""
    runs = work = length = 0
    for number, one in enumerate(all_compared, 1):
        begun = one.beginnings
        for expression in one.expressions if begun is not None else ():
            runs += expression.size > 0
            work += expression.size
        if begun is not None:
            length = max(length, *map(len, (*begun.prefixes, *begun.own_prefixes, *begun.whole, b"")))
        if not number % _AT_ONCE:
            yield
    return runs > MAX_RUN or work * max(USUAL_BYTES, length) > MAX_WORK


def _by_beginning(
    all_compared: Sequence[Compared],
) -> Stepwise[tuple[dict[tuple[bytes, bool], list[int]], list[_Sized]]]:
    """Return, in steps, which programs are run for each beginning, by their numbers in the order in which all are, and which these are.

    A beginning that is whole is that of one path alone.
    """
    by_realm: dict[str, list[int]] = {}
    oldest: dict[str, int] = {}
    for number, one in enumerate(all_compared):
        begun = one.beginnings
        if begun is not None:
            by_realm.setdefault(begun.realm, []).append(number)
            oldest[begun.realm] = min(begun.order, oldest.get(begun.realm, begun.order))
        if number and not number % _AT_ONCE:
            yield
    at: dict[tuple[bytes, bool], list[int]] = {}
    sizes: list[_Sized] = []
    for realm in sorted(by_realm, key=oldest.__getitem__):
        numbers = by_realm[realm]
        asked = yield from asking_order([all_compared[number] for number in numbers])
        for done, another in enumerate(asked):
            if not done % _AT_ONCE:
                yield
            of = numbers[another.number]
            begun = all_compared[of].beginnings
            if another.expression is None or not another.expression.size or begun is None:
                continue
            for texts, is_whole in (
                ((*begun.prefixes, *begun.own_prefixes), False),
                ((*begun.whole, *begun.own_whole), True),
            ):
                for text in texts:
                    at.setdefault((text, is_whole), []).append(len(sizes))
            sizes.append(_Sized(another.expression.size, of))
    return at, sizes


def _crowded(
    at: dict[tuple[bytes, bool], list[int]], sizes: Sequence[_Sized]
) -> Iterator[tuple[int, list[int]]]:
    """Yield the beginnings like which more begin than a lookup may run: the bytes of a path that begins so, and the numbers of these in their order.

    Where many are looked at without finding one, no numbers are yielded.
    """
    # Beginnings of the one that is looked at, each with what begins so, and how many programs and steps they are with those before.
    around: list[tuple[bytes, list[int], int, int]] = []
    for done, key in enumerate(sorted(at), 1):
        beginning, is_whole = key
        while around and not beginning.startswith(around[-1][0]):
            around.pop()
        own = at[key]
        runs, steps = (around[-1][2], around[-1][3]) if around else (0, 0)
        runs += len(own)
        steps += sum(sizes[number].size for number in own)
        # What is whole is the path itself, which may be short.
        length = max(1 if is_whole else USUAL_BYTES, len(beginning))
        if runs > MAX_RUN or steps * length > MAX_WORK:
            yield length, sorted({*own, *chain.from_iterable(one[1] for one in around)})
        elif not done % _AT_ONCE:
            yield length, []
        if not is_whole:
            around.append((beginning, own, runs, steps))
