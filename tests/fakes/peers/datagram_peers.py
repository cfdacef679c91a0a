"""Endpoints and clients of UDP, on real sockets."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from twisted.internet.protocol import DatagramProtocol

from ingress.model.upstream.backends import Endpoint

Script = Callable[["DatagramEndpoint", bytes, Any], object]
"""Answers a datagram of a peer."""


def repeat(endpoint: DatagramEndpoint, datagram: bytes, peer: Any) -> None:
    """Send back what came."""
    endpoint.say(datagram, peer)


class DatagramEndpoint(DatagramProtocol):
    """Takes datagrams, and answers as *script* says."""

    def __init__(
        self, reactor: Any, script: Script = repeat, interface: str = "127.0.0.1", port: int = 0
    ) -> None:
        self._script = script
        self.received: list[tuple[bytes, Any]] = []
        """Datagrams, with the address of whoever sent them."""
        self._port = reactor.listenUDP(port, self, interface, maxPacketSize=65_536)
        host = self._port.getHost()
        self.endpoint = Endpoint(host.host, host.port)

    def datagramReceived(self, datagram: bytes, addr: Any) -> None:
        """Keep it, and answer."""
        self.received.append((datagram, addr))
        self._script(self, datagram, addr)

    def say(self, datagram: bytes, peer: Any) -> None:
        """Send *datagram* to *peer*."""
        assert self.transport is not None
        self.transport.write(datagram, peer)

    def stop(self) -> Any:
        """Take nothing any more."""
        return self._port.stopListening()


class DatagramClient:
    """A client, whose answers are looked for by ``poll``."""

    def __init__(self, port: int, address: str = "127.0.0.1", source: str = "") -> None:
        self._where = (address, port)
        self.sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind((source or ("::1" if ":" in address else "127.0.0.1"), 0))
        self.sock.setblocking(False)
        self.answers: list[bytes] = []
        self.senders: set[str] = set()
        """The addresses that answers came from."""

    @property
    def name(self) -> tuple[str, int]:
        """Its own address and port."""
        found: tuple[str, int] = self.sock.getsockname()[:2]
        return found

    def say(self, datagram: bytes) -> None:
        """Send *datagram*."""
        self.sock.sendto(datagram, self._where)

    def poll(self) -> list[bytes]:
        """Return all answers by now."""
        while True:
            try:
                answer, sender = self.sock.recvfrom(65_536)
            except BlockingIOError:
                return self.answers
            self.answers.append(answer)
            self.senders.add(sender[0])

    def close(self) -> None:
        """Leave."""
        self.sock.close()
