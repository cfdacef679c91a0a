"""Heads that differ from what came: what filters change of a request on its way on, and of an answer on its way back.

A head that was read is shared by all requests, or answers, that say the same; so an edit makes another one.
What may not be changed is refused with ``ValueError``, whose text says why: names and values that no field can have, and
fields that are the proxy's own, since they frame a message or belong to one connection.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from http import HTTPStatus
from operator import index
from typing import Final

from ingress.filters import FieldChanges
from ingress.http.field_values import all_values, first_value, first_values
from ingress.http.grammar import CONTROLS_REPLACED, is_token
from ingress.http.request_head import ORIGIN_FORM, RequestHead
from ingress.http.response_head import ResponseHead
from ingress.model.requests.cgi import CgiRequest
from ingress.model.requests.reserved_fields import RESERVED_FIELDS, RESERVED_FIELDS_OF_REQUESTS

_RESERVED: Final = frozenset(name.encode() for name in RESERVED_FIELDS)
RESERVED_IN_REQUESTS: Final = frozenset(name.encode() for name in RESERVED_FIELDS_OF_REQUESTS)
_BODILESS: Final = (204, 304)

_vary_values: Final = re.compile(rb"\nvary:([^\r\n]*)").findall
_ONE_BY_ONE: Final = 8
"""So many fields of an answer are looked for one by one; whoever asks for more has all taken apart."""
_is_target: Final = re.compile(ORIGIN_FORM).fullmatch
is_authority: Final = re.compile(rb"[A-Za-z0-9\-._~!$&'()*+,;=%:\[\]]+").fullmatch


@lru_cache(maxsize=256)
def check_field(name: bytes, value: bytes, reserved: frozenset[bytes] = _RESERVED) -> bytes:
    """Return the lower-case *name* of a field that may be sent with *value*; raises ``ValueError`` for any other.

    *reserved* are the names that nobody but the proxy uses.
    """
    if not is_token(name):
        raise ValueError(f"{name!r} is no name of a field")
    if value.translate(CONTROLS_REPLACED) != value or value.strip(b" \t") != value:
        raise ValueError(f"{value!r} is no value of a field")
    lower = name.lower()
    if lower in reserved:
        raise ValueError(f"the field {name.decode('ascii')} is the proxy's own")
    return lower


LineChange = tuple[tuple[bytes, ...], bytes, bytes]
"""What is done to the lines of a head at once: which fields go, each as ``mark_of`` has it; the lines that come then; and
the field of the request that ``Vary`` is to name then, if any."""


_FEW: Final = 8


def mark_of(lower: bytes) -> bytes:
    """Return what a line of the field *lower* begins with, behind the end of the line before."""
    return b"\n%b:" % lower


_DATE: Final = mark_of(b"date")
_SERVER: Final = mark_of(b"server")


@lru_cache(maxsize=256)
def _checked_mark(name: bytes, value: bytes = b"", reserved: frozenset[bytes] = _RESERVED) -> bytes:
    return mark_of(check_field(name, value, reserved))


def _line_changes_of(changes: FieldChanges, reserved: frozenset[bytes]) -> LineChange:
    gone = [check_field(name, b"", reserved) for name in changes.drop]
    gone += [check_field(name, value, reserved) for name, value in changes.put]
    for name, value in changes.add:
        check_field(name, value, reserved)
    lines = [b"%b: %b\r\n" % field for field in (*changes.put, *changes.add)]
    if changes.vary:
        check_field(changes.vary, b"", reserved)
    return tuple(map(mark_of, dict.fromkeys(gone))), b"".join(lines), changes.vary


@lru_cache(maxsize=1024)
def answer_changes(changes: FieldChanges) -> LineChange:
    """Return what *changes* do to answers; raises ``ValueError`` for what may not be done."""
    return _line_changes_of(changes, _RESERVED)


@lru_cache(maxsize=1024)
def _request_changes(changes: FieldChanges) -> LineChange:
    return _line_changes_of(changes, RESERVED_IN_REQUESTS)


def without_fields(lines: bytes, marks: Iterable[bytes]) -> bytes:
    """Return *lines*, each with its CRLF, without the fields of these *marks*."""
    lowered = b"\n" + lines.lower()
    gone: list[tuple[int, int]] = []
    for mark in marks:
        at = lowered.find(mark)
        while at >= 0:
            end = lowered.index(b"\n", at + 1)
            gone.append((at, end))
            at = lowered.find(mark, end)
    if not gone:
        return lines
    gone.sort()
    kept: list[bytes] = []
    begin = 0
    for at, end in gone:
        kept.append(lines[begin:at])
        begin = end
    kept.append(lines[begin:])
    return b"".join(kept)


def _edited(lines: bytes, changes: Sequence[LineChange]) -> bytes:
    """Return *lines* after *changes* in their order, apart from ``Vary``.

    Few are made one by one.  For many that would take all the longer, the longer the lines have become by them.
    """
    if len(changes) <= _FEW:
        for gone, added, _ in changes:
            lines = without_fields(lines, gone) + added if gone else lines + added
        return lines
    last: dict[bytes, int] = {}
    for number, (gone, _, _) in enumerate(changes):
        for mark in gone:
            last[mark] = number
    pieces = [without_fields(lines, last) if last else lines]
    for number, (_, added, _) in enumerate(changes):
        # What a later change takes away was never there.
        pieces += [
            line
            for line in added.splitlines(keepends=True)
            if last.get(mark_of(line.partition(b":")[0].lower()), 0) <= number
        ]
    return b"".join(pieces)


def _names_in(lines: bytes) -> tuple[bytes, ...]:
    return tuple(line.partition(b":")[0].lower() for line in lines.split(b"\r\n") if line)


class RequestChange:
    """What goes to an endpoint in place of *head* and *fields*, which are all fields as ``upstream_fields_of`` renders them.

    Satisfies ``ingress.filters.RequestEdit``.
    """

    def __init__(self, head: RequestHead, fields: bytes) -> None:
        self._head = head
        self._own = head.forward
        """The client's, ..."""
        self._added = fields[len(head.forward) :]
        """... and the proxy's."""
        self._changes: list[LineChange] = []
        """In order, those that were not made yet."""
        self._target = head.target
        self._authority = head.authority
        self.is_unframed = False
        """Whether the body has another length than the client says."""
        self._cgi = head.cgi
        self.is_expected = head.expect_continue
        """Whether the client still waits to be told that its body is wanted."""

    def rewrite(self, target: bytes | None = None, authority: bytes | None = None) -> None:
        """Ask for *target*, and as *authority*."""
        if target is not None:
            if not _is_target(target):
                raise ValueError(f"{target!r} is no target in origin form")
            self._target = target
        if authority is not None:
            if not is_authority(authority):
                raise ValueError(f"{authority!r} is no authority")
            self._authority = authority

    def put(self, name: bytes, value: bytes) -> None:
        """Send the field once with *value*, whatever was there."""
        mark = _checked_mark(name, value, RESERVED_IN_REQUESTS)
        self._changes.append(((mark,), b"%b: %b\r\n" % (name, value), b""))

    def add(self, name: bytes, value: bytes) -> None:
        """Send the field beside those of the same name."""
        check_field(name, value, RESERVED_IN_REQUESTS)
        self._changes.append(((), b"%b: %b\r\n" % (name, value), b""))

    def drop(self, name: bytes) -> None:
        """Send no field of this name."""
        self._changes.append(((_checked_mark(name, b"", RESERVED_IN_REQUESTS),), b"", b""))

    def change(self, changes: FieldChanges) -> None:
        """Do all of *changes*."""
        self._changes.append(_request_changes(changes))

    @property
    def target(self) -> bytes:
        """Path and query as they are now."""
        return self._target

    def tell(self, request: CgiRequest) -> None:
        """Tell the endpoint *request* if it speaks FastCGI."""
        self._cgi = request

    def names(self) -> tuple[bytes, ...]:
        """Return the names of all fields as they are now, in lower case."""
        if self._changes:
            self._settle()
        return _names_in(self._own) + _names_in(self._added)

    def _settle(self) -> None:
        """Make the changes."""
        changes, self._changes = self._changes, []
        gone = {mark: None for change in changes for mark in change[0]}
        if gone:
            self._own = without_fields(self._own, gone)
        self._added = _edited(self._added, changes)

    @property
    def head(self) -> RequestHead:
        """The head as it is now; the one that came where nothing of it is different."""
        if self._changes:
            self._settle()
        came = self._head
        if (
            self._own == came.forward
            and self._target == came.target
            and self._authority == came.authority
            and self._cgi is came.cgi
            and self.is_expected == came.expect_continue
            and not self.is_unframed
        ):
            return came
        head = RequestHead()
        head.method = came.method
        head.target = self._target
        head.path = self._target.partition(b"?")[0]
        head.forward = self._own
        head.minor = came.minor
        head.authority = self._authority
        head.has_body = came.has_body
        head.keep_alive = came.keep_alive
        head.expect_continue = self.is_expected
        head.upgrade = came.upgrade
        head.forwarded = came.forwarded
        head.request_id = came.request_id
        head.accepts_trailers = came.accepts_trailers
        head.connect_protocol = came.connect_protocol
        head.cgi = self._cgi
        if self.is_unframed:
            head.chunked = True
        else:
            head.chunked = came.chunked
            head.content_length = came.content_length
        return head

    @property
    def fields(self) -> bytes:
        """All fields as they are now, rendered, those of ``head`` first."""
        if self._changes:
            self._settle()
        return self._own + self._added


