"""The reply: an answer of our own, in place of one of an endpoint."""

from collections.abc import Iterable

from attrs import field

from ingress.model.frozen import frozen


def _pairs(given: Iterable[Iterable[bytes]]) -> tuple[tuple[bytes, ...], ...]:
    return tuple(map(tuple, given))


@frozen
class Reply:
    """An answer of our own: status, header fields and a small body.

    ``Content-Length``, ``Date`` and whatever frames the answer come from the proxy and are not among *fields*.
    """

    status: int
    """200 to 599."""
    fields: tuple[tuple[bytes, bytes], ...] = field(default=(), converter=_pairs)
    """Names and values, each checked by whoever made it: without line ends, and without space around.

    Filters of others may give lists."""
    body: bytes = b""
    """Left out of the answer to HEAD."""
    reason: str = field(default="", eq=False)
    """Why it is an error, for the record and whoever looks at it; the client gets nothing of it."""
