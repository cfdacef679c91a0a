"""How much a session reads at once, and when it reads nothing.

What comes in one read may be thousands of frames, each a request, and everybody else would wait
until all are answered; so a session takes a handful, and then its turn comes again like anyone's.  A peer that takes
nothing of what it gets is read no further, either: what streams send waits with them, but the heads of
answers do not, and each that is asked for would be kept.
"""

from abc import ABC, abstractmethod

from ingress.proxy.containing import contained
from ingress.proxy.sweep import Sweep
from ingress.proxy.transports import Transport


class TurnTaking(ABC):
    """A session, as far as it reads; it is a connection of ``ingress.http2``, too."""

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