class AnswerChange:
    """What goes to the client in place of *head*, which is of a reply of our own if it *is_ours*.

    Satisfies ``ingress.filters.AnswerEdit``.
    """

    body: bytes | None = None
    """What of the body is held, for filters that asked for it, ..."""
    is_body_whole = False
    """... and whether that is all."""

    def __init__(self, head: ResponseHead, is_ours: bool) -> None:
        self._head = head
        self._status = head.status
        self._changes: list[LineChange] = []
        """In order, those that were not made yet."""
        self._asked = 0
        """How often a field was asked for."""
        self._apart: tuple[bytes, dict[bytes, bytes]] | None = None
        """The lines that were taken apart, and what they say."""
        self.is_ours = is_ours

    @property
    def status(self) -> int:
        """The status as it is now."""
        return self._status

    @status.setter
    def status(self, status: int) -> None:
        came = self._head.status
        if not (200 <= status <= 599 and came >= 200) or (status in _BODILESS) != (came in _BODILESS):
            raise ValueError(f"an answer of status {came} cannot become one of {status}")
        # Also of an enumeration of them, whose members others would not take.
        self._status = index(status)

    def field(self, name: bytes) -> bytes:
        """Return the value of the first field called *name*, in lower case, as it stands now; empty for none."""
        start = self.head.start
        if self._asked < _ONE_BY_ONE:
            self._asked += 1
            return first_value(start[start.index(b"\r\n") + 2 :], name)
        if self._apart is None or self._apart[0] is not start:
            self._apart = start, first_values(start[start.index(b"\r\n") + 2 :])
        return self._apart[1].get(name, b"")

    def values(self, name: bytes) -> tuple[bytes, ...]:
        """Return the values of all fields called *name*, in lower case, as they stand now."""
        return tuple(all_values(self.head.start, name))

    def names(self) -> tuple[bytes, ...]:
        """Return the names of all fields as they are now, in lower case."""
        start = self.head.start
        return _names_in(start[start.index(b"\r\n") + 2 :])

    def put(self, name: bytes, value: bytes) -> None:
        """Send the field once with *value*, whatever was there."""
        self._changes.append(((_checked_mark(name, value),), b"%b: %b\r\n" % (name, value), b""))

    def add(self, name: bytes, value: bytes) -> None:
        """Send the field beside those of the same name."""
        check_field(name, value)
        self._changes.append(((), b"%b: %b\r\n" % (name, value), b""))

    def drop(self, name: bytes) -> None:
        """Send no field of this name."""
        self._changes.append(((_checked_mark(name),), b"", b""))

    def vary(self, name: bytes) -> None:
        """Say that the answer is another one where the field *name* of the request is."""
        check_field(name, b"")
        self._changes.append(((), b"", name))

    def change(self, changes: FieldChanges) -> None:
        """Do all of *changes*."""
        self._changes.append(answer_changes(changes))

    @property
    def head(self) -> ResponseHead:
        """The head as it is now; the one that came where nothing of it is different."""
        head = self._head
        if self._changes or self._status != head.status:
            head = self._head = changed_head(head, tuple(self._changes), self._status)
            self._changes = []
        return head


