"""The grammar that both kinds of heads share: tokens, field lines, lists, limits.

Everything is strict: a line that RFC 9110 section 5 and RFC 9112 section 5 do
not allow is an error, never repaired.
"""

import re
from collections.abc import Callable
from typing import Final

MAX_REQUEST_LINE: Final = 8 * 1024
"""Bytes; nginx 8 KiB, RFC 9112 section 3 asks for at least 8000 octets."""
MAX_HEAD: Final = 32 * 1024
"""Bytes of a whole head; nginx 4 x 8 KiB, HAProxy 16 KiB, Envoy 60 KiB."""
MAX_FIELDS: Final = 100
"""Field lines in a head; HAProxy 101, Envoy 100."""
MEMO_LINE: Final = 512
"""Longest line worth remembering: a memo must not belong to an attacker."""
MEMO_ENTRIES: Final = 4096
MEMO_NAME: Final = 64
MEMO_NAMES: Final = 1024
MEMO_OPTIONS: Final = 64
"""The longest value of ``Connection`` worth remembering."""
MEMO_CONNECTIONS: Final = 256
MEMO_BLOCK: Final = 2048
MEMO_BLOCKS: Final = 512

TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"

is_token: Final = re.compile(TOKEN).fullmatch
has_bare_line_feed: Final = re.compile(rb"(?<!\r)\n").search
is_length: Final = re.compile(rb"[0-9]{1,18}").fullmatch
"""Content-Length: digits only, and few enough for a 63-bit number (RFC 9110 section 8.6)."""

_CONTROLS: Final = frozenset((*range(0x09), *range(0x0A, 0x20), 0x7F))
"""What no field value has in it (RFC 9110 section 5.5)."""
CONTROLS_REPLACED: Final = bytes(0x3F if byte in _CONTROLS else byte for byte in range(0x100))
"""To ``translate`` by it changes a value with such an octet, and no other; to leave octets out takes three times as long."""


class FieldError(ValueError):
    """A field line that cannot be read in exactly one way."""


def split_list(value: bytes) -> list[bytes]:
    """Return the lower-case members of a comma-separated list of tokens (RFC 9110 section 5.6.1)."""
    members = [member.strip(b" \t").lower() for member in value.split(b",")]
    members = [member for member in members if member]
    if not all(map(is_token, members)):
        raise FieldError("bad list")
    return members


FORWARD: Final = 0
DROP: Final = 1
"""Sorts of field lines that both kinds of heads have: those that go on as they are, and those that stop here."""


class Sightings:
    """Tells what was seen before, by its hash, so that only what comes again is remembered.

    What differs in every request would otherwise fill each memo, and push out what is worth it.
    """

    __slots__ = ("_most", "seen")

    def __init__(self, most: int) -> None:
        self._most = most
        self.seen: set[int] = set()

    def again(self, octets: bytes) -> bool:
        """Note *octets*; return whether they, most probably, were noted before."""
        mark = hash(octets)
        if mark in self.seen:
            return True
        if len(self.seen) >= self._most:
            self.seen.clear()
        self.seen.add(mark)
        return False


_USUAL_NEWS: Final = 256
_SAMPLED_NEWS: Final = 13
"""Of a name that had more new lines than usual, only one in so many may be remembered: in cookies and
request ids most differ every time, and even to note a line costs more than it is worth.  The number is
a prime, lest the same of several that take turns are met always."""


class _Name:
    """The name of a field line: its sort, how it is in lower case, and how many new lines had it."""

    __slots__ = ("lower", "news", "sort")

    def __init__(self, sort: int, lower: bytes) -> None:
        self.sort = sort
        self.lower = lower
        self.news = 0


Special = tuple[int, bytes, bytes]
"""A field line that does not just go on: its sort, its lower-case name and its value."""


class FieldLines(dict[bytes, Special | None]):
    """Field lines that were read before: None for one that goes on as it is, which nearly all do.

    ``lines[line]`` reads a line that is new, and raises ``FieldError`` when it cannot be read; so what is remembered is
    valid.  *sort* tells the sort by the name; of lines of the sort *whole*, all of the line stands in the place of the value.
    """

    def __init__(self, sort: Callable[[bytes], int], whole: int = -1) -> None:
        super().__init__()
        self._sort = sort
        self._whole = whole
        self.names: dict[bytes, _Name] = {}
        """Names that are tokens, as they were written."""
        self.seen: set[int] = set()
        """Lines that came once, by their hash, as ``Sightings`` does it."""

    def __missing__(self, line: bytes) -> Special | None:
        """Read a line: RFC 9110 section 5.1 and 5.5.

        A token, a colon right behind it, and a value of visible characters, spaces and tabs.
        """
        name, colon, value = line.partition(b":")
        known = self.names.get(name) or self._read_name(name)
        if not colon or value.translate(CONTROLS_REPLACED) != value:
            raise FieldError("bad field line")
        sort = known.sort
        entry: Special | None = None
        if sort:
            entry = sort, known.lower, line if sort == self._whole else value.strip(b" \t")
        news = known.news = known.news + 1
        if (news < _USUAL_NEWS or not news % _SAMPLED_NEWS) and len(line) <= MEMO_LINE:
            mark = hash(line)
            if mark in self.seen:
                if len(self) >= MEMO_ENTRIES:
                    self.clear()
                self[line] = entry
            else:
                if len(self.seen) >= MEMO_ENTRIES:
                    self.seen.clear()
                self.seen.add(mark)
        return entry

    def _read_name(self, name: bytes) -> _Name:
        if not is_token(name):
            raise FieldError("bad field name")
        lower = name.lower()
        known = _Name(self._sort(lower), lower)
        if len(name) <= MEMO_NAME:
            if len(self.names) >= MEMO_NAMES:
                # Else who comes first with many that nobody else uses would keep all others out.
                self.names.clear()
            self.names[name] = known
        return known


def split_field(line: bytes) -> tuple[bytes, bytes]:
    """Split a field line into its lower-case name and its value without outer whitespace.

    Raises ``FieldError`` for what is no field line.
    """
    name, colon, value = line.partition(b":")
    if not colon or not is_token(name) or value.translate(CONTROLS_REPLACED) != value:
        raise FieldError("bad field line")
    return name.lower(), value.strip(b" \t")


def name_of(line: bytes) -> bytes:
    """Return the lower-case name of a field line that was read."""
    return line.partition(b":")[0].lower()


def without(lines: bytes, gone: frozenset[bytes]) -> bytes:
    """Return *lines*, which were read, each with its CRLF, but for those whose lower-case names are in *gone*."""
    return b"".join([line for line in lines.splitlines(keepends=True) if name_of(line) not in gone])


class _Options(dict[bytes, frozenset[bytes]]):
    """The options in ``Connection`` fields, by what these say: only short ones are remembered, for a long one may name thousands."""

    def __missing__(self, value: bytes) -> frozenset[bytes]:
        options = frozenset(split_list(value))
        if len(value) <= MEMO_OPTIONS:
            if len(self) >= MEMO_CONNECTIONS:
                self.clear()
            self[value] = options
        return options


known_options: Final = _Options()
"""Options that were read before, at most ``MEMO_CONNECTIONS``."""
connection_options: Final[Callable[[bytes], frozenset[bytes]]] = known_options.__getitem__
"""Returns the options in a ``Connection`` field; raises ``FieldError``."""
