"""What is left in memory of connections that are over, counted with the garbage collector off.

Both ends that are not the proxy's are plain sockets, played by the test itself: transports of Twisted's there would
leave cycles of their own.
"""

from __future__ import annotations

import gc
import socket
import ssl
import struct
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from zope.interface.declarations import ProvidesClass

from ingress.model.upstream.backends import Endpoint
from ingress.proxy.listening.networks import EpollNetwork
from ingress.proxy.transport.epoll.epoll_set import CAN_SPLICE
from tests.proxy.sockets.sockets_case import SocketsCase

GET = b"GET / HTTP/1.1\r\nHost: app.test\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 100000\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LAST_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
"""An answer with which a connection to the endpoint ends, so that none is kept."""

TIMES = 4
"""How often each is played while it is counted, so that nothing which is kept once counts as left."""

_SEEN = 3
"""How often a head must come to be remembered, which is for all connections."""

_OURS = (
    "ingress.",
    "OpenSSL.",
    "socket.",
    "twisted.internet.tcp",
    "twisted.protocols.",
    "twisted.python.failure",
)
"""Where the kinds are defined that no connection may leave behind, be it in a list that still has it."""


class Peer:
    """One end of a connection to or from the proxy: a socket that waits for nothing."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.received = b""
        self.is_over = False
        """Whether the proxy ended its side, or all."""

    def say(self, octets: bytes) -> None:
        """Send as much of *octets* as the kernel takes; a proxy that is gone takes nothing."""
        try:
            self.sock.send(octets)
        except (BlockingIOError, ssl.SSLWantWriteError):
            return
        except OSError:
            self.is_over = True

    def look(self) -> None:
        """Take what has come."""
        try:
            while piece := self._receive():
                self.received += piece
            self.is_over = True
        except (BlockingIOError, ssl.SSLWantReadError):
            return
        except OSError:
            self.is_over = True

    def _receive(self) -> bytes:
        return self.sock.recv(1 << 16)

    def has(self, octets: bytes) -> bool:
        """Whether *octets* have come by now."""
        self.look()
        return octets in self.received

    def ended(self) -> bool:
        """Whether the proxy has ended its side by now."""
        self.look()
        return self.is_over

    def ended_amid(self, octets: bytes) -> bool:
        """The same, while more is said all the time."""
        self.say(octets)
        return self.ended()

    def finish(self) -> None:
        """End this side only."""
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Break the connection off."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def close(self) -> None:
        """Close."""
        self.sock.close()


class SecurePeer(Peer):
    """One end that speaks TLS."""

    sock: ssl.SSLSocket

    def shook(self) -> bool:
        """Whether the handshake is done; raises what ends it."""
        try:
            self.sock.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def finish(self) -> None:
        """Say that nothing follows, and end this side of the socket."""
        try:
            self.sock.unwrap()
        except OSError:
            pass  # The proxy has not answered, or it has been quicker.


class LeftoversCase(SocketsCase):
    """A proxy in front of a socket of the test's; ``nothing_is_left`` plays a conversation and counts."""

    secure = False
    """Whether clients come over TLS."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Listen, with a certificate for ``app.test``, and turn the collector off."""
        # What is there already is none of what is left, and would be looked through time and again.
        gc.freeze()
        self.addCleanup(gc.unfreeze)
        gc.disable()
        self.addCleanup(gc.enable)
        await super().setUp()
        self.authority = self.certify("app.test")
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.listening.setblocking(False)
        self.addCleanup(self.listening.close)
        self.publish(self.endpoint)

    @property
    def endpoint(self) -> Endpoint:
        """Where the test itself is the endpoint."""
        return Endpoint("127.0.0.1", self.listening.getsockname()[1])

    def dial(self, port: object = None) -> Peer:
        """Connect to the plain listener, or another one."""
        return Peer(socket.create_connection(("127.0.0.1", self._number(port or self._plain))))

    async def dial_tls(self, *protocols: str) -> SecurePeer:
        """Connect to the TLS listener, and shake hands."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        if protocols:
            context.set_alpn_protocols(list(protocols))
        plain = socket.create_connection(("127.0.0.1", self._number(self._secure)))
        plain.setblocking(False)
        secure = context.wrap_socket(plain, server_hostname="app.test", do_handshake_on_connect=False)
        peer = SecurePeer(secure)
        await self.until(peer.shook)
        return peer

    @staticmethod
    def _number(port: object) -> int:
        return int(port.getHost().port)  # type: ignore[attr-defined]

    async def accepted(self) -> Peer:
        """Return the next connection that the proxy makes to the endpoint."""
        found: list[Peer] = []

        def accept() -> bool:
            try:
                found.append(Peer(self.listening.accept()[0]))
            except BlockingIOError:
                return False
            return True

        await self.until(accept)
        return found[0]

    async def call(self, *protocols: str) -> Peer:
        """Connect as the class does; over TLS, one of *protocols* is to be agreed on."""
        return await self.dial_tls(*protocols) if self.secure else self.dial()

    async def arrived(self) -> Peer:
        """Return the connection on which a request came upstream."""
        backend = await self.accepted()
        await self.until(lambda: backend.has(b"\r\n\r\n"))
        return backend

    async def asked(self, client: Peer, request: bytes = GET) -> Peer:
        """Send a request; return the connection on which it came upstream."""
        client.say(request)
        return await self.arrived()

    async def nothing_is_left(self, play: Callable[[], Awaitable[None]]) -> None:
        """Play a conversation, and once all connections have ended, find as many objects as before."""
        for _ in range(_SEEN):
            await self._played(play)
        self._close_spare_pipes()
        gc.collect()
        before = _ours()
        for _ in range(TIMES):
            await self._played(play)
        self._close_spare_pipes()
        self.assertEqual(dict(_garbage()), {})
        self.assertEqual(dict(_ours() - before), {})

    def _close_spare_pipes(self) -> None:
        """Spare pipes are everybody's, and how many there are depends on how much was spliced at once, and when it ended."""
        if isinstance(self.network, EpollNetwork):
            self.network.epoll_set.pipes.close()

    async def _played(self, play: Callable[[], Awaitable[None]]) -> None:
        await play()
        # A connection that is still being made waits for whoever comes next.
        await self.until(lambda: not self.channels and not self.pool.endpoints)
        # What is told of an end in another turn has been told then.
        await self.turns(3)


