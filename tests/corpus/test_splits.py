"""The corpus in other packets: where the bytes are cut changes no verdict."""

from collections.abc import Iterator
from itertools import takewhile

from twisted.trial.unittest import SynchronousTestCase

from tests.corpus.cases import Case
from tests.corpus.judge import WrongError, judge
from tests.corpus.memory import Play
from tests.corpus.topics import EVERY
from tests.properties import turns

EVERYWHERE = 300
"""Bytes up to which a case is cut at every place; a longer one at as many, spread evenly, and at both ends."""
FEW = 24
IN_SINGLE_BYTES = 2000
TURNS = 8
"""Cases after which a place is cut again, in what they begin with alike: what is before the cut is the same in all of them."""


def cuts(octets: bytes, alike: int = 0, turn: int = 0) -> Iterator[list[bytes]]:
    """
    Yield the ways in which *octets* are cut: in two at every place of this *turn*, and in single bytes.

    Of the places in the first *alike* bytes, which the case before had too, fewer have their turn.
    """
    size = len(octets)
    step = 1 if size <= EVERYWHERE else size // FEW
    near_the_ends = () if step == 1 else (1, 2, 3, size - 4, size - 3, size - 2, size - 1)
    for place in sorted({*range(1, size, step), *near_the_ends}):
        if (place + turn) % (TURNS if place < alike else turns()):
            continue
        yield [octets[:place], octets[place:]]
    if size <= IN_SINGLE_BYTES:
        yield [octets[at : at + 1] for at in range(size)]


class SplitTests(SynchronousTestCase):
    """Every case again, cut in two at places that take turns, and into single bytes."""

    def compare(self, name: str, case: Case, before: bytes, turn: int) -> int:
        """Play one case in all its cuts, on both kinds of transport by turns; *before* is what was sent in the case before."""
        alike = sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, case.sent, strict=False))
        )
        whole = Play().run(case, [case.sent]).told
        plays = {on_epoll: Play(on_epoll) for on_epoll in (False, True)}
        count = 0
        for count, pieces in enumerate(cuts(case.sent, alike, turn), 1):
            on_epoll = bool((count + turn) % 2)
            outcome = plays[on_epoll].run(case, pieces, with_canary=False)
            try:
                judge(case, outcome)
            except WrongError as error:
                self.fail(f"{name}, cut as {[len(piece) for piece in pieces]}: {error}")
            if case.or_sees is None:
                self.assertEqual(outcome.told, whole, (name, [len(piece) for piece in pieces]))
        return count

    def test_everywhere(self) -> None:
        """A case has the same verdict wherever it is cut."""
        before = b""
        plays = 0
        for turn, (name, case) in enumerate(EVERY):
            plays += self.compare(name, case, before, turn)
            before = case.sent
        self.assertGreater(plays, 20_000 / turns())
