"""The answers of one connection that speaks HTTP/1.1, as bytes: their heads, framing, and whether another request may follow.

Pure: the channel says when, and writes what it gets.  What is answered is decided by the exchange.
"""

from ingress.http.answer import Framing, downstream_head, frame, framing_of
from ingress.http.response_head import ResponseHead


class AnswerWriter:
    """Renders one answer after the other; ``begin`` or ``interim`` first, then ``more`` until it has ended."""

    __slots__ = ("_framing", "keep_alive", "minor")

    def __init__(self) -> None:
        self.minor = 1
        """Of the version that the request came in: HTTP/1.0 or HTTP/1.1."""
        self.keep_alive = True
        """Whether another request may follow this one."""
        self._framing = Framing.NONE

    def __repr__(self) -> str:
        return f"<AnswerWriter {self._framing.value}{', keep-alive' if self.keep_alive else ''}>"

    @property
    def has_length(self) -> bool:
        """Whether the body of the answer goes as it is, and its length was told."""
        return self._framing is Framing.LENGTH

    @property
    def ends_by_closing(self) -> bool:
        """Whether the end of the connection is the end of the body, so that a regular one says that it is whole."""
        return self._framing is Framing.UNTIL_CLOSE

    def begin(
        self, head: ResponseHead, method: bytes, body: bytes, ended: bool, trailers: list[bytes], date: bytes
    ) -> bytes:
        """Return the final head, which answers a request with *method*, with what there is of the body."""
        if ended and head.is_complete and self.keep_alive and self.minor and method != b"HEAD":
            # Nearly every answer: nothing is to be added, and its body is here.
            return b"\r\n".join((head.start, body))
        if head.content_length >= 0 and method != b"HEAD" and head.has_body:
            # What ``framing_of`` would find mostly.
            framing = Framing.LENGTH
        else:
            framing = framing_of(head, method, self.minor)
            if framing is Framing.UNTIL_CLOSE:
                self.keep_alive = False
        self._framing = framing
        answer = downstream_head(head, framing, self.minor, self.keep_alive, date)
        if framing is Framing.LENGTH:
            return answer + body
        return answer + frame(framing, body, ended, trailers)

    def more(self, piece: bytes, ended: bool, trailers: list[bytes]) -> bytes:
        """Return more of the body, framed; perhaps empty."""
        return frame(self._framing, piece, ended, trailers)

    def interim(self, head: ResponseHead) -> bytes:
        """Return a 1xx head; HTTP/1.0 has none (RFC 9110 section 15.2), and gets nothing."""
        return head.start + b"\r\n" if self.minor else b""

    def switch(self, head: ResponseHead, first: bytes) -> bytes:
        """Return the 101 head and the first bytes of what follows it."""
        return b"%bConnection: Upgrade\r\nUpgrade: %b\r\n\r\n%b" % (head.start, head.upgrade, first)
