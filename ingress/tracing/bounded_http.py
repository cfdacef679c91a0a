"""How spans go to a collector by HTTP: with one deadline for all of an exchange, and answers of a bounded size.

The timeouts of ``requests`` are for each read by itself, and answers are read to their end.  So whoever answers an octet a second
would hold the thread that sends for ever, and one that never stops would fill the memory.  Shutting a socket down ends whatever
blocks on it.  Looking up a name, connecting (and be it by a proxy of the operator's) and the handshake end by time limits of
their own.
"""

import socket
from collections.abc import Callable
from threading import Timer
from typing import Any, Final

from requests import ConnectionError, PreparedRequest, RequestException, Response, Session, Timeout
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from ingress.process.interruption import Interruption

MOST_ANSWER_BYTES: Final = 64 * 1024
"""What is read of an answer; a whole one has a few bytes, or a sentence about what is wrong."""


def bounded_session() -> Session:
    """Return a session for one thread, in which the timeout of a request is for all of it."""
    session = Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, _BoundedAdapter())
    return session


class _BoundedAdapter(HTTPAdapter):
    """Sends requests of a session, and reads their answers."""

    def __init__(self) -> None:
        super().__init__()
        self._interruption = Interruption()
        self._shown = _shown_connections(self._interruption.show)

    def get_connection_with_tls_context(self, *arguments: Any, **more: Any) -> HTTPConnectionPool:
        """Return the connections to a collector, or to the proxy that the environment names; those by SOCKS stay as they are."""
        pool = super().get_connection_with_tls_context(*arguments, **more)
        pool.ConnectionCls = self._shown.get(pool.ConnectionCls, pool.ConnectionCls)
        return pool

    def send(self, request: PreparedRequest, *arguments: Any, **more: Any) -> Response:
        """Send *request*, and read what is wanted of the answer; raises ``Timeout`` where that takes longer than *timeout* in all."""
        seconds: float = more["timeout"]
        self._interruption.begin()
        timer = Timer(seconds, self._interruption.interrupt)
        timer.daemon = True
        timer.start()
        try:
            response = super().send(request, *arguments, **more)
            _read(response)
        except (RequestException, HTTPError, OSError) as error:
            if self._interruption.is_interrupted:
                raise _late(request, seconds) from error
            if isinstance(error, RequestException):
                raise
            raise ConnectionError(error, request=request) from error
        finally:
            timer.cancel()
            # Or else a late end of this one would be that of the next.
            timer.join()
        if self._interruption.is_interrupted:
            # A head that breaks off passes for a whole one.
            raise _late(request, seconds)
        return response


def _late(request: PreparedRequest, seconds: float) -> Timeout:
    return Timeout(f"no whole answer within {seconds:.1f} seconds", request=request)


def _read(response: Response) -> None:
    """Read an answer, for its connection to be used again, and drop it; one that is too long ends its connection."""
    left = MOST_ANSWER_BYTES
    # Up to the read that finds nothing, which raises where something is missing.
    while piece := response.raw.read(left + 1, decode_content=False):
        left -= len(piece)
        if left < 0:
            response.close()
            return


def _shown_connections(show: Callable[[socket.socket | None], None]) -> dict[type, type[HTTPConnection]]:
    """Return, by the usual class of connections, one that shows its socket."""

    class Connection(HTTPConnection):
        def connect(self) -> None:
            super().connect()
            show(self.sock)

    class TLSConnection(HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            show(self.sock)

    return {HTTPConnection: Connection, HTTPSConnection: TLSConnection}
