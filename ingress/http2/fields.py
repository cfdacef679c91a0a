"""What requests and answers have in common about fields: their names, and what is malformed (RFC 9113 section 8.2).

A field is read once, when it enters an HPACK table or comes as a literal, and what was
found out is kept with it.  So a field that comes again costs nothing but a look at its sort.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from ingress.http.grammar import CONTROLS_REPLACED, FORWARD, MEMO_NAME, MEMO_NAMES
from ingress.http2.faults import Malformed

Field = tuple[int, bytes, bytes, bytes]
"""Sort, name, value, and what is made of both: ``name: value``, as far as the field goes on like that.

The sort is one of ``ingress.http``, of this module, or of the reader's own.  Of a malformed
field the last part says why it is.
"""

MALFORMED: Final = 15
"""The sort of a field that makes the whole message malformed."""
FIRST_OWN_SORT: Final = 16
"""Where sorts begin that only HTTP/2 has."""

CONNECTION_SPECIFIC: Final = (
    b"connection",
    b"proxy-connection",
    b"keep-alive",
    b"transfer-encoding",
    b"upgrade",
)
"""What HTTP/2 says otherwise, or not at all (section 8.2.2)."""

is_name: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+").fullmatch
"""A token in lower case; a colon belongs to pseudo fields alone (section 8.2.1)."""


class FieldNames(dict[bytes, int]):
    """The sorts of fields by their names: ``names[name]``; what is no name is malformed.

    *own* are the sorts that differ from those of *sort_of*.
    """

    def __init__(self, own: Mapping[bytes, int], sort_of: Callable[[bytes], int]) -> None:
        super().__init__(own)
        self._own = own
        self._sort_of = sort_of

    def __missing__(self, name: bytes) -> int:
        if not is_name(name):
            return MALFORMED
        sort = self._sort_of(name)
        if len(name) <= MEMO_NAME:
            if len(self) >= MEMO_NAMES:
                # Else who comes first with many that nobody else uses would keep all others out.
                self.clear()
                self.update(self._own)
            self[name] = sort
        return sort


def malformed(name: bytes, value: bytes, why: bytes) -> Field:
    """Return the field for what must not go on; *why* is constant text."""
    return MALFORMED, name, value, why


def field_reader(
    own: Mapping[bytes, int],
    sort_of: Callable[[bytes], int],
    read_special: Callable[[int, bytes, bytes], Field],
) -> Callable[[bytes, bytes], Field]:
    """Return what reads a field by its name and value, and never raises, whatever it is.

    *own* are the sorts of names that differ from those of *sort_of*.  *read_special* reads
    the fields that do not simply go on: sort, name, and a value that may stand in a field.
    """
    names = FieldNames(own, sort_of)

    def read(name: bytes, value: bytes) -> Field:
        sort = names[name]
        # Section 8.2.1: no control but the tab, and no white space around the value.
        if value.translate(CONTROLS_REPLACED) != value or value.strip(b" \t") != value:
            return malformed(name, value, b"bad field value")
        if not sort:
            return FORWARD, name, value, name + b": " + value
        if sort == MALFORMED:
            return malformed(name, value, b"a field that HTTP/2 does not have")
        return read_special(sort, name, value)

    return read


def malformed_by(sort: int, why: bytes) -> Malformed:
    """Return what to raise about a field of *sort* whose last part is *why*, where it must not be."""
    return Malformed(why.decode() if sort == MALFORMED else "a field where it must not be, or twice")
