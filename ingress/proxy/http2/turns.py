"""How much a session reads at once, and when it reads nothing.

What comes in one read may be thousands of frames, each a request, and everybody else would wait
until all are answered.  So a session takes a handful of frames, and waits for its next turn with the rest.

A client that takes nothing of what it gets is read no further, either.  The bodies of answers wait with their streams
and stop their endpoints, but heads and acknowledgements wait for nothing: a client that asks on would have us keep
any number of them.

    reading ──more came than one turn takes──▶ reads later ──next turn──▶ reading
       └──the client takes nothing────────────────▶│   └──only once the client has taken something
"""

from abc import ABC, abstractmethod

from ingress.proxy.containing import contained
from ingress.proxy.sweep import Sweep
from ingress.proxy.transports import Transport


class TurnTaking(ABC):
    """The part of a session that decides when it reads; *has_failed* and *has_more* are its connection's."""

    transport: Transport
    sweep: Sweep
    has_failed: bool
    has_more: bool
    reads_later = False
    """Whether nothing is read for now, which is no fault of the peer's."""

    @abstractmethod
    def dataReceived(self, received: bytes) -> None:
        """Read on, with what has come; calls ``read_later`` where that says so."""

    @abstractmethod
    def raised(self) -> None:
        """A bug was met."""

    @property
    def waits_to_send(self) -> bool:
        """Whether nothing is read before the peer has taken something; who says so calls ``read_on`` then."""
        return False

    def read_later(self) -> None:
        """Read nothing until the next turn, or until the peer has taken something."""
        if not self.reads_later:
            self.reads_later = True
            self.transport.pauseProducing()
        if not self.waits_to_send:
            self.sweep.soon(self.read_on)

    @contained
    def read_on(self) -> None:
        """Go on reading, if there is nothing against it."""
        if self.reads_later and not self.waits_to_send and not self.has_failed:
            self.reads_later = False
            self.dataReceived(b"")
            if not self.reads_later:
                self.transport.resumeProducing()
