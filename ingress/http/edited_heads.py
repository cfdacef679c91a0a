"""Heads that differ from what came: what filters change of a request on its way on, and of an answer on its way back.

A head that was read is shared by all requests, or answers, that say the same; so an edit makes another one.
What may not be changed is refused with ``ValueError``, whose text says why: names and values that no field can have, and
fields that are the proxy's own, since they frame a message or belong to one connection.
"""

import re
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from ingress.http.field_values import first_value
from ingress.http.grammar import CONTROLS, is_token, name_of
from ingress.http.request_head import ORIGIN_FORM, RequestHead
from ingress.http.response_head import ResponseHead

_PROXYS: Final = frozenset(
    (
        b"connection",
        b"content-length",
        b"http2-settings",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)
PROXYS_IN_REQUESTS: Final = _PROXYS | {b"expect", b"host"}
_BODILESS: Final = (204, 304)

_is_target = re.compile(ORIGIN_FORM).fullmatch
_is_authority = re.compile(rb"[A-Za-z0-9\-._~!$&'()*+,;=%:\[\]]+").fullmatch


@lru_cache(maxsize=256)
def check_field(name: bytes, value: bytes, proxys: frozenset[bytes] = _PROXYS) -> bytes:
    """Return the lower-case *name* of a field that may be sent with *value*; raises ``ValueError`` for any other.

    *proxys* are the names that nobody but the proxy uses.
    """
    if not is_token(name):
        raise ValueError(f"{name!r} is no name of a field")
    if len(value.translate(None, CONTROLS)) != len(value) or value.strip(b" \t") != value:
        raise ValueError(f"{value!r} is no value of a field")
    lower = name.lower()
    if lower in proxys:
        raise ValueError(f"the field {name.decode('ascii')} is the proxy's own")
    return lower


class RequestChange:
    """What goes to an endpoint in place of *head* and *fields*, which are all fields as ``upstream_fields_of`` renders them.

    Satisfies ``ingress.filters.RequestEdit``.
    """

    def __init__(self, head: RequestHead, fields: bytes) -> None:
        self._head = head
        self._own = head.forward.split(b"\r\n")[:-1]
        """The client's, ..."""
        self._added = fields[len(head.forward) :].split(b"\r\n")[:-1]
        """... and the proxy's."""
        self._target = head.target
        self._authority = head.authority
        self.is_unframed = False
        """Whether the body has another length than the client says."""
        self.is_expected = head.expect_continue
        """Whether the client still waits to be told that its body is wanted."""

    def rewrite(self, target: bytes | None = None, authority: bytes | None = None) -> None:
        """Ask for *target*, and as *authority*."""
        if target is not None:
            if not _is_target(target):
                raise ValueError(f"{target!r} is no target in origin form")
            self._target = target
        if authority is not None:
            if not _is_authority(authority):
                raise ValueError(f"{authority!r} is no authority")
            self._authority = authority

    def put(self, name: bytes, value: bytes) -> None:
        """Send the field once with *value*, whatever was there."""
        self._drop(check_field(name, value, PROXYS_IN_REQUESTS))
        self._added.append(b"%b: %b" % (name, value))

    def add(self, name: bytes, value: bytes) -> None:
        """Send the field beside those of the same name."""
        check_field(name, value, PROXYS_IN_REQUESTS)
        self._added.append(b"%b: %b" % (name, value))

    def drop(self, name: bytes) -> None:
        """Send no field of this name."""
        self._drop(check_field(name, b"", PROXYS_IN_REQUESTS))

    def _drop(self, name: bytes) -> None:
        self._own = [line for line in self._own if name_of(line) != name]
        self._added = [line for line in self._added if name_of(line) != name]

    @property
    def head(self) -> RequestHead:
        """The head as it is now; the one that came where nothing of it is different."""
        came = self._head
        forward = _joined(self._own)
        if (
            forward == came.forward
            and self._target == came.target
            and self._authority == came.authority
            and self.is_expected == came.expect_continue
            and not self.is_unframed
        ):
            return came
        head = RequestHead()
        head.method = came.method
        head.target = self._target
        head.path = self._target.partition(b"?")[0]
        head.forward = forward
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
        if self.is_unframed:
            head.chunked = True
        else:
            head.chunked = came.chunked
            head.content_length = came.content_length
        return head

    @property
    def fields(self) -> bytes:
        """All fields as they are now, rendered, those of ``head`` first."""
        return _joined(self._own) + _joined(self._added)


class AnswerChange:
    """What goes to the client in place of *head*, which is of a reply of our own if it *is_ours*.

    Satisfies ``ingress.filters.AnswerEdit``.
    """

    def __init__(self, head: ResponseHead, is_ours: bool) -> None:
        self._head = head
        self._status = head.status
        self._changes: list[tuple[bytes, bytes]] = []
        """In order: which fields go, and the line that comes; either may be empty."""
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
        self._status = status

    def field(self, name: bytes) -> bytes:
        """Return the value of the first field called *name*, in lower case, as it stands now; empty for none."""
        start = self.head.start if self._changes else self._head.start
        return first_value(start[start.index(b"\r\n") + 2 :], name)

    def put(self, name: bytes, value: bytes) -> None:
        """Send the field once with *value*, whatever was there."""
        self._changes.append((check_field(name, value), b"%b: %b" % (name, value)))

    def add(self, name: bytes, value: bytes) -> None:
        """Send the field beside those of the same name."""
        check_field(name, value)
        self._changes.append((b"", b"%b: %b" % (name, value)))

    def drop(self, name: bytes) -> None:
        """Send no field of this name."""
        self._changes.append((check_field(name, b""), b""))

    @property
    def head(self) -> ResponseHead:
        """The head as it is now; the one that came where nothing of it is different."""
        came = self._head
        if not self._changes and self._status == came.status:
            return came
        # An answer that comes again is changed in the same way, most likely, and what HTTP/2 makes of it is kept, too.
        change = (self._status, *self._changes)
        if came.changed is not None and came.changed[0] == change:
            return came.changed[1]
        first, *lines = came.start.split(b"\r\n")[:-1]
        for name, line in self._changes:
            if name:
                lines = [each for each in lines if name_of(each) != name]
            if line:
                lines.append(line)
        if self._status != came.status:
            first = b"HTTP/1.1 %d %b" % (self._status, _phrase_of(self._status))
        head = _another(came, self._status, [first, *lines], came.content_length)
        came.changed = (change, head)
        return head


def without_length(head: ResponseHead) -> ResponseHead:
    """Return *head* for a body of another length, which is not known before its end."""
    lines = head.start.split(b"\r\n")[:-1]
    kept = [lines[0], *(line for line in lines[1:] if name_of(line) != b"content-length")]
    return _another(head, head.status, kept, -1)


def _another(came: ResponseHead, status: int, lines: list[bytes], content_length: int) -> ResponseHead:
    """Return a head like *came*, with status line and fields *lines*."""
    head = ResponseHead(status, _joined(lines), content_length)
    names = {name_of(line) for line in lines[1:]}
    head.chunked = came.chunked
    head.has_date = b"date" in names
    head.has_server = b"server" in names
    head.is_complete = head.has_body and content_length >= 0 and head.has_date and head.has_server
    head.keep_alive = came.keep_alive
    head.upgrade = came.upgrade
    return head


def _joined(lines: list[bytes]) -> bytes:
    return b"\r\n".join([*lines, b""])


def _phrase_of(status: int) -> bytes:
    try:
        return HTTPStatus(status).phrase.encode()
    except ValueError:
        return b""
