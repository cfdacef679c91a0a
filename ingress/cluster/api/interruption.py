"""Breaking off a blocking request from another thread, in whatever phase it is.

Shutting a socket down ends every blocking call on it at once, where closing it would not.
So a connection shows its socket as soon as it has one: before the TLS handshake, while the
answer is awaited, and while it is read.  Looking up a name and connecting cannot be broken
off; both have time limits.
"""

import socket
from threading import Lock

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from ingress.cluster.api.chunked import GatheringResponse
from ingress.cluster.api.patience import Patience


class Interruption:
    """Knows the socket in use by one thread, and shuts it down when asked to.

    There is no moment to slip through: a socket that is shown after the interruption is shut
    down at once.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._socket: socket.socket | None = None
        self._interrupted = False

    @property
    def is_interrupted(self) -> bool:
        """Whether nothing may be begun any more."""
        return self._interrupted

    def show(self, connected: socket.socket | None) -> None:
        """Say which socket is in use from now on, if any."""
        with self._lock:
            self._socket = connected
            if self._interrupted:
                self._shut()

    def interrupt(self) -> None:
        """Shut down the socket in use, and every one that comes.  Any thread."""
        with self._lock:
            self._interrupted = True
            self._shut()

    def _shut(self) -> None:
        if self._socket is None:
            return
        try:
            # Not the method of an SSLSocket, which forgets that there is TLS: a thread reading
            # at this moment would take ciphertext for the answer.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        except OSError:
            # Not connected any more: there is nothing to break off.
            pass


def pool_classes(interruption: Interruption, patience: Patience) -> dict[str, type[HTTPConnectionPool]]:
    """Pool classes for ``PoolManager.pool_classes_by_scheme`` whose connections can be interrupted.

    Their answers give out many chunks at a time, and are read as *patience* allows.
    """

    class Response(GatheringResponse):
        pass

    Response.patience = patience

    class Connection(HTTPConnection):
        response_class = Response

        def connect(self) -> None:
            super().connect()
            interruption.show(self.sock)

    class TLSConnection(HTTPSConnection):
        response_class = Response
        _handshaking: socket.socket | None = None

        def _new_conn(self) -> socket.socket:
            connected = super()._new_conn()
            # The TLS socket takes the descriptor away from this one, and is not seen until the
            # handshake is over.  A duplicate reaches the same connection.
            self._handshaking = connected.dup()
            interruption.show(self._handshaking)
            return connected

        def connect(self) -> None:
            try:
                super().connect()
                interruption.show(self.sock)
            except BaseException:
                interruption.show(None)
                raise
            finally:
                if self._handshaking is not None:
                    self._handshaking.close()
                    self._handshaking = None

    class Pool(HTTPConnectionPool):
        ConnectionCls = Connection

    class TLSPool(HTTPSConnectionPool):
        ConnectionCls = TLSConnection

    return {"http": Pool, "https": TLSPool}