def _kind(of: object) -> str:
    return f"{type(of).__module__}.{type(of).__qualname__}"


def _ours() -> Counter[str]:
    """Count the objects that connections are made of, by their kind."""
    return Counter(kind for kind in map(_kind, gc.get_objects()) if kind.startswith(_OURS))


def _garbage() -> Counter[str]:
    """Count what nobody refers to but itself, by its kind."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        # What zope.interface notes about kinds of objects is made anew after each collection, and then serves all.
        shared = [each for each in gc.garbage if isinstance(each, ProvidesClass)]
        noted = gc.get_referents(*shared)
        # Python 3.13 tells of tuples within these, too.
        within = [each for each in gc.get_referents(*noted) if type(each) is tuple]
        known = set(map(id, [*shared, *noted, *within]))
        return Counter(_kind(each) for each in gc.garbage if id(each) not in known)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


def with_tls(module: dict[str, Any], *cases: type[LeftoversCase]) -> None:
    """Put a class into *module* for each of *cases* that plays the same over TLS."""
    for case in cases:
        name = f"{case.__name__}OverTLS"
        module[name] = type(name, (case,), {"secure": True, "__module__": case.__module__})


def on_all_networks(module: dict[str, Any]) -> None:
    """Put a class into *module* for each case that is defined there, which plays the same on the epoll set."""
    for name, case in list(module.items()):
        if (
            isinstance(case, type)
            and issubclass(case, LeftoversCase)
            and case.__module__ == module["__name__"]
        ):
            more = {"use_epoll": True, "can_splice": CAN_SPLICE, "__module__": case.__module__}
            module[f"{name}OnEpoll"] = type(f"{name}OnEpoll", (case,), more)
