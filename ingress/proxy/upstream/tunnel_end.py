"""How a tunnel ends of which one side has ended its own: as long as something of the last words is taken, it goes on."""

from ingress.proxy.contract.transport import Transport


class TunnelEnd:
    """Of one tunnel, whose connections are given to each call: a part that knew them from the beginning would be a cycle."""

    __slots__ = ("has_begun", "taker", "untaken")

    def __init__(self) -> None:
        self.has_begun = False
        """Whether one side of the tunnel has ended."""
        self.taker: Transport | None = None
        """Downstream's, while that may still say something in a tunnel of which upstream has ended its side."""
        self.untaken = 0
        """Bytes that were still to be taken at the last look."""

    def __repr__(self) -> str:
        return f"<TunnelEnd{', begun' if self.has_begun else ''}, {self.untaken} bytes untaken>"

    def is_taken(self, upstream: Transport) -> bool:
        """Whether something was taken since the last look, be it the last; at first that is not known."""
        taker, before = self.taker, self.untaken
        self.untaken = upstream.untaken + (0 if taker is None else taker.untaken)
        return self.untaken != before

    def has_rest(self, upstream: Transport) -> bool:
        """Whether something is still to be taken, from which on it is looked whether it is."""
        self.is_taken(upstream)
        return self.untaken > 0

    def begins(self, upstream: Transport, downstream: Transport | None) -> bool:
        """Look whether a side has ended behind what the other has still to take, so that nobody has read it."""
        if upstream.has_left or (downstream is not None and downstream.has_left):
            self.has_begun, self.taker = True, downstream if upstream.has_left else None
            self.is_taken(upstream)
        return self.has_begun
