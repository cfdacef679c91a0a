"""The side of a takeover whose process is new: what it gets of the one that serves.  Reactor thread."""

import os
import socket
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from ingress.errors import StartError
from ingress.model.observability.changes_and_failures import ChangeSort, Mark
from ingress.takeover.handed_sockets import HandedSockets
from ingress.takeover.messages import Message, Word
from ingress.takeover.taking import Deed, Steps, Taking
from ingress.takeover.wire import Wire, peer_of


class Starting(Protocol):
    """What starts, and takes the place of another process."""

    def report(self, identity: str) -> None:
        """Begin to report, under a name if one is given: no other process does under that."""

    def show(self) -> None:
        """Open the pages for operators."""

    def fail(self, error: StartError) -> None:
        """End: another process serves on."""


class Taker:
    """Has *starting* take over from the process at the other end of *sock*; *took* is called when it reports."""

    log = Logger()

    def __init__(
        self,
        reactor: Any,
        sock: socket.socket,
        starting: Starting,
        sockets: HandedSockets,
        took: Callable[[], None],
    ) -> None:
        self._reactor = reactor
        self._starting = starting
        self._sockets = sockets
        self._took = took
        self._taking = Taking()
        self._timer: IDelayedCall | None = None
        self._begun: Deferred[None] | None = Deferred()
        self.process = peer_of(sock)[0]
        """The id of the process that serves."""
        self._wire = Wire(reactor, sock, self._heard, self._misread, lambda: self._do(self._taking.ended()))

    def __repr__(self) -> str:
        return f"<Taker {self._taking.state.name}>"

    @property
    def is_following(self) -> bool:
        """Whether the other process serves and reports."""
        return self._taking.is_following

    async def begin(self) -> None:
        """Say hello; returns when all sockets are here, or the other process is gone.  Raises ``StartError``."""
        assert self._begun is not None, "begin() is called once"
        begun = self._begun
        self._wire.send(Message(Word.HELLO, number=os.getpid()))
        self._do(())
        await begun

    def serves(self) -> None:
        """Tell that connections are accepted here."""
        self._do(self._taking.ready())

    def stop(self, why: str) -> None:
        """Tell the other process, where it serves on, that this one ends."""
        if self.is_following:
            self._wire.send(Message(Word.FAILED, why))
        self._end()

    def _heard(self, message: Message, sockets: Sequence[socket.socket]) -> None:
        if message.word is Word.SOCKETS and len(message.names) == len(sockets):
            for name, sock in zip(message.names, sockets, strict=True):
                self._sockets.add(name, sock)
        else:
            for sock in sockets:
                sock.close()
        self._do(self._taking.heard(message))

    def _misread(self, why: str) -> None:
        self._do(self._taking.failed(why))

    def _do(self, steps: Steps) -> None:
        for step in steps:
            if step.deed is Deed.BEGIN:
                self._begin(None)
            elif step.deed is Deed.SAY_SERVING:
                self._wire.send(Message(Word.SERVING))
            elif step.deed is Deed.REPORT:
                self._took()
                self._starting.report(self._taking.identity)
            elif step.deed is Deed.SAY_TOOK:
                self.log.info(
                    "Took over from process {process}",
                    process=self.process,
                    change=Mark(ChangeSort.TAKEOVER, "taken"),
                )
                self._wire.send(Message(Word.TOOK))
            elif step.deed is Deed.SHOW:
                self._starting.show()
            elif step.deed is Deed.FAIL:
                self._fail(step.why)
            elif step.deed is Deed.TELL:
                self.log.warn("{told}", told=step.why)
        self._set_timer()

    def _begin(self, error: StartError | None) -> bool:
        begun, self._begun = self._begun, None
        if begun is None:
            return False
        if error is None:
            begun.callback(None)
        else:
            begun.errback(error)
        return True

    def _fail(self, why: str) -> None:
        error = StartError(f"process {self.process} is not taken over: {why}")
        self._end()
        if not self._begin(error):
            self._starting.fail(error)

    def _set_timer(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        seconds = self._taking.seconds
        self._timer = None if seconds is None else self._reactor.callLater(seconds, self._late)

    def _late(self) -> None:
        steps = self._taking.late()
        if self._taking.is_following:
            # It is told once.
            for step in steps:
                self.log.warn("{told}", told=step.why)
        else:
            self._do(steps)

    def _end(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._wire.close()
