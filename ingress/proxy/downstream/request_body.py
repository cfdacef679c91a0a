"""The body of one request as it comes in: its payload, its end, and whether its sender is too slow.

Pure: the channel reads and knows the time, and acts on what is found here.
"""

from ingress.http.body import ChunkedDecoder, Decoder, LengthDecoder
from ingress.http.request_head import RequestHead
from ingress.model.serving.limits import Limits
from ingress.proxy.contract.limits import SPLICE_BYTES


class BodyPace:
    """How fast a body comes."""

    __slots__ = ("_limits", "_moved_at", "_since", "_taken")

    def __init__(self, now: float, limits: Limits) -> None:
        self._limits = limits
        self._moved_at = self._since = now
        self._taken = 0

    def moved(self, count: int, now: float) -> None:
        """Note that *count* bytes of the body went on, by the kernel; or that some were fed, with 0."""
        self._taken += count
        self._moved_at = now

    def rests_for(self, now: float) -> float:
        """Return for how many seconds nothing has come."""
        return now - self._moved_at

    def is_overdue(self, now: float, coming: int = 0) -> bool:
        """Whether its sender, which only the deadlines looks at meanwhile, lets others wait for too long."""
        return now - self._moved_at >= self._limits.body_seconds or self.is_too_slow(now, coming)

    def is_too_slow(self, now: float, coming: int = 0) -> bool:
        """Whether the sender stayed below the least rate for a whole window.

        A gap alone would let a sender live on one byte each time the gap is nearly over.
        *coming* counts what may have come and is in no hand yet: part of a frame.
        """
        seconds = now - self._since
        if seconds < self._limits.body_seconds:
            return False
        if self._taken + coming < self._limits.body_bytes_per_second * self._limits.body_seconds:
            return True
        self._since = now
        self._taken = 0
        return False

    def excuse(self, seconds: float) -> None:
        """Leave so much time out: nothing was taken of what the sender had sent."""
        self._since += seconds
        self._moved_at += seconds

    def restart_window(self, now: float) -> None:
        """Measure from now on: what was until now is upstream's to answer for."""
        self._moved_at = self._since = now
        self._taken = 0


class RequestBody(BodyPace):
    """Takes the framing of HTTP/1.1 off; once *finished*, *rest* is what came behind the body."""

    __slots__ = ("_decoder",)

    def __init__(self, head: RequestHead, now: float, limits: Limits) -> None:
        self._decoder: Decoder = ChunkedDecoder() if head.chunked else LengthDecoder(head.content_length)
        super().__init__(now, limits)

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

    @property
    def has_more(self) -> bool:
        """Whether more has come than is read in one go: ``feed`` is to be called again, be it with nothing."""
        return self._decoder.has_more

    def keep(self, received: bytes) -> None:
        """Keep what came for the next call of ``feed``, of a body that ``has_more``."""
        if isinstance(self._decoder, ChunkedDecoder):
            self._taken += len(received)
            self._decoder.keep(received)

    def feed(self, received: bytes) -> bytes:
        """Return the payload in *received*; raises ``BodyError`` for framing that cannot be read."""
        self._taken += len(received)
        pieces = self._decoder.feed(received)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)
