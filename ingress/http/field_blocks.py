"""The field lines of heads, read line by line, or by the layout of one that came before.

What clients and endpoints say differs from head to head in few lines: a cookie, an id, a length.  A *layout* is what one
head has in common with the next: the lines that it said before, as they stand beside each other, and the names of those whose values are new
each time.  A head that is laid out so is compared in a few pieces instead of line by line.  Nothing else may pass by that: a
layout comes from lines that were read strictly, the values in its gaps are looked at as in any line, and whatever
differs in anything else is read line by line.
"""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from ingress.http.grammar import CONTROLS_REPLACED, MEMO_BLOCK, FieldError, FieldLines, Sightings, Special

MOST_LAYOUTS: Final = 512
"""Each host that clients name first has one of its own, or several.  One takes some 2.5 KiB, and at most 7."""
LAYOUT_KEY: Final = 32
"""Bytes that say which layout a head most likely has: as many as tell hosts and servers apart, and too few to have the time of day among them."""
_SAMPLED: Final = 31
"""Of heads that were read line by line one in so many leaves its layout: to find it takes as long as two of them, and where senders
that begin alike take turns, most of it is in vain.  The number is a prime, lest the same of several that take turns are met always."""
_WORTH: Final = 3
"""Of the lines of a layout at least one in so many is the same each time."""

Verdict = TypeVar("Verdict")

_Gap = tuple[bytes, int, bytes, bool, bool]
"""A line whose value is new each time: all that stands before the value, since the one before; how long that is; what of it goes on;
whether the value does, and whether it is told."""


class TooManyFieldsError(FieldError):
    """There are more field lines than a head may have."""


class Layout(Generic[Verdict]):
    """What a head has in common with those like it: *gaps*, *tail* behind the last of them, and *kept*, the part of it that goes on.

    *specials* are those of its lines, in which those of *told* places stand for lines in gaps; *written* are the names of all lines, with colons in
    between, and *said* those lines that are the same in all of them.
    """

    def __init__(
        self,
        gaps: list[_Gap],
        tail: bytes,
        kept: bytes,
        specials: list[Special],
        told: list[int],
        written: bytes,
        said: bytes,
    ) -> None:
        self._gaps = gaps
        self._tail = tail
        self._kept = kept
        self._specials = specials
        self._told = told
        self.written = written
        self.said = said
        self.verdict: Verdict | None = None
        """What follows from its special lines, whatever stands in the gaps; None if nobody has said so."""
        self.is_judged = False
        """Whether it was looked whether anything does."""

    def __repr__(self) -> str:
        return f"<Layout with {len(self._gaps)} gaps>"

    @property
    def told(self) -> list[int]:
        """The sorts of what ``read`` tells."""
        return [self._specials[place][0] for place in self._told]

    def decide(self, verdict: Verdict, ending: bytes = b"") -> None:
        """Have all heads that are laid out so be read by *verdict*; with *ending* behind what goes on."""
        self.verdict = verdict
        self._kept += ending

    def read(self, block: bytes, at: int) -> tuple[bytes, list[bytes]] | None:
        """Return what goes on of *block* from *at* on, and the told values; None if it is not laid out so, or may not be right."""
        forward: list[bytes] = []
        told: list[bytes] = []
        for before, size, kept, goes_on, is_told in self._gaps:
            begin = at + size
            if block[at:begin] != before:
                return None
            # If no LF is behind it, nothing that follows here begins so.
            at = block.find(b"\r", begin)
            if at < 0:
                at = len(block)
            value = block[begin:at]
            if value.translate(CONTROLS_REPLACED) != value:
                return None
            forward.append(kept)
            if goes_on:
                forward.append(value)
            if is_told:
                told.append(value.strip(b" \t"))
        if block[at:] != self._tail:
            return None
        forward.append(self._kept)
        return b"".join(forward), told

    def specials(self, told: list[bytes]) -> list[Special]:
        """Return the special lines of a head in which the *told* values stood."""
        specials = self._specials.copy()
        for place, value in zip(self._told, told, strict=True):
            sort, name, _ = specials[place]
            specials[place] = sort, name, value
        return specials


