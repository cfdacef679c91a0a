"""What requests and answers have in common about fields: their names, and what is malformed (RFC 9113 section 8.2).

A field is read once, when it enters an HPACK table or comes as a literal, and what was
found out is kept with it.  So a field that comes again costs nothing but a look at its sort.
"""

import re
from collections.abc import Callable, Mapping

from ingress.http.grammar import CONTROLS, MEMO_NAME, MEMO_NAMES

Field = tuple[int, bytes, bytes, bytes]
"""Sort, name, value, and what is made of both: ``name: value``, as far as the field goes on like that.

The sort is one of ``ingress.http``, of this module, or of the reader's own.  Of a malformed
field the last part says why it is.
"""

MALFORMED = 15
"""The sort of a field that makes the whole message malformed."""
FIRST_OWN_SORT = 16
"""Where sorts begin that only HTTP/2 has."""

CONNECTION_SPECIFIC = (b"connection", b"proxy-connection", b"keep-alive", b"transfer-encoding", b"upgrade")
"""What HTTP/2 says otherwise, or not at all (section 8.2.2)."""

is_name = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+").fullmatch
"""A token in lower case; a colon belongs to pseudo fields alone (section 8.2.1)."""


class FieldNames(dict[bytes, int]):
    """The sorts of fields by their names: ``names[name]``; what is no name is malformed.

    *own* are the sorts that differ from those of *sort_of*.
    """

    def __init__(self, own: Mapping[bytes, int], sort_of: Callable[[bytes], int]) -> None:
        super().__init__(own)
        self._sort_of = sort_of

    def __missing__(self, name: bytes) -> int:
        if not is_name(name):
            return MALFORMED
        sort = self._sort_of(name)
        if len(self) < MEMO_NAMES and len(name) <= MEMO_NAME:
            self[name] = sort
        return sort


def is_value(value: bytes) -> bool:
    """Whether *value* may stand in a field: no control but the tab, no white space around it (section 8.2.1)."""
    return len(value.translate(None, CONTROLS)) == len(value) and value.strip(b" \t") == value


def malformed(name: bytes, value: bytes, why: bytes) -> Field:
    """Return the field for what must not go on; *why* is constant text."""
    return MALFORMED, name, value, why
