"""A socket that may be an end of splices, one that takes what comes to it, one that sends to it; or the source of a memory copy."""

import socket
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Final

from twisted.internet import error, main
from twisted.internet.interfaces import IAddress
from twisted.python.failure import Failure

from ingress.proxy.transport.epoll.epoll_set import EpollSet
from ingress.proxy.transport.epoll.memory_copy import MemoryCopy
from ingress.proxy.transport.epoll.sockets import ConnectedSocket, SocketName
from ingress.proxy.transport.epoll.splice import Splice

DONE: Final = Failure(main.CONNECTION_DONE)


class SplicedSocket(ConnectedSocket):
    """Knows its splices."""

    __slots__ = ("_splice_out", "splice_in")

    _epoll_set: EpollSet

    def __init__(self, sock: socket.socket, peer: IAddress | SocketName | None, port: int = 0) -> None:
        super().__init__(sock, peer, port)
        self.splice_in: Splice | MemoryCopy | None = None
        """Takes what comes, while it lasts."""
        self._splice_out: Splice | None = None
        """Sends, while it lasts."""

    @abstractmethod
    def update(self) -> None:
        """Ask the epoll set for exactly the events that matter now."""

    @abstractmethod
    def _end(self, reason: Failure) -> None:
        """Leave the epoll set, close, and tell the receiver."""

    @abstractmethod
    def _end_of_input(self) -> None:
        """The peer sends no more."""

    def call_in_batch(self, call: Callable[[], None]) -> None:
        """Send together what *call* writes, here and on other connections."""
        self._epoll_set.call_in_batch(call)

    @property
    def _takes_more(self) -> bool:
        """Whether what comes can be taken now: a splice waits until its target has what came before."""
        return self.splice_in is None or self.splice_in.wants_read

    @property
    def is_held_up(self) -> bool:
        """Whether the kernel moves what comes here, and waits for whom it is to go to."""
        return self.splice_in is not None and self.splice_in.wants_write

    def receive_into(self, spaces: Sequence[memoryview]) -> int:
        """Read into *spaces*; return how much came, 0 if nothing did, be it that the socket has failed or ended."""
        try:
            count = self._sock.recvmsg_into(spaces)[0]
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError as problem:
            self.splice_failed(problem)
            return 0
        if not count:
            self.splice_failed(None)
        return count

    def splice_over(self, splice: Splice | MemoryCopy) -> None:
        """Receive and send again by ourselves."""
        if self.splice_in is splice:
            self.splice_in = None
        if self._splice_out is splice:
            self._splice_out = None
        self.update()

    def splice_ended(self) -> None:
        """The socket ended while it was spliced, and may do so."""
        self._end_of_input()

    def splice_failed(self, problem: OSError | None) -> None:
        """The socket failed, or ended too soon, while it was spliced."""
        self._end(DONE if problem is None else Failure(error.ConnectionLost(str(problem))))
