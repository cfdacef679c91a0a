"""The requests of one connection that speaks HTTP/1.1, as they come: each head is read once, and its host and path made normal.

Pure.  What can be read in two ways is refused, with what is known of it for the log.
"""

from ingress.http.head_buffer import HeadBuffer
from ingress.http.request_head import UNREADABLE, HeadError, RequestHead, parse_request_head
from ingress.routing.hosts import HostError, normal_host
from ingress.routing.paths import PathError, normal_path


class RefusedError(Exception):
    """A request that cannot be read in one way; answered with *status*."""

    def __init__(self, status: int, why: str, head: RequestHead = UNREADABLE) -> None:
        super().__init__(why)
        self.status = status
        self.head = head


class RequestReader:
    """Reads one request after the other; ``ahead`` is what has come and was not begun."""

    __slots__ = ("ahead", "count")

    def __init__(self) -> None:
        self.ahead = HeadBuffer()
        self.count = 0
        """How many requests were begun."""

    def __repr__(self) -> str:
        return f"<RequestReader of {self.count} requests, {len(self.ahead)} bytes ahead>"

    def next_block(self) -> bytes | None:
        """Take the next head out of what is ahead; None while it is incomplete, ``RefusedError`` if it is none."""
        try:
            return self.ahead.next_head()
        except HeadError as error:
            raise RefusedError(error.status, str(error)) from error

    def read(self, block: bytes) -> tuple[RequestHead, tuple[bytes, bytes]]:
        """Return the head in *block*, and host and path in their normal forms; raises ``RefusedError``."""
        self.count += 1
        head = UNREADABLE
        try:
            head = parse_request_head(block)
            destination = head.destination
            if destination is None:
                destination = head.destination = (
                    normal_host(head.authority)[0] if head.authority else b"",
                    normal_path(head.path) if head.path != b"*" else b"/",
                )
            return head, destination
        except HeadError as error:
            raise RefusedError(error.status, str(error)) from error
        except (HostError, PathError) as problem:
            raise RefusedError(400, str(problem), head) from problem
