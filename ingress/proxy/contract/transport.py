"""A connection, as both sides of an exchange see it: what they ask of its transport, and what they are told.

A transport belongs to a network (``ingress.proxy.transport``) and carries bytes; a ``Receiver`` is what it
carries them for, such as a channel or a connection to upstream.  Each knows the other by the Protocols here alone.  The epoll
set's transports are ``Transport`` themselves and call their receivers directly; for one of Twisted's, both are played by
``ingress.proxy.transport.twisted_protocol``.
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from mypy_extensions import mypyc_attr
from OpenSSL import SSL
from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.interfaces import IAddress
from twisted.python.failure import Failure

from ingress.model.frozen import frozen

REFUSED: Final = "connection refused"
TIMED_OUT: Final = "connect timed out"
"""The reason that becomes a 504; every other one becomes a 502."""


class Hearer(Protocol):
    """Whom bytes are for.

    What is told most often, which is a direct call of a receiver that inherits from this.
    """

    __slots__ = ()

    def dataReceived(self, octets: bytes, /) -> None:
        """*octets* have come, at least one."""


class Receiver(Hearer, Protocol):
    """What is told of a connection: bytes that came, its ends, and how full it is.

    The names are those of Twisted's ``IProtocol``, ``IHalfCloseableProtocol``, ``IHandshakeListener`` and
    ``IPushProducer``.  What a receiver raises ends its connection, and no other.
    """

    half_closes: bool
    """Whether it goes on when the peer alone has ended its side; may change while the connection lasts."""

    def makeConnection(self, transport: "Transport", /) -> None:
        """The connection is *transport* from now on; called once, before anything else."""

    def handshakeCompleted(self) -> None:
        """The handshake of a TLS connection that was accepted is over, and ``transport.tls`` knows how it went."""

    def readConnectionLost(self) -> None:
        """The peer has ended its side, of TLS by ``close_notify``; told only of a receiver that ``half_closes``."""

    def connectionLost(self, reason: Failure, /) -> None:
        """The connection is gone, in order only if *reason* is ``ConnectionDone``; nothing is told after this."""

    def pauseProducing(self) -> None:
        """Much waits to be sent.  Some transports say so again with each write."""

    def resumeProducing(self) -> None:
        """Little waits any more; not told once we have ended our side."""


class Borrower(Protocol):
    """A receiver that looks at what came where it lies, and copies what it keeps of it."""

    def memoryReceived(self, octets: memoryview, /) -> None:
        """As ``dataReceived``, of memory that is used again afterwards."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Nobody:
    """The receiver of a connection that is over: a transport that knew its own would be a cycle with it."""

    __slots__ = ()

    half_closes = False

    def makeConnection(self, transport: "Transport", /) -> None:
        """Never: it has ended."""

    def handshakeCompleted(self) -> None:
        """Of no interest."""

    def dataReceived(self, octets: bytes, /) -> None:
        """Of no interest."""

    def readConnectionLost(self) -> None:
        """Of no interest."""

    def connectionLost(self, reason: Failure, /) -> None:
        """Known."""

    def pauseProducing(self) -> None:
        """Nothing is sent."""

    def resumeProducing(self) -> None:
        """Nothing is sent."""


NOBODY: Final = Nobody()


class Delivery(Protocol):
    """Looks at one connection from now on, up to its end."""

    def took_nothing(self) -> bool:
        """Whether the peer has taken nothing since, up to the end; False where that is not known."""


class Speaker(Protocol):
    """Who sends bytes: what is asked most of a transport, which is a direct call of one that inherits from this."""

    __slots__ = ()

    def write(self, octets: bytes, /) -> None:
        """Send *octets* behind what was written before, as soon as the peer takes them."""


