"""Connections of clients that trial's log says nothing of."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory


class _OneConnection(Factory):
    """Gives its protocol to its only connection, without the two lines that a worker of trial would send to its parent."""

    noisy = False

    def __init__(self, only: Any) -> None:
        self._only = only

    def buildProtocol(self, addr: IAddress | None) -> Any:
        """Return that protocol."""
        return self._only


def connect_protocol(endpoint: Any, protocol: Any) -> Deferred[Any]:
    """Do what Twisted's ``connectProtocol`` does: connect *protocol* at *endpoint*; fires with it, or fails as the endpoint does."""
    connected: Deferred[Any] = endpoint.connect(_OneConnection(protocol))
    return connected
