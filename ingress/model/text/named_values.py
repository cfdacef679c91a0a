"""The value of one name out of a text that has many: of a cookie, or of a parameter of the query.

Whoever writes such a text is a stranger: a name may come twice, lack its value, or be escaped.  The first
one counts, nothing is decoded, and what is not there is empty.  Cookies of one name in upper and lower case are different ones
to browsers and to applications, and the same one to nginx's ``$cookie_NAME``.

A text may have thirty thousand names, and one request may be asked about hundreds of them: a snippet has up to 512 directives.  So a
text is taken apart once, the last one is remembered, and what is done with each of its parts is done in C.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import repeat
from operator import itemgetter
from typing import Final

_NAME: Final = itemgetter(0)
_VALUE: Final = itemgetter(2)


def cookie_value(field: bytes, name: bytes) -> bytes:
    """Return the cookie *name* of a ``Cookie`` field (RFC 6265 section 4.2); names are compared as they are."""
    return _cookies(field).get(name, b"") if field else b""


def cookie_variable(field: bytes, name: bytes) -> bytes:
    """Return what ``$cookie_NAME`` is: the cookie *name* as it is written, else the first one in upper or lower case.

    To nginx it is the first one of these in any case.  The very name comes before here, so that nobody has this say another
    cookie than the application goes by.
    """
    if not field:
        return b""
    value = _cookies(field).get(name)
    return _folded_cookies(field).get(name.lower(), b"") if value is None else value


def query_value(target: bytes, name: bytes) -> bytes:
    """Return the parameter *name* of the query of *target*; as in nginx, in upper or lower case."""
    query = target.partition(b"?")[2]
    return _parameters(query).get(name.lower(), b"") if query else b""


@lru_cache(maxsize=1)
def _cookies(field: bytes) -> dict[bytes, bytes]:
    return {name: value for name, _, value in _pairs(field.split(b";"))}


@lru_cache(maxsize=1)
def _folded_cookies(field: bytes) -> dict[bytes, bytes]:
    pairs = _pairs(field.split(b";"))
    return dict(zip(map(bytes.lower, map(_NAME, pairs)), map(_VALUE, pairs), strict=True))


@lru_cache(maxsize=1)
def _parameters(query: bytes) -> dict[bytes, bytes]:
    return {name.lower(): value for name, _, value in _pairs(query.split(b"&"))}


def _pairs(parts: Iterable[bytes]) -> list[tuple[bytes, bytes, bytes]]:
    """Return name, sign and value of each of *parts*, the last one first: so the first one of a name is what stays of it."""
    stripped = map(bytes.strip, dict.fromkeys(parts))
    pairs = list(map(bytes.partition, stripped, repeat(b"=")))
    pairs.reverse()
    return pairs