class Transport(Speaker, Protocol):
    """What is asked of a connection; once it is over, what would change something does nothing."""

    def deliver_to(self, receiver: Receiver, /) -> None:
        """Tell *receiver* whatever happens from now on; who follows another one calls its ``makeConnection`` itself."""

    def lend_to(self, borrower: Borrower, /) -> None:
        """Give what comes to the receiver as *borrower*, which it is, too, where much has come and it need not be copied then."""

    # Sending

    def write_at_once(self, octets: memoryview, /) -> None:
        """Send *octets*, whose memory is used again afterwards: what the peer does not take at once is copied."""

    def gather_writes(self) -> None:
        """Send what is written in one turn at once, if possible: for who writes a little for many, and can wait."""

    def call_in_batch(self, call: Callable[[], None], /) -> None:
        """Call, and send together what is written meanwhile, here or on other connections, if possible."""

    @property
    def queued(self) -> int:
        """Bytes that wait in this process."""

    @property
    def unsent(self) -> int:
        """Bytes that wait for the peer: a number that changes with whatever is taken of them, and 0 once the kernel has all."""

    @property
    def untaken(self) -> int:
        """Bytes that the peer did not acknowledge, here or in the kernel, as far as the system tells of these."""

    def loseConnection(self) -> None:
        """Send what waits, then close."""

    def loseWriteConnection(self) -> None:
        """Send what waits, then end our side only: over TLS by a goodbye, after which most peers end theirs, too.

        Until the peer has, the socket stays: one that is closed while the peer speaks is reset, and what the kernel had still to send
        is lost.
        """

    def abortConnection(self) -> None:
        """Close at once, with a reset."""

    # Receiving

    def pauseProducing(self) -> None:
        """Read nothing for now."""

    def resumeProducing(self) -> None:
        """Read again."""

    @property
    def has_left(self) -> bool:
        """Whether the peer has ended its side, be what it said before that read or not, or is gone."""

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has come that was not read yet, neither bytes nor an end."""

    @property
    def has_said_nothing(self) -> bool:
        """Whether not a byte has come, for a receiver that has got none; over TLS, part of a hello is nothing."""

    # In the kernel

    def splice_from(self, copy: "KernelCopy", /) -> bool:
        """Begin *copy*, to here; False, and nothing happens, if the two transports cannot."""

    def copy_into(self, copy: "KernelCopy", taker: "CopyTaker", /) -> "MemoryCopy | None":
        """Begin *copy*, from here into memory of *taker*; None, and nothing happens, if this transport cannot.

        While receiving is paused nothing is copied by itself.
        """

    @property
    def is_held_up(self) -> bool:
        """Whether the kernel moves what comes here, and waits for whom it is to go to."""

    def watch_delivery(self) -> Delivery | None:
        """Begin to look whether the peer takes what is sent from now on; None where that cannot be known."""

    # The socket

    @property
    def tls(self) -> SSL.Connection | None:
        """OpenSSL's side of it; None without TLS, and perhaps once it is over."""

    def setTcpNoDelay(self, enabled: bool, /) -> None:
        """Set TCP_NODELAY."""

    def setTcpKeepAlive(self, enabled: bool, /) -> None:
        """Set SO_KEEPALIVE."""

    def getPeer(self) -> IAddress:
        """The address of the other side, or the one that a PROXY header has for it."""

    @property
    def peer_host(self) -> str:
        """The host of ``getPeer``, which is not made for it."""

    def getHost(self) -> IAddress:
        """Our own address, or the one that a PROXY header has for it."""

    @property
    def local_port(self) -> int:
        """The port of ``getHost``, which is not made for it; 0 where it has none."""


class CopyTaker(Protocol):
    """Whose memory a copy goes to, and who passes it on from there."""

    def spaces(self, most: int, /) -> Sequence[memoryview]:
        """Return where the next bytes go, at most *most*; nothing while none can be taken."""

    def came(self, count: int, /) -> None:
        """So many came there."""


class MemoryCopy(Protocol):
    """A copy that goes through the memory of its taker."""

    @property
    def left(self) -> int:
        """Bytes that are still to come."""

    def move(self, most: int, /) -> int:
        """Move at most *most* bytes now, also while receiving is paused; return how many that were."""

    def close(self) -> None:
        """Leave the source to itself; what it was to move is received as ever."""


@frozen
class KernelCopy:
    """Bytes that need not be received to be sent on, best by the kernel: the next *count* that come to *source*.

    *moved* is told how many went each time, *ended* that all have.  Until then nothing is
    received from *source*, and nothing may be written to the target.  With *to_end*, the end of
    *source* is a regular one before *count*, which it is told of as without a copy.
    """

    source: Transport
    count: int
    moved: Callable[[int], None]
    ended: Callable[[], None]
    to_end: bool = False


def is_ip_address(host: str) -> bool:
    """Whether *host* needs no resolving."""
    return isIPAddress(host) or isIPv6Address(host)
