"""Connections to upstream in the epoll set: TCP, and TLS where an endpoint's settings say so.

A connection counts as made when it may be used: the handshake is done within the same
deadline, and who answered is judged before anybody is told.
"""

import errno
import os
import socket
from collections.abc import Callable
from typing import Final

from OpenSSL import SSL
from twisted.internet.interfaces import IDelayedCall
from twisted.python.failure import Failure

from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.transport import REFUSED, TIMED_OUT, Receiver
from ingress.proxy.transport.epoll.epoll_set import EDGE, READ, WRITE, EpollSet
from ingress.proxy.transport.epoll.stream import StreamTransport
from ingress.proxy.transport.epoll.tls import TLSTransport
from ingress.proxy.transport.socket_facts import has_ended
from ingress.tls.binding import WANT_WRITE, forget_errors
from ingress.tls.handshake_feed import HandshakeFeed
from ingress.tls.upstream import UpstreamContexts

_UNREAD: Final = 64 * 1024


class EpollConnecting:
    """One socket on its way to *endpoint* by the IP *address*; then it becomes a transport."""

    def __init__(
        self,
        epoll_set: EpollSet,
        endpoint: Endpoint,
        address: str,
        receiver: Receiver,
        failed: Callable[[str], None],
        timeout_seconds: float,
        contexts: UpstreamContexts,
    ) -> None:
        self._epoll_set = epoll_set
        self._endpoint = endpoint
        self._receiver = receiver
        self._failed: Callable[[str], None] | None = failed
        self._contexts = contexts
        self._connection: SSL.Connection | None = None
        self._feed: HandshakeFeed | None = None
        self._events = WRITE
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._timeout: IDelayedCall | None = None
        try:
            self._sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        except OSError as problem:
            why = problem.strerror or "no socket"
            epoll_set.later(lambda: failed(why))
            return
        code = self._sock.connect_ex((address, endpoint.port))
        if code in (0, errno.EINPROGRESS):
            epoll_set.add(self, self._sock.fileno(), WRITE)
            self._timeout = epoll_set.call_after(timeout_seconds, self._timed_out)
        else:
            epoll_set.later(lambda: self._give_up(_why(code)))

    def __repr__(self) -> str:
        return f"<EpollConnecting for {self._receiver!r}>"

    def ready(self, events: int) -> None:
        """The connection is made, or cannot be, or the handshake goes on."""
        if self._connection is not None:
            self._shake_hands(self._connection)
            return
        code = self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        link_settings = self._endpoint.link_settings
        if code:
            self._leave()
            self._give_up(_why(code))
        elif link_settings is None or link_settings.tls is None:
            self._leave()
            self._start(StreamTransport(self._epoll_set, self._sock, self._receiver))
        else:
            try:
                connection = self._connection = self._contexts.begin(self._endpoint, self._sock)
            except ValueError as error:
                self._leave()
                self._give_up(str(error))
                return
            # The hello and what answers it are best not held back for more to send.
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._feed = HandshakeFeed(connection, self._sock, begins=True)
            self._shake_hands(connection)

    def _shake_hands(self, connection: SSL.Connection) -> None:
        feed = self._feed
        assert feed is not None
        try:
            awaited = feed.step()
            if feed.is_amid and has_ended(self._sock):
                awaited = feed.hear_end()
        except (SSL.Error, OSError) as error:
            forget_errors()
            self._leave()
            self._give_up(self._contexts.why_failed(connection, error))
            return
        if awaited:
            # The rest of a record would be told of over and over.
            events = WRITE if awaited == WANT_WRITE else READ | EDGE if feed.is_amid else READ
            if events != self._events:
                self._events = events
                self._epoll_set.change(self._sock.fileno(), events)
            return
        fault = self._contexts.judge(self._endpoint, connection)
        self._leave()
        if fault:
            self._give_up(fault)
        else:
            self._start(
                _SecuredTransport(self._epoll_set, self._sock, self._receiver, connection, self._keep_session)
            )

    def _keep_session(self, connection: SSL.Connection) -> None:
        self._contexts.keep_session(self._endpoint, connection)

    def _start(self, transport: StreamTransport) -> None:
        self._failed = None
        try:
            transport.start()
        except Exception:
            self._epoll_set.fail(transport)

    def _timed_out(self) -> None:
        self._timeout = None
        self._leave()
        self._give_up(TIMED_OUT)

    def failed(self, failure: Failure) -> None:
        """A handshake raised what no handshake should; what is made of a connection has its own end."""
        if self._failed is not None:
            self._leave()
            self._give_up(failure.getErrorMessage())

    def _leave(self) -> None:
        self._epoll_set.remove(self._sock.fileno())
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None

    def _give_up(self, why: str) -> None:
        self._epoll_set.close(self._sock)
        failed, self._failed = self._failed, None
        if failed is not None:
            failed(why)


class _SecuredTransport(TLSTransport):
    """The client side of a TLS connection, which may be used."""

    __slots__ = ("_keep_session",)

    def __init__(
        self,
        epoll_set: EpollSet,
        sock: socket.socket,
        receiver: Receiver,
        connection: SSL.Connection,
        keep_session: Callable[[SSL.Connection], None],
    ) -> None:
        super().__init__(epoll_set, sock, receiver, None, connection)
        self._keep_session: Callable[[SSL.Connection], None] | None = keep_session
        self._is_unheard = True

    def _receive(self) -> bytes | memoryview | None:
        received = super()._receive()
        if received and self._keep_session is not None:
            self._is_unheard = False
            # By now the tickets are here that a session of TLS 1.3 is resumed with.
            keep, self._keep_session = self._keep_session, None
            keep(self._connection)
        return received

    def _release(self) -> None:
        super()._release()
        # It belongs to who made the connection, and that knows the receiver, and thereby us.
        self._keep_session = None

    def _say_goodbye(self) -> None:
        super()._say_goodbye()
        # Closing with tickets unread would be a reset, and cost the endpoint what was sent last.
        try:
            self._sock.recv(_UNREAD)
        except OSError:
            pass  # There is nothing, or nobody.


def _why(code: int) -> str:
    if code == errno.ECONNREFUSED:
        return REFUSED
    return TIMED_OUT if code == errno.ETIMEDOUT else os.strerror(code).lower()
