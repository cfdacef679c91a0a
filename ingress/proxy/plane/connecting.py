"""Connections to upstream in the plane."""

import errno
import os
import socket
from collections.abc import Callable

from twisted.internet.interfaces import IDelayedCall
from twisted.internet.protocol import Protocol
from twisted.python.failure import Failure

from ingress.model.backends import Endpoint
from ingress.proxy.plane.plane import WRITE, Plane
from ingress.proxy.plane.stream import StreamTransport
from ingress.proxy.transports import REFUSED, TIMED_OUT


class PlaneConnecting:
    """One socket on its way to *endpoint*, an IP address; then it becomes a transport."""

    def __init__(
        self,
        plane: Plane,
        endpoint: Endpoint,
        protocol: Protocol,
        failed: Callable[[str], None],
        timeout_seconds: float,
    ) -> None:
        self._plane = plane
        self._protocol = protocol
        self._failed = failed
        family = socket.AF_INET6 if ":" in endpoint.address else socket.AF_INET
        self._timeout: IDelayedCall | None = None
        try:
            self._sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        except OSError as problem:
            why = problem.strerror or "no socket"
            plane.later(lambda: failed(why))
            return
        code = self._sock.connect_ex((endpoint.address, endpoint.port))
        if code in (0, errno.EINPROGRESS):
            plane.add(self, self._sock.fileno(), WRITE)
            self._timeout = plane.call_after(timeout_seconds, self._timed_out)
        else:
            plane.later(lambda: self._give_up(_why(code)))

    def __repr__(self) -> str:
        return f"<PlaneConnecting for {self._protocol!r}>"

    def ready(self, events: int) -> None:
        """The connection is made, or cannot be."""
        code = self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        self._leave()
        if code:
            self._give_up(_why(code))
            return
        transport = StreamTransport(self._plane, self._sock, self._protocol)
        try:
            transport.start()
        except Exception:
            self._plane.fail(transport)

    def _timed_out(self) -> None:
        self._timeout = None
        self._leave()
        self._give_up(TIMED_OUT)

    def failed(self, failure: Failure) -> None:
        """What is made of the connection raised, not this."""

    def _leave(self) -> None:
        self._plane.remove(self._sock.fileno())
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None

    def _give_up(self, why: str) -> None:
        self._plane.close(self._sock)
        self._failed(why)


def _why(code: int) -> str:
    if code == errno.ECONNREFUSED:
        return REFUSED
    return TIMED_OUT if code == errno.ETIMEDOUT else os.strerror(code).lower()
