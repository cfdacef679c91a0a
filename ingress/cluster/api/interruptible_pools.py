"""Connections to an API server whose requests can be broken off from another thread, in whatever phase they are.

So a connection shows its socket as soon as it has one: before the TLS handshake, while the answer is awaited, and while it
is read.  Looking up a name and connecting cannot be broken off; both have time limits.
"""

import socket

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from ingress.cluster.api.chunked import GatheringResponse
from ingress.cluster.api.read_deadline import ReadDeadline
from ingress.process.interruption import Interruption


def pool_classes(interruption: Interruption, deadline: ReadDeadline) -> dict[str, type[HTTPConnectionPool]]:
    """Pool classes for ``PoolManager.pool_classes_by_scheme`` whose connections can be interrupted.

    Their answers give out many chunks at a time, and are read as *deadline* allows.
    """

    class Response(GatheringResponse):
        pass

    Response.deadline = deadline

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
