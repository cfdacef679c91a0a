"""What was received and waits for its turn: request heads, found one by one.

However the bytes are split, the same heads come out and the same refusals, and
a peer is refused as soon as no further byte could make its head right.
"""

from ingress.http.grammar import MAX_HEAD, MAX_REQUEST_LINE, has_bare_line_feed
from ingress.http.request_head import HeadError


class HeadBuffer(bytearray):
    """Bytes of requests that were not begun yet; the last one may be incomplete."""

    __slots__ = ("_searched", "_skipped")

    def __init__(self) -> None:
        self._searched = 0
        """How much is known to hold neither the end of a head nor a bare LF."""
        self._skipped = False
        """Whether the one empty line before a request was met."""

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self._searched = 0
        self._skipped = False

    def take(self) -> bytes:
        """Take everything out: what follows a head need not be another head."""
        taken = bytes(self)
        self.clear()
        return taken

    def next_head(self) -> bytes | None:
        """Take out the next head, without the empty line that ends it; None while it is incomplete.

        Raises ``HeadError`` with 400, 414 or 431 for what cannot become a head within bounds.
        """
        while self.startswith(b"\r\n"):
            # RFC 9112 section 2.2: an empty line before a request is ignored; one will do.
            if self._skipped:
                raise HeadError(400, "empty lines instead of a request")
            self._skipped = True
            self._searched = 0
            del self[:2]
        end = self.find(b"\r\n\r\n", self._searched)
        if 0 <= end <= MAX_HEAD:
            head = bytes(self[:end])
            del self[: end + 4]
            self._searched = 0
            self._skipped = False
            return head
        # The last bytes may be part of a line ending, which does not count.
        if len(self) > MAX_REQUEST_LINE + 1 and self.find(b"\r\n", 0, MAX_REQUEST_LINE + 2) < 0:
            raise HeadError(414, "request line too long")
        if len(self) > MAX_HEAD + 3:
            raise HeadError(431, "head too large")
        if has_bare_line_feed(self, self._searched):
            raise HeadError(400, "bare LF in the head")
        self._searched = max(0, len(self) - 3)
        return None
