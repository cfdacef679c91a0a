"""Sockets that the parent of workers holds, which they have, too."""

from __future__ import annotations

import socket
from typing import Any

from twisted.internet import reactor as real_reactor  # noqa: TID251 - real sockets need the real reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from ingress.model.network.listeners import Listener
from ingress.workers.accepting.held_listeners import HeldListeners
from tests.fakes.processes import free_port

PATIENCE_SECONDS = 60.0


async def nobody(listener: Listener) -> None:
    """Say that nobody had the socket of *listener* before."""


class HeldListenersTests(TestCase):
    """``HeldListeners``, of which a worker has the sockets for a moment longer."""

    async def test_another_table(self) -> None:
        """A port that is to serve another table is held again as soon as workers have let go of it."""
        reactor: Any = real_reactor
        held = HeldListeners(reactor, nobody, lambda: None, lambda refused: None, self.fail)
        for scheme, is_udp in (("udp", True), ("tcp", False)):
            description = f"{scheme}:{free_port()}:interface=127.0.0.1"
            one, other = (
                Listener(description, table=table, is_udp=is_udp, is_stream=not is_udp)
                for table in ("one", "other")
            )
            await held.follow([one])
            at_worker = socket.socket(fileno=held.held[one].socket.dup().detach())
            try:
                await held.follow([other])
                await deferLater(reactor, 0.3, lambda: None)
                self.assertEqual(held.open, ())
            finally:
                at_worker.close()
            deadline = reactor.seconds() + PATIENCE_SECONDS
            while held.open != (other,) and reactor.seconds() < deadline:
                turn: Deferred[None] = deferLater(reactor, 0.01, lambda: None)
                await turn
            self.assertEqual(held.open, (other,))
        await held.close()
