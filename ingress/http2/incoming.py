"""The incoming side of a connection: what the peer may send of bodies (RFC 9113 section 5.2).

The connection has it, and its streams ask by it: there is credit for each stream, and for all of them together.  A server
gives credit back for what was taken, so that who takes nothing stops the client.  A client gives back all that
came, whoever takes it and when: its streams belong to strangers, who must not stop one another.
"""

from typing import Final

from ingress.http2.frames import USUAL_WINDOW, window_update
from ingress.http2.outgoing import Outgoing

STREAM_WINDOW: Final = 256 * 1024
"""What a peer may send on one stream before any of it is taken."""
CONNECTION_WINDOW: Final = 1024 * 1024
"""The same for all streams together."""


class Incoming:
    """The peer's credit on one connection, which it is told of by *outgoing*.

    *first* is what it may send on a new stream, and *ahead* on one that is being taken.  With *least*, the credit of the
    connection is made whole again as soon as there is less of it, and only then.
    """

    __slots__ = ("_outgoing", "ahead", "credit", "first", "least", "owed")

    def __init__(
        self, outgoing: Outgoing, first: int = STREAM_WINDOW, ahead: int = STREAM_WINDOW, least: int = 0
    ) -> None:
        self._outgoing = outgoing
        self.first = first
        self.ahead = ahead
        self.least = least
        self.credit = USUAL_WINDOW
        """Bytes that the peer may send on all streams together."""
        self.owed = 0
        """Bytes that were taken, and for which there is no new credit yet."""

    def __repr__(self) -> str:
        return f"<Incoming: credit {self.credit}, {self.owed} owed>"

    @property
    def is_used_up(self) -> bool:
        """Whether the peer may send nothing of any body, for all that it sent so far is still held."""
        return self.credit <= 0

    def give_back(self, count: int) -> None:
        """Return credit for *count* bytes that were taken, or dropped."""
        if self.least:
            return
        self.owed += count
        if self.owed >= self.credit:
            # Half of what is not held: streams that nobody takes anything of leave the others the rest.
            self.grant(self.owed)
            self.owed = 0

    def grant(self, count: int) -> None:
        """Let the peer send *count* bytes more."""
        self.credit += count
        self._outgoing.write(window_update(0, count))
