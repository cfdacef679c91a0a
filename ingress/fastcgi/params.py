"""What a program is told of a request, as the stream PARAMS of FastCGI.

Fields become ``HTTP_...`` as RFC 3875 section 4.1.18 and nginx have it: in upper case, with ``_`` for ``-``.  One that a program could
take for another one is not told: names with other signs than letters, digits and hyphens (PHP reads a dot as an underscore), those
with underscores where the same name with hyphens came, too, and ``Proxy``, which would become the ``HTTP_PROXY`` that libraries go by
("httpoxy").
"""

import re
from typing import Final

from ingress.fastcgi.records import PARAMS, end_of_stream, name_values, stream_records
from ingress.http.grammar import MEMO_NAME, MEMO_NAMES
from ingress.http.request_head import RequestHead
from ingress.model.requests.cgi import CgiRequest

_match_name: Final = re.compile(rb"[A-Za-z0-9_-]+").fullmatch
_NOT_TOLD: Final = frozenset((b"HTTP_PROXY", b"HTTP_HOST", b"HTTP_CONTENT_LENGTH"))
"""The last two are told by what the head says itself."""
_known_params: Final[dict[bytes, bytes]] = {}
"""Names of fields that were met before, as they were written, and the param of each; empty for none."""


def params_records(head: RequestHead, cgi: CgiRequest, fields: bytes, content_length: int) -> bytes:
    """Return all of PARAMS for a request of *head*, whose *fields* are lines with their CRLF.

    *content_length* is the length of its body, negative without any.
    """
    told = field_params(head, fields)
    told.update(cgi.params)
    told[b"CONTENT_LENGTH"] = b"%d" % content_length if content_length >= 0 else b""
    return stream_records(PARAMS, name_values(told)) + end_of_stream(PARAMS)


def field_params(head: RequestHead, fields: bytes) -> dict[bytes, bytes]:
    """Return the fields of a request as params: those in *fields*, and what ``RequestHead`` has beside them.

    Those of the same name are one, with commas between their values, or semicolons where they are cookies (RFC 9110 section 5.3).
    """
    found: dict[bytes, bytes] = {b"HTTP_HOST": head.authority} if head.authority else {}
    if head.content_length >= 0:
        found[b"HTTP_CONTENT_LENGTH"] = b"%d" % head.content_length
    spelled: dict[bytes, bytes] = {}
    for line in fields.split(b"\r\n"):
        name, _, value = line.partition(b":")
        param = _known_params.get(name)
        if param is None:
            param = _param_of(name)
        if not param:
            continue
        value = value.strip(b" \t")
        before = spelled.get(param)
        if before is None:
            spelled[param] = name
            found[param] = value
        elif (b"_" in before) == (b"_" in name) and before.lower() == name.lower():
            found[param] += (b"; " if param == b"HTTP_COOKIE" else b", ") + value
        elif b"_" in before and b"_" not in name:
            # The spelling with hyphens is the one that means something to others.
            spelled[param] = name
            found[param] = value
    return found


def _param_of(name: bytes) -> bytes:
    """Return the param of the field called *name*, as it is written; empty where it is not told."""
    param = b""
    if _match_name(name) is not None:
        param = b"HTTP_" + name.replace(b"-", b"_").upper()
        if param in _NOT_TOLD:
            param = b""
    if len(name) <= MEMO_NAME:
        if len(_known_params) >= MEMO_NAMES:
            _known_params.clear()
        _known_params[name] = param
    return param
