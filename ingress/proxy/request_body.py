"""The body of one request as it comes in: its payload, its end, and whether its sender is too slow.

Pure: the channel reads and knows the time, and acts on what is found here.
"""

from ingress.http.body import ChunkedDecoder, Decoder, LengthDecoder
from ingress.http.request_head import RequestHead
from ingress.proxy.limits import BODY_RATE_BYTES, BODY_RATE_SECONDS, SPLICE_BYTES


class RequestBody:
    """Takes the framing off; once *finished*, *rest* is what came behind the body."""

    __slots__ = ("_decoder", "_since", "_taken")

    def __init__(self, head: RequestHead, now: float) -> None:
        self._decoder: Decoder = ChunkedDecoder() if head.chunked else LengthDecoder(head.content_length)
        self._since = now
        self._taken = 0

    @property
    def finished(self) -> bool:
        """Whether the body is whole."""
        return self._decoder.finished

    @property
    def rest(self) -> bytes:
        """What came behind a body that is whole."""
        return self._decoder.rest

    @property
    def left_to_splice(self) -> int:
        """Bytes that are still to come, if their number is known and worth the kernel's trouble; else 0."""
        decoder = self._decoder
        if isinstance(decoder, LengthDecoder) and decoder.left >= SPLICE_BYTES:
            return decoder.left
        return 0

    def feed(self, received: bytes) -> bytes:
        """Return the payload in *received*; raises ``BodyError`` for framing that cannot be read."""
        self._taken += len(received)
        pieces = self._decoder.feed(received)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def moved(self, count: int) -> None:
        """Note that the kernel moved *count* bytes of the body on."""
        self._taken += count

    def is_too_slow(self, now: float) -> bool:
        """Whether the sender stayed below the least rate for a whole window.

        A gap alone would let a sender live on one byte each time the gap is nearly over.
        """
        if now - self._since < BODY_RATE_SECONDS:
            return False
        if self._taken < BODY_RATE_BYTES:
            return True
        self.restart_window(now)
        return False

    def restart_window(self, now: float) -> None:
        """Measure from now on: a window was good, or was upstream's to answer for."""
        self._since = now
        self._taken = 0