class FieldBlocks(Generic[Verdict]):
    """Reads the field lines of all heads of one kind; *sort* and *whole* are those of ``FieldLines``.

    Lines of *kept* sorts are special, and go on all the same; what they say makes no difference but that it is said.
    """

    def __init__(
        self, sort: Callable[[bytes], int], kept: frozenset[int] = frozenset(), whole: int = -1
    ) -> None:
        self.lines = FieldLines(sort, whole)
        self.layouts: dict[bytes, Layout[Verdict]] = {}
        """By how they begin; at most ``MOST_LAYOUTS``."""
        self._kept = kept
        self._whole = whole
        self._read = 0
        """How many heads were read line by line."""
        self._sightings = Sightings(MOST_LAYOUTS)

    def read(
        self, block: bytes, at: int, most: int, key: bytes, first: bytes = b"", kept: bytes = b""
    ) -> tuple[bytes, list[Special]]:
        """Read all lines, at *most* so many, of the head *block* whose first line ends *at*; raises ``FieldError``.

        Return what goes on, each line with its CRLF, and the special lines.  Layouts are found by *key*; one begins with *first*, in whose
        place *kept* goes on.
        """
        lines = block[at:].split(b"\r\n")
        # What stands before the CRLF of the first line is not one of them.
        del lines[0]
        if len(lines) > most:
            raise TooManyFieldsError("too many field lines")
        both = self._kept
        forward: list[bytes] = []
        specials: list[Special] = []
        read = self.lines
        for line in lines:
            special = read[line]
            if special is None:
                forward.append(line)
                continue
            specials.append(special)
            if special[0] in both:
                forward.append(line)
        self._read += 1
        is_sampled = not self._read % _SAMPLED and len(lines) > 0 and len(block) <= MEMO_BLOCK
        # At first, no line was said before.
        if is_sampled and self._sightings.again(key):
            self._learn(key, lines, first, kept)
        forward.append(b"")
        return b"\r\n".join(forward), specials

    def _learn(self, key: bytes, lines: list[bytes], before: bytes, kept: bytes) -> None:
        """Keep the layout of *lines*, which were read, if it saves anything."""
        known = self.lines
        written = [line.partition(b":")[0] for line in lines]
        said = {line for line in lines if line in known}
        old = self.layouts.get(key)
        names = b":".join(written)
        if old is not None and old.written == names:
            # The same sender, or one that is like it.  What others say has nothing in common with this but how it begins.
            always = said.intersection(old.said.split(b"\r\n"))
            said = always if _is_worth(always, lines) else said
        if not _is_worth(said, lines):
            return
        gaps: list[_Gap] = []
        specials: list[Special] = []
        told: list[int] = []
        for line, spelled in zip(lines, written, strict=True):
            name = known.names.get(spelled)
            if name is None or name.sort == self._whole:
                return
            is_both = name.sort in self._kept
            goes_on = is_both or not name.sort
            is_said = line in said
            if name.sort:
                if not is_said and not is_both:
                    told.append(len(specials))
                specials.append((name.sort, name.lower, line[len(spelled) + 1 :].strip(b" \t")))
            if is_said:
                before += b"\r\n" + line
                kept += line + b"\r\n" if goes_on else b""
                continue
            before += b"\r\n" + spelled + b":"
            kept += spelled + b":" if goes_on else b""
            gaps.append((before, len(before), kept, goes_on, not goes_on))
            before, kept = b"", b"\r\n" if goes_on else b""
        if len(self.layouts) >= MOST_LAYOUTS and old is None:
            # One, and not all: where there are more hosts than layouts, most heads have one all the same.
            del self.layouts[next(iter(self.layouts))]
        self.layouts[key] = Layout(gaps, before, kept, specials, told, names, b"\r\n".join(said))


def _is_worth(said: set[bytes], lines: list[bytes]) -> bool:
    """Whether a layout of *lines*, of which these are *said* each time, saves anything: each other line takes twice as long in it as one
    that is remembered.
    """
    return len(said) * _WORTH >= len(lines)
