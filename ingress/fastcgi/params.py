"""What a program is told of a request, as the stream PARAMS of FastCGI.

Fields become ``HTTP_...`` as RFC 3875 section 4.1.18 and nginx have it: in upper case, with ``_`` for ``-``.  One that a program could take for another one is not
told: names with other signs than letters, digits and hyphens (PHP reads a dot as an underscore), those with underscores where the same name
with hyphens came, too, and ``Proxy``, which would become the ``HTTP_PROXY`` that libraries go by ("httpoxy").
"""

import re
from typing import Final

from ingress.fastcgi.records import PARAMS, end_of_stream, name_value, stream_records
from ingress.http.request_head import RequestHead
from ingress.model.cgi import CgiRequest

_match_name: Final = re.compile(rb"[A-Za-z0-9_-]+").fullmatch
_NEVER: Final = frozenset((b"HTTP_PROXY",))


def params_records(head: RequestHead, cgi: CgiRequest, fields: bytes, content_length: int) -> bytes:
    """Return all of PARAMS for a request of *head*, whose *fields* are lines with their CRLF.

    *content_length* is the length of its body, negative without any.
    """
    said = dict(cgi.params)
    if content_length >= 0:
        said[b"CONTENT_LENGTH"] = b"%d" % content_length
    else:
        said[b"CONTENT_LENGTH"] = b""
    content = b"".join(
        [
            *[name_value(name, value) for name, value in said.items()],
            *[
                name_value(name, value)
                for name, value in field_params(head, fields).items()
                if name not in said
            ],
        ]
    )
    return stream_records(PARAMS, content) + end_of_stream(PARAMS)


def field_params(head: RequestHead, fields: bytes) -> dict[bytes, bytes]:
    """Return the fields of a request as params: those in *fields*, and what ``RequestHead`` has beside them.

    Those of the same name are one, with commas between their values, or semicolons where they are cookies (RFC 9110 section 5.3).
    """
    found: dict[bytes, bytes] = {b"HTTP_HOST": head.authority} if head.authority else {}
    if head.content_length >= 0:
        found[b"HTTP_CONTENT_LENGTH"] = b"%d" % head.content_length
    spelled: dict[bytes, bytes] = {}
    for line in fields.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if not colon or _match_name(name) is None:
            continue
        name = name.lower()
        param = b"HTTP_" + name.replace(b"-", b"_").upper()
        if param in _NEVER or param == b"HTTP_HOST" or param == b"HTTP_CONTENT_LENGTH":
            continue
        value = value.strip(b" \t")
        before = spelled.get(param)
        if before is None or (b"_" in before and b"_" not in name):
            # The spelling with hyphens is the one that means something to others.
            spelled[param] = name
            found[param] = value
        elif before == name:
            found[param] += (b"; " if name == b"cookie" else b", ") + value
    return found
