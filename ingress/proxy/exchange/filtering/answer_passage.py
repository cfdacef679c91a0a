"""The body of an answer on its way through stages.

Stages are fed in slices, so that none has more to do in one call than it can bear, and nothing while one of them has the
body wait: what has come by then waits here, and with it the end.  That is at most what the sender had on the way, for it
is made to wait, too.
"""

from collections.abc import Callable
from typing import Final

from ingress.proxy.exchange.filtering.body_stages import BodyStages, StageFailed

SLICE: Final = 16 * 1024
"""Bytes that stages are fed at once."""


class AnswerPassage:
    """The way of one body."""

    def __init__(
        self,
        pause: Callable[[], None],
        resume: Callable[[], None],
        send: Callable[[bytes, bool, list[bytes]], None],
        failed: Callable[[StageFailed], None],
        contain: Callable[[Callable[[], None]], None],
    ) -> None:
        """*pause* and *resume* are for the sender; *send* takes what goes on, whether that is the end, and trailers.

        *contain* calls what nobody else would see raise.
        """
        self.stages = BodyStages(pause, self._resumed)
        self._resume = resume
        self._send = send
        self._failed = failed
        self._contain = contain
        self._waiting = b""
        self._at = 0
        """How much of that was fed."""
        self._has_ended = False
        self._trailers: list[bytes] = []
        self._is_feeding = False

    @property
    def holds(self) -> bool:
        """Whether the sender is to wait."""
        return self.stages.is_paused or self._at < len(self._waiting)

    def begin(self, body: bytes, ended: bool, trailers: list[bytes]) -> tuple[bytes, bool]:
        """Take the beginning of the body; return what goes on with the head, and whether that is all.  Raises ``StageFailed``."""
        self._waiting, self._has_ended, self._trailers = body, ended, trailers
        return self._feed()

    def take(self, piece: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Take more of it."""
        self._waiting = self._waiting[self._at :] + piece
        self._at = 0
        self._has_ended, self._trailers = ended, trailers
        if not self.stages.is_paused:
            self._go_on()

    def close(self) -> None:
        """The exchange is over: what waits is for nobody."""
        self._waiting, self._at, self._has_ended = b"", 0, False
        self.stages.close()

    def _resumed(self) -> None:
        """No stage has the body wait any more."""
        if not self._is_feeding:
            self._contain(self._proceed)

    def _proceed(self) -> None:
        self._go_on()
        if not self.holds:
            self._resume()

    def _go_on(self) -> None:
        try:
            changed, ended = self._feed()
        except StageFailed as failed:
            self._failed(failed)
            return
        if changed or ended:
            self._send(changed, ended, self._trailers)

    def _feed(self) -> tuple[bytes, bool]:
        """Feed the stages until one has the body wait; return what goes on, and whether that is the end of it."""
        stages, waiting = self.stages, self._waiting
        parts: list[bytes] = []
        self._is_feeding = True
        try:
            while self._at < len(waiting) and not stages.is_paused:
                begin = self._at
                self._at = begin + SLICE
                parts.append(stages.feed(waiting[begin : self._at]))
            ended = self._has_ended and self._at >= len(waiting) and not stages.is_paused
            if ended:
                parts.append(stages.finish())
        finally:
            self._is_feeding = False
        if self._at >= len(waiting):
            self._waiting, self._at = b"", 0
        return parts[0] if len(parts) == 1 else b"".join(parts), ended
