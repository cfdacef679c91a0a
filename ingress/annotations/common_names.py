"""Which common names of client certificates are let in: ``auth-tls-match-cn``.

ingress-nginx runs the value as a regular expression.  A tenant's expression is never run
here: it could take the reactor for ever, and mean more than it shows.  What people write is
a small part of that language, and that part is read: names as they are, alternatives in
round brackets, ``.*`` and ``.+``.  The whole common name is compared, so ``CN=shop`` does not
let ``shopkeeper`` in; and a dot is a dot.  So nobody gets in whom the expression would keep
out.  What is beyond that is refused.
"""

import re
from collections.abc import Iterator
from typing import Final

from attrs import frozen

from ingress.annotations.values import ValueRefused

_MAX_CHARACTERS: Final = 512
_MAX_ALTERNATIVES: Final = 64
_PREFIX: Final = "CN="
_FORM: Final = (
    "is not CN= and a name, with (one|another), .* or .+ where need be; "
    "other regular expressions are not run, and a comma would begin something else than the name"
)

_ANY, _SOME = 0, 1
"""What stands between two literal pieces: any characters, or at least one."""
_Piece = tuple[int, str]
_TOKEN = re.compile(r"\.([*+])|\\([^A-Za-z0-9])|([A-Za-z0-9 _@:/'=~&%#!.\"<>;-]|[^\x00-\x7f])|([(|)])|(\$)\Z")


@frozen
class NamePattern:
    """One way that a name may look: *first*, and pieces that follow it, each after a gap.

    The gap is how many characters there are at least between a piece and what is before it.
    A pattern without gaps is the name itself.
    """

    first: str
    pieces: tuple[_Piece, ...] = ()

    def matches(self, name: str) -> bool:
        """Compare *name* from its beginning to its end, in one pass."""
        if not self.pieces:
            return name == self.first
        if not name.startswith(self.first):
            return False
        at = len(self.first)
        *middle, (last_gap, last) = self.pieces
        for gap, piece in middle:
            # The first place is the best one: it leaves the most to the pieces behind.
            found = name.find(piece, at + gap)
            if found < 0:
                return False
            at = found + len(piece)
        return name.endswith(last) and len(name) - len(last) >= at + last_gap


@frozen
class CommonNames:
    """The names that are let in; without any pattern, none is."""

    patterns: tuple[NamePattern, ...] = ()

    def __contains__(self, name: str) -> bool:
        return any(pattern.matches(name) for pattern in self.patterns)


NOBODY: Final = CommonNames()


def parse_common_names(text: str) -> CommonNames:
    """Read ``CN=...``; raises ``ValueRefused`` for what is beyond the part that is understood."""
    if len(text) > _MAX_CHARACTERS:
        raise ValueRefused(f"is longer than {_MAX_CHARACTERS} characters")
    if not text.startswith(_PREFIX):
        raise ValueRefused(_FORM)
    sequences = _read(text.removeprefix(_PREFIX))
    patterns = tuple(dict.fromkeys(_pattern(sequence) for sequence in sequences))
    if NamePattern("") in patterns:
        raise ValueRefused("lets an empty name in")
    return CommonNames(patterns)


_Sequence = tuple[_Piece, ...]
"""Pieces in order; the gap of a piece that follows directly is -1."""
_DIRECTLY = -1
_NOTHING: Final[_Sequence] = ()


def _read(text: str) -> list[_Sequence]:
    """Return the sequences of pieces that *text* stands for: one for each choice of alternatives."""
    before: list[_Sequence] = [_NOTHING]
    group: list[list[_Sequence]] | None = None
    for literal, gap, sign in _tokens(text):
        if sign == "(":
            if group is not None:
                raise ValueRefused(_FORM)
            group = [[_NOTHING]]
        elif sign == "|":
            if group is None:
                raise ValueRefused(_FORM)
            group.append([_NOTHING])
        elif sign == ")":
            if group is None:
                raise ValueRefused(_FORM)
            choices = [one for alternative in group for one in alternative]
            before = [one + choice for one in before for choice in choices]
            if len(before) > _MAX_ALTERNATIVES:
                raise ValueRefused(f"has more than {_MAX_ALTERNATIVES} alternatives")
            group = None
        else:
            piece = ((gap, literal),)
            if group is not None:
                group[-1] = [one + piece for one in group[-1]]
            else:
                before = [one + piece for one in before]
    if group is not None:
        raise ValueRefused(_FORM)
    return before


def _tokens(text: str) -> Iterator[tuple[str, int, str]]:
    """Yield literal, gap and sign of each token; a sign has neither of the others."""
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueRefused(_FORM)
        at = token.end()
        wildcard, escaped, plain, sign, end = token.groups()
        if wildcard:
            yield "", _SOME if wildcard == "+" else _ANY, ""
        elif sign:
            yield "", _DIRECTLY, sign
        elif not end:
            yield escaped or plain, _DIRECTLY, ""


def _pattern(sequence: _Sequence) -> NamePattern:
    """Join what follows directly, so that gaps alone divide a pattern."""
    texts = [""]
    gaps: list[int] = []
    for gap, literal in sequence:
        if gap == _DIRECTLY:
            texts[-1] += literal
        else:
            gaps.append(gap)
            texts.append("")
    return NamePattern(texts[0], tuple(zip(gaps, texts[1:], strict=True)))
