"""Copies of requests: the filter of a mirror, wherever its copies go.

Nobody waits for what a mirror answers: one that hangs, refuses or answers nonsense changes nothing for the client.  A request
is copied with its body, if that is not too long, and once all of it has passed.
"""

from collections.abc import Callable
from typing import Final

from ingress.filters import BodyFlow, BodyStage, Facts, Filter, Services, SubRequest

SECONDS: Final = 10.0
"""How long a mirror may take."""
MOST_BYTES: Final = 64 * 1024
"""Of a request body that is copied; a request with a longer one is not mirrored."""

Copy = Callable[[Facts, bytes], SubRequest]
"""Makes a copy of a request with a body; raises ``ValueError`` for what cannot be sent."""


class Mirroring(Filter):
    """Tells the mirror of each request once, when all is known of it that is copied."""

    watches_bodies = True

    def __init__(
        self,
        copy: Copy,
        services: Services,
        *,
        sends_body: bool = True,
        is_meant: Callable[[], bool] | None = None,
    ) -> None:
        """Without *sends_body*, requests are copied at once, whatever their bodies are; *is_meant* draws those that are copied, None for all."""
        self._copy = copy
        self._services = services
        self._sends_body = sends_body
        self._is_meant = is_meant

    def on_request(self, facts: Facts) -> None:
        """Copy a request without body, or without its body."""
        if self._is_meant is not None and not self._is_meant():
            facts.notes[self] = True
        elif not self._sends_body or (facts.is_body_whole and not facts.body):
            facts.notes[self] = True
            self.tell(facts, b"")

    def on_request_body(self, facts: Facts, flow: BodyFlow) -> BodyStage | None:
        """Collect the body, unless the request is done with."""
        return None if self in facts.notes else _Collecting(self, facts)

    def tell(self, facts: Facts, body: bytes) -> None:
        """Send a copy; whatever cannot be sent is counted, and not sent."""
        try:
            self._services.tell(self._copy(facts, body))
        except ValueError:
            self._services.count("not-sent")

    def too_long(self) -> None:
        """Note a request that is not copied."""
        self._services.count("too-long")


class _Collecting:
    """A copy of one body, as long as it may become one."""

    def __init__(self, mirror: Mirroring, facts: Facts) -> None:
        self._mirror = mirror
        self._facts = facts
        # Not in pieces: those of an octet each would take forty times as much.
        self._copy = bytearray()
        self._size = 0

    def feed(self, piece: bytes) -> bytes:
        """Copy a piece."""
        before = self._size
        self._size += len(piece)
        if self._size <= MOST_BYTES:
            self._copy += piece
        elif before <= MOST_BYTES:
            self._copy = bytearray()
            self._mirror.too_long()
        return piece

    def finish(self) -> bytes:
        """Send the copy: the body is whole."""
        if self._size <= MOST_BYTES:
            self._mirror.tell(self._facts, bytes(self._copy))
        return b""
