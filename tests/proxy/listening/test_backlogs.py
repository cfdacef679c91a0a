"""How many connections may wait to be accepted: what a description says counts, and otherwise there is room for many."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from twisted.internet import reactor as real_reactor  # noqa: TID251 - real sockets need the real reactor
from twisted.internet.defer import Deferred
from twisted.internet.protocol import Factory, Protocol
from twisted.trial.unittest import TestCase

from ingress.admin.port.connections import AdminPort
from ingress.model.network.listeners import Listener, backlog_of
from ingress.proxy.listening.listeners import listen
from ingress.proxy.listening.networks import EpollNetwork
from ingress.proxy.transport.accepting import BACKLOG, FamilyPort
from ingress.proxy.transport.twisted_transports import DirectPort
from ingress.workers.accepting.held_listeners import HeldListeners
from tests.proxy.playing import ProxyCase

TCP = "tcp:0:interface=127.0.0.1"


def room_of(sock: Any) -> int:
    """Return how many may wait at a socket that listens, as Linux says it (``tcpi_sacked`` of ``struct tcp_info``)."""
    told = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    found: int
    _, found = struct.unpack_from("=II", told, 24)
    return found


def room_behind(descriptor: int) -> int:
    """Return the same of a descriptor, which stays open."""
    with socket.socket(fileno=os.dup(descriptor)) as sock:
        return room_of(sock)


def most() -> int:
    """Return what the kernel allows."""
    return int(Path("/proc/sys/net/core/somaxconn").read_text("ascii"))


class BacklogTests(TestCase):
    """Sockets of all kinds of ports."""

    def setUp(self) -> None:
        self.refused: list[object] = []

    async def room(self, description: str, kind: type[FamilyPort]) -> int:
        """Listen by a port of this kind; return how many may wait."""
        port: Any = await listen(real_reactor, description, Factory.forProtocol(Protocol), kind)
        self.addCleanup(port.stopListening)
        return room_of(port.socket)

    async def test_ports(self) -> None:
        """One that is said counts, be it smaller than what is usual; else it is that."""
        for kind, usual in ((AdminPort, 1024), (DirectPort, BACKLOG), (FamilyPort, BACKLOG)):
            self.assertEqual(await self.room(f"{TCP}:backlog=7", kind), 7)
            self.assertEqual(await self.room(f"haproxy:{TCP}:backlog=7", kind), 7)
            self.assertEqual(await self.room(TCP, kind), min(usual, most()))

    async def test_held(self) -> None:
        """And so for those that workers share."""
        descriptions = {f"{TCP}:backlog=7": 7, TCP: min(BACKLOG, most())}

        async def none_given(listener: Listener) -> None:
            return None

        held = HeldListeners(real_reactor, none_given, lambda: None, self.refused.append, self.fail)
        await held.follow([Listener(one, is_required=True) for one in descriptions])
        try:
            rooms = {one: room_behind(descriptor) for one, descriptor in held.sockets().items()}
        finally:
            await held.close()
        self.assertEqual((rooms, self.refused), (descriptions, []))

    async def test_paths(self) -> None:
        """And where a path is listened on."""
        with TemporaryDirectory() as folder:
            for arguments, waiting in ((":backlog=1", 2), ("", 100)):
                path = f"{folder}/a.sock"
                port: Any = await listen(
                    real_reactor, f"unix:{path}{arguments}", Factory.forProtocol(Protocol)
                )
                # The reactor has no turn meanwhile, so nobody is accepted.
                asking = [socket.socket(socket.AF_UNIX) for _ in range(100)]
                for one in asking:
                    one.setblocking(False)
                self.assertEqual([one.connect_ex(path) for one in asking].count(0), waiting)
                for one in asking:
                    one.close()
                await port.stopListening()

    def test_descriptions(self) -> None:
        """It stands by its name or by its place, which is another one for each kind; plugins have none."""
        for description, backlog in (
            ("tcp:80", None),
            ("tcp:80:127.0.0.1:5", 5),
            ("tcp:80:backlog=5:interface=127.0.0.1", 5),
            ("tcp6:80:5", 5),
            ("tcp6:443:interface=fd00\\:\\:1", None),
            ("unix:/run/a.sock:600:5", 5),
            ("haproxy:tcp:80:backlog=5", 5),
            ("systemd:domain=INET:index=0", None),
        ):
            self.assertEqual(backlog_of(description), backlog, description)


class EpollTests(ProxyCase):
    """Sockets of the epoll set."""

    def test_epoll(self) -> None:
        """So it is where the epoll set accepts."""
        network = EpollNetwork(self.stage.reactor)
        for description, room in ((f"{TCP}:backlog=7", 7), (TCP, min(BACKLOG, most()))):
            listening = network.listen(description, self.stage.site, None)
            port: Any = self.successResultOf(Deferred.fromCoroutine(listening))
            self.assertEqual(room_behind(port.fileno()), room)
            port.stopListening()
