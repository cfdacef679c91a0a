"""Requests of our own: their head.

What a request of a client must not say, one of ours must not either: the same grammar is checked, since
what is in it may come from a client's request.
"""

import re
from functools import lru_cache
from typing import Final

from ingress.http.edited_heads import RESERVED_IN_REQUESTS, check_field, is_authority, mark_of, without_fields
from ingress.http.grammar import MAX_HEAD, TOKEN, is_token
from ingress.http.request_head import ORIGIN_FORM, RequestHead
from ingress.model.network.http_urls import HttpUrl

MAX_OWN_HEAD: Final = 2 * MAX_HEAD
"""Bytes: all of a request's head, and what is told of the request besides."""

_is_method: Final = re.compile(TOKEN).fullmatch
_is_target: Final = re.compile(ORIGIN_FORM).fullmatch
_are_lines: Final = re.compile(
    # Each begins with a name that is not the proxy's own, and has no control character in its value.
    rb"(?:(?!(?i:%b):)%b:[\t\x20-\x7e\x80-\xff]*+\r\n)*+"
    % (b"|".join(map(re.escape, sorted(RESERVED_IN_REQUESTS))), TOKEN)
).fullmatch
_REFUSED_METHODS: Final = (b"CONNECT", b"TRACE")
_USUAL_METHODS: Final = frozenset((b"GET", b"HEAD", b"POST"))


@lru_cache(maxsize=256)
def _marks_of(names: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return tuple([mark_of(name) for name in names])


@lru_cache(maxsize=256)
def _are_names(names: tuple[bytes, ...]) -> bool:
    return all(map(is_token, names))


def own_request_head(
    method: bytes,
    url: HttpUrl,
    fields: tuple[tuple[bytes, bytes], ...],
    body: bytes | None,
    *,
    target: bytes = b"",
    authority: bytes = b"",
    lines: bytes = b"",
    without: tuple[bytes, ...] = (),
) -> RequestHead:
    """Return the head of a request with *body*; raises ``ValueError`` for what may not be sent.

    *lines* are fields as lines, each with its CRLF, that stand before *fields*, but for those *without* which they go, by
    names in lower case; *target* is asked for, and *authority* asked as, in place of those of *url*.
    """
    if method not in _USUAL_METHODS and (not _is_method(method) or method in _REFUSED_METHODS):
        raise ValueError(f"{method!r} is no method to ask by")
    if target and not _is_target(target):
        raise ValueError(f"{target!r} is no target in origin form")
    if authority and not is_authority(authority):
        raise ValueError(f"{authority!r} is no host to ask as")
    if without:
        lines = without_fields(lines, _marks_of(without))
    forward = lines + b"".join([b"%b: %b\r\n" % (name, value.strip(b" \t")) for name, value in fields])
    # All lines at once, and that none is two, costs a fifth of a look at each.
    is_sound = _are_lines(forward) and forward.count(b"\n") == lines.count(b"\n") + len(fields)
    is_sound = is_sound and (not lines or lines.endswith(b"\n"))
    if not (is_sound and _are_names(tuple([name for name, _ in fields]))):
        for name, value in fields:
            check_field(name, value.strip(b" \t"), RESERVED_IN_REQUESTS)
        raise ValueError("the lines to send are no fields, or the proxy's own")
    head = RequestHead()
    head.method = method
    head.target = target or url.target
    head.path = head.target.partition(b"?")[0]
    head.authority = authority or url.authority
    head.forward = forward
    if len(head.forward) + len(head.target) > MAX_OWN_HEAD:
        raise ValueError("the fields to send are too large")
    if body or (body is not None and method not in (b"GET", b"HEAD", b"OPTIONS", b"DELETE")):
        head.content_length = len(body)
        head.has_body = bool(body)
    return head
