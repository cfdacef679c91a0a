"""Reading what was sent in chunks by as much as is there, and not chunk by chunk.

An API server sends each event of a watch as a chunk of its own (RFC 9112, section 7.1).  The
standard library gives out one chunk for each call, through half a dozen layers; in a burst of events that
costs as much as decoding them.  Here, one call gives out all that one system call brought.

Only the common case is read here: whole size lines, and content.  The end, trailers, a size line that
is cut in two, and everything strange are left to the standard library, whose state is kept
as it keeps it.
"""

import http.client
import io
import socket

from ingress.cluster.api.read_deadline import DeadlineReader, ReadDeadline

_BUFFER_BYTES = 64 * 1024
_LINE_END = b"\r\n"


class GatheringResponse(http.client.HTTPResponse):
    """An answer whose ``read1`` gathers the content of many chunks, read as *deadline* allows."""

    deadline = ReadDeadline()

    def __init__(
        self, sock: socket.socket, debuglevel: int = 0, method: str | None = None, url: str | None = None
    ) -> None:
        super().__init__(sock, debuglevel, method, url)
        # In place of a reader of 8 KiB, which has read nothing so far.
        self.fp.close()
        self.fp = io.BufferedReader(DeadlineReader(sock, self.deadline), _BUFFER_BYTES)

    def read1(self, n: int = -1) -> bytes:
        """Return the content that is there, *n* bytes at most; wait only if there is none.  Empty at the end."""
        if not self.chunked or not self.fp:
            return super().read1(n)
        there = self.fp.peek()
        content, taken, left = contents_of(there if n < 0 else there[:n], self.chunk_left)
        if not content:
            return super().read1(n)
        self.fp.read(taken)
        self.chunk_left = left
        return content


def contents_of(there: bytes, left: int | None) -> tuple[bytes, int, int | None]:
    """Return the content at the beginning of *there*, how much of *there* it took, and what is *left* then.

    *left* is how much of a chunk is still to come: None where a size line is next, 0 where the line end
    of a chunk is.
    """
    parts: list[bytes] = []
    at = 0
    while True:
        if left:
            part = there[at : at + left]
            parts.append(part)
            at += len(part)
            left -= len(part)
            if left:
                break
        start = at
        if left is not None:
            if there[at : at + 2] != _LINE_END:
                break
            start += 2
        end = there.find(_LINE_END, start)
        try:
            size = int(there[start:end], 16) if end >= 0 else 0
        except ValueError:
            # An extension, or no size at all.
            break
        if size <= 0:
            break
        at, left = end + 2, size
    return b"".join(parts), at, left
