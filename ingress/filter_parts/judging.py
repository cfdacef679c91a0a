"""The filter of a verdict: what only says whether a request passes, and is asked nothing else.

Most of what annotations ask for judges requests by their facts alone, keeps nothing, and needs no service.  Its
spec has the verdict as a pure function, and this filter calls it.
"""

from collections.abc import Callable
from typing import Final

from ingress.filters import Facts, Filter, Reply

# As in RFC 9110 section 15; what is not here is answered with its number alone.
_PHRASES: Final = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    411: "Length Required",
    413: "Content Too Large",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}


def status_reply(status: int, *fields: tuple[bytes, bytes], reason: str = "") -> Reply:
    """Return the reply that says a *status* and nothing else, with further *fields*; *reason* is for the record."""
    body = f"{status} {_PHRASES.get(status, '')}".rstrip().encode("ascii") + b"\n"
    return Reply(status, ((b"Content-Type", b"text/plain; charset=utf-8"), *fields), body, reason)


def is_any_grpc(facts: Facts) -> bool:
    """Whether the client speaks gRPC, or gRPC-Web, and takes a page or a redirect for a failure that nobody knows."""
    return facts.field(b"content-type").lower().startswith(b"application/grpc")


class Judging(Filter):
    """Answers what *judge* has a reply for."""

    def __init__(
        self, judge: Callable[[Facts], Reply | None], schemes: frozenset[bytes] | None = None
    ) -> None:
        """Requests of other *schemes*, where there are some, are let pass by the verdict."""
        self._judge = judge
        self.asked_schemes = schemes

    def on_request(self, facts: Facts) -> Reply | None:
        """Give the verdict."""
        return self._judge(facts)
