"""The layer of TLS on Twisted's transports, which leaves nothing behind.

Twisted's own keeps its producer past its end, which knows the layer as its transport, and an error with the frames that it
was raised in, one of which has that error.  Such cycles live until the garbage collector finds them, which
for long-lived objects it seldom looks for.  And it raises where a peer says goodbye amid the handshake.
"""

from typing import Any, Final

from OpenSSL import SSL
from twisted.internet.protocol import connectionDone
from twisted.protocols.tls import TLSMemoryBIOProtocol
from twisted.python.failure import Failure

from ingress.tls.handshake_feed import end_of_record

READ_BYTES: Final = 4 * 1024
"""What is read at once of a connection behind the record that has begun, all of which its turn decrypts: 150 updates of keys in records of
their own, each of which takes 10 to 25 microseconds, ..."""
_HEADER: Final = 5


class TLSLayer(TLSMemoryBIOProtocol):
    """The TLS of one connection, of either side."""

    _missing = 0
    """Octets that are still to come of the record that has begun, ..."""
    _begun = b""
    """... or what has come of its header, if that is not all."""

    def makeConnection(self, transport: Any) -> None:
        # ... and not the 64 KiB that Twisted reads.
        transport.bufferSize = READ_BYTES
        super().makeConnection(transport)

    def dataReceived(self, bytes: bytes) -> None:
        # What is moved in bulk comes in records of 16 KiB, each of which takes one look at its header, and as little time as an update.
        transport: Any = self.transport
        transport.bufferSize = READ_BYTES + self._rest_of_record(bytes)
        super().dataReceived(bytes)

    def _rest_of_record(self, octets: bytes) -> int:
        """Return how many octets are still to come of the record that *octets*, which have come next, end in; 0 where its header is not here."""
        at = self._missing
        if self._begun:
            octets = self._begun + octets
            self._begun = b""
        size = len(octets)
        while at + _HEADER <= size:
            at = end_of_record(octets, at)
        if at < size:
            self._begun = octets[at:]
            at = size
        self._missing = at - size
        return self._missing

    def _tlsShutdownFinished(self, reason: Failure | None) -> None:
        if reason is not None:
            reason.cleanFailure()
            if reason.value is not None and not reason.value.args:
                # A goodbye amid the handshake has no words, which Twisted would look for: it is an end that comes too early.
                reason = Failure(SSL.SysCallError(-1, "Unexpected EOF"))
        super()._tlsShutdownFinished(reason)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        try:
            super().connectionLost(reason)
        finally:
            self._producer = None