def changed_head(came: ResponseHead, changes: tuple[LineChange, ...], status: int) -> ResponseHead:
    """Return *came* with *status*, after *changes* in their order.

    An answer that comes again is changed in the same way, most likely, and what HTTP/2 makes of it is kept, too.
    """
    known = came.changed
    if known is not None and known[0] == changes and known[1].status == status:
        return known[1]
    start, tells = came.start, came.has_date and came.has_server
    made = 0
    for number, (gone, _, varies) in enumerate(changes, 1):
        tells = tells and _DATE not in gone and _SERVER not in gone
        if varies:
            start = _edited(start, changes[made:number])
            made = number
            if not _says_vary(start, varies.lower()):
                start += b"Vary: %b\r\n" % varies
    if made < len(changes):
        start = _edited(start, changes[made:])
    if status != came.status:
        start = b"HTTP/1.1 %d %b%b" % (status, _phrase_of(status), start[start.index(b"\r\n") :])
    head = _another(came, status, start, came.content_length, tells)
    came.changed = changes, head
    return head


def _says_vary(start: bytes, name: bytes) -> bool:
    """Whether a ``Vary`` field names *name*, or everything (RFC 9110 section 12.5.5)."""
    for value in _vary_values(start.lower()):
        members = [member.strip(b" \t") for member in value.split(b",")]
        if name in members or b"*" in members:
            return True
    return False


def without_length(head: ResponseHead) -> ResponseHead:
    """Return *head* for a body of another length, which is not known before its end."""
    start, tells = (
        without_fields(head.start, (mark_of(b"content-length"),)),
        head.has_date and head.has_server,
    )
    return _another(head, head.status, start, -1, tells)


def _another(came: ResponseHead, status: int, start: bytes, content_length: int, tells: bool) -> ResponseHead:
    """Return a head like *came*, with *start* in place of its lines; with *tells*, these have its Date and its Server."""
    head = ResponseHead(status, start, content_length)
    head.chunked = came.chunked
    if tells:
        head.has_date = head.has_server = True
    else:
        lowered = start.lower()
        head.has_date = _DATE in lowered
        head.has_server = _SERVER in lowered
    head.is_complete = head.has_body and content_length >= 0 and head.has_date and head.has_server
    head.keep_alive = came.keep_alive
    head.upgrade = came.upgrade
    return head


def _phrase_of(status: int) -> bytes:
    try:
        return HTTPStatus(status).phrase.encode()
    except ValueError:
        return b""
