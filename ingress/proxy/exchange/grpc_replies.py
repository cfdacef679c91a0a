"""The proxy's own answers as gRPC clients read them: Trailers-Only, constant text.

A gRPC client takes its outcome from ``grpc-status`` and not from the status of HTTP, which is
200 for whatever it can read.  The codes are those that gRPC itself takes an HTTP status for
(its document "HTTP to gRPC Status Code Mapping"), with a few more statuses that say
something in gRPC's words.  Log and metrics keep the status of HTTP.
"""

from functools import lru_cache
from types import MappingProxyType
from typing import Final

from ingress.model.exchanges.causes import Cause
from ingress.model.exchanges.reply import Reply
from ingress.proxy.exchange.replies import BUSY, phrase_of, text_of

UNKNOWN: Final = 2
DEADLINE_EXCEEDED: Final = 4
PERMISSION_DENIED: Final = 7
RESOURCE_EXHAUSTED: Final = 8
UNIMPLEMENTED: Final = 12
INTERNAL: Final = 13
UNAVAILABLE: Final = 14
UNAUTHENTICATED: Final = 16

_CODES: Final = MappingProxyType(
    {
        400: INTERNAL,
        401: UNAUTHENTICATED,
        403: PERMISSION_DENIED,
        404: UNIMPLEMENTED,
        408: DEADLINE_EXCEEDED,
        413: RESOURCE_EXHAUSTED,
        414: RESOURCE_EXHAUSTED,
        429: UNAVAILABLE,
        431: RESOURCE_EXHAUSTED,
        500: INTERNAL,
        502: UNAVAILABLE,
        503: UNAVAILABLE,
        504: UNAVAILABLE,
    }
)
"""All others are UNKNOWN."""
_MESSAGES: Final = MappingProxyType(
    {
        Cause.LIMIT: "More was asked for than is allowed here. Please try again in a moment.",
        Cause.OVERLOAD: BUSY,
        Cause.AUTH: "",
        Cause.AUTH_FAILED: "",
        Cause.FILTER: "",
    }
)
"""Of failures that are not what their status stands for where nobody but the proxy itself says it; empty for its phrase alone."""


def code_of(status: int, was_sent: bool) -> int:
    """Return the ``grpc-status`` for the HTTP *status* of an answer of ours.

    *was_sent* says that upstream has the request: what it took too long for may be done all the
    same, and UNAVAILABLE would invite clients to send it again.
    """
    if status == 504 and was_sent:
        return DEADLINE_EXCEEDED
    return _CODES.get(status, UNKNOWN)


@lru_cache(maxsize=256)
def trailers_only(status: int, was_sent: bool, cause: Cause | None = None) -> Reply:
    """Return the reply that says *status* to a gRPC client; *cause* is whose failure that is, where it is known to be one."""
    code = b"%d" % code_of(status, was_sent)
    message = (text_of(status) if cause is None else _MESSAGES.get(cause, text_of(status))) or phrase_of(
        status
    )
    return Reply(
        200,
        (
            (b"Content-Type", b"application/grpc"),
            (b"grpc-status", code),
            (b"grpc-message", _percent_encoded(message)),
        ),
    )


def _percent_encoded(message: str) -> bytes:
    """Encode a ``grpc-message``: everything but visible ASCII and spaces, and the percent sign itself."""
    return b"".join(
        bytes((octet,)) if 0x20 <= octet <= 0x7E and octet != 0x25 else b"%%%02X" % octet
        for octet in message.encode()
    )
