"""Redirects: the answer that sends a visitor elsewhere, and what is said where there is no such place."""

from typing import Final

from ingress.filters import Reply

MAX_LOCATION: Final = 16 * 1024
"""Bytes; what would be more, since a visitor sent so much of it, is answered with 414."""

_CONTENT: Final = (b"Content-Type", b"text/plain; charset=utf-8")
TOO_LONG: Final = Reply(
    414, (_CONTENT,), b"414 URI Too Long\n", "the target of the redirect would be too long"
)
NO_HOST: Final = Reply(
    400, (_CONTENT,), b"The request names no host.\n", "the request names no host to redirect to"
)


def redirect(status: int, location: bytes) -> Reply:
    """Return what sends a visitor to *location*."""
    return Reply(status, ((b"Location", location), _CONTENT), b"%d %b\n" % (status, location))
