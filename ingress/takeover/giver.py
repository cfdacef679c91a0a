"""The side of a takeover whose process serves: who may take it over, and what is done for them.  Reactor thread."""

import os
import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.model.observability.changes_and_failures import ChangeSort, Mark
from ingress.takeover.giving import HELLO_SECONDS, READY_SECONDS, Deed, Giving, State, Steps
from ingress.takeover.handed_sockets import listening_only
from ingress.takeover.messages import Message, Word
from ingress.takeover.successor import Command, Successor
from ingress.takeover.wire import Door, Wire, is_trusted, peer_of

_AT_A_TIME = 32
"""Sockets in one message, so that it stays far below its bound."""
_LINGER_SECONDS = 10.0
_LAST_SECONDS = 0.2
"""How long after the connection of a new process the process itself may end."""


class Serving(Protocol):
    """What serves, and may be taken over."""

    @property
    def identity(self) -> str:
        """The name by which it is a candidate; empty where there is no election."""

    def why_not(self) -> str:
        """Say why it cannot be taken over now; empty if it can."""

    def sockets(self) -> Mapping[str, int]:
        """Return the descriptors of all sockets that listen, by the descriptions of their listeners."""

    async def hold(self) -> None:
        """Report nothing more; returns when nothing of it is under way."""

    def go_on(self) -> None:
        """Report again."""

    def leave(self, process: int) -> None:
        """Accept no more, let connections end, and end: *process* has all that this one had."""


class _Conversation:
    """One new process: its connection, how far it is, and its process where it was started from here."""

    def __init__(self, process: int, successor: Successor | None) -> None:
        self.giving = Giving(HELLO_SECONDS if successor is None else READY_SECONDS)
        self.process = process
        """Its process id, once it is known."""
        self.successor = successor
        self.handle: int | None = None
        """Descriptor of the process (``pidfd_open(2)``), whose number may be another's later."""
        self.timer: IDelayedCall | None = None
        self.wire: Wire


class Giver:
    """Has *serving* taken over, by one process at a time."""

    log = Logger()

    def __init__(self, reactor: Any, serving: Serving) -> None:
        self._reactor = reactor
        self._serving = serving
        self._door: Door | None = None
        self._now: _Conversation | None = None

    def __repr__(self) -> str:
        return f"<Giver {'free' if self._now is None else self._now.giving.state.name}>"

    def open(self, sock: socket.socket) -> None:
        """Have new processes come to *sock*, which listens."""
        self._door = Door(self._reactor, sock, self._came)

    def start_successor(self, command: Command, environment: Mapping[str, str]) -> None:
        """Start the same program anew, with *environment* besides our own, for it to take over; what keeps it from that is logged."""
        why_not = self._why_not()
        if why_not:
            self.log.error("No new process is started: {why}", why=why_not)
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            successor = Successor(self._reactor, command, theirs, environment)
        except OSError as error:
            ours.close()
            self.log.error("No new process is started: {why}", why=f"{command}: {error.strerror}")
            return
        finally:
            theirs.close()
        self.log.info("Started process {process}, which is to take over", process=successor.process)
        self._converse(ours, successor.process, successor)

    def stop(self) -> bool:
        """Let nobody come any more; return whether there is a new process, which goes on by itself then.

        One that was started from here ends, too: whoever stops this process means both.
        """
        if self._door is not None:
            self._door.close()
            self._door = None
        now, self._now = self._now, None
        if now is None:
            return False
        is_left = now.giving.state is State.LEFT
        if not is_left and now.successor is not None:
            now.wire.send(Message(Word.REFUSED, "it is stopping"))
        self._forget(now)
        return not is_left and now.successor is None

    # -- who comes

    def _why_not(self) -> str:
        return "a takeover is under way" if self._now is not None else self._serving.why_not()

    def _came(self, sock: socket.socket) -> None:
        process, user = peer_of(sock)
        if not is_trusted(sock):
            self.log.error("Process {process} of user {user} may not take over", process=process, user=user)
            sock.close()
        elif self._now is not None:
            self.log.error("Process {process} may not take over: a takeover is under way", process=process)
            self._refuse(sock)
        else:
            self._converse(sock, process, None)

    def _refuse(self, sock: socket.socket) -> None:
        wire: Wire
        timer = self._reactor.callLater(_LINGER_SECONDS, lambda: wire.close())

        def ended() -> None:
            if timer.active():
                timer.cancel()

        wire = Wire(self._reactor, sock, lambda message, sockets: _close(sockets), lambda why: None, ended)
        wire.send(Message(Word.REFUSED, "a takeover is under way"))

    def _converse(self, sock: socket.socket, process: int, successor: Successor | None) -> None:
        now = self._now = _Conversation(process, successor)
        now.wire = Wire(
            self._reactor,
            sock,
            lambda message, sockets: self._heard(now, message, sockets),
            lambda why: self._do(now, now.giving.misunderstood(why)),
            lambda: self._ended(now),
        )
        self._do(now, ())

    # -- what they say

    def _heard(self, now: _Conversation, message: Message, sockets: Sequence[socket.socket]) -> None:
        _close(sockets)
        if message.word is Word.HELLO:
            if now.successor is not None:
                # One that became a daemon is another process than the one that was started.
                now.process = message.number
            with suppress(OSError):
                now.handle = os.pidfd_open(now.process)
        self._do(now, now.giving.heard(message, self._serving.why_not()))

    def _ended(self, now: _Conversation) -> None:
        if now.successor is None or now.giving.state is State.LEFT:
            self._do(now, now.giving.ended())
        else:
            # It is ending, and says why on its standard error.
            self._reactor.callLater(_LAST_SECONDS, self._gone, now, now.successor)

    def _gone(self, now: _Conversation, successor: Successor) -> None:
        self._do(now, now.giving.ended(successor.reason() or "it is gone"))

    def _do(self, now: _Conversation, steps: Steps) -> None:
        for step in steps:
            if step.deed is Deed.OFFER:
                self._offer(now)
            elif step.deed is Deed.HOLD:
                Deferred.fromCoroutine(self._serving.hold()).addCallbacks(
                    lambda _: self._do(now, now.giving.held()),
                    lambda failure: self._hold_failed(now, failure),
                )
            elif step.deed is Deed.HAND_OVER:
                now.wire.send(Message(Word.YOURS))
            elif step.deed is Deed.GO_ON:
                self._serving.go_on()
            elif step.deed is Deed.LEAVE:
                self.log.info(
                    "Process {process} has taken over",
                    process=now.process,
                    change=Mark(ChangeSort.TAKEOVER, "given"),
                )
                self._serving.leave(now.process)
            elif step.deed is Deed.KILL:
                self._kill(now, step.why)
            elif step.deed is Deed.TELL:
                self.log.error(
                    "The takeover by process {process} has come to nothing, and this one serves on: {why}",
                    process=now.process,
                    why=step.why,
                    change=Mark(ChangeSort.TAKEOVER, "failed", is_trouble=True),
                )
            elif step.deed is Deed.REFUSE:
                now.wire.send(Message(Word.REFUSED, step.why))
                self._reactor.callLater(_LINGER_SECONDS, now.wire.close)
            elif step.deed is Deed.END:
                now.wire.close()
        self._set_timer(now)
        if now.giving.state is State.OVER and self._now is now:
            self._now = None
            self._release(now)

    def _hold_failed(self, now: _Conversation, failure: Failure) -> None:
        self.log.failure("Reporting could not be handed over, which is a bug", failure=failure)
        self._do(now, now.giving.misunderstood("a bug"))

    def _offer(self, now: _Conversation) -> None:
        sockets = list(listening_only(dict(self._serving.sockets())).items())
        for at in range(0, len(sockets), _AT_A_TIME):
            some = sockets[at : at + _AT_A_TIME]
            names = tuple(name for name, _ in some)
            now.wire.send(Message(Word.SOCKETS, names=names), [descriptor for _, descriptor in some])
        now.wire.send(Message(Word.OFFERED, self._serving.identity))
        self.log.info("Process {process} takes over", process=now.process)

    def _set_timer(self, now: _Conversation) -> None:
        state, seconds = now.giving.state, now.giving.seconds
        if now.timer is not None and now.timer.active():
            now.timer.cancel()
        now.timer = None
        if seconds is not None:
            now.timer = self._reactor.callLater(seconds, self._late, now, state)

    def _late(self, now: _Conversation, state: State) -> None:
        steps = now.giving.late()
        if now.successor is not None and state is not State.HANDED:
            now.successor.kill()
        self._do(now, steps)

    def _kill(self, now: _Conversation, why: str) -> None:
        """End a process that may report any moment; its end is told by its connection."""
        self.log.error("Process {process} is killed: {why}", process=now.process, why=why)
        try:
            if now.handle is None:
                os.kill(now.process, signal.SIGKILL)
            else:
                signal.pidfd_send_signal(now.handle, signal.SIGKILL)
        except OSError as error:
            self.log.error("It cannot be killed: {why}", why=error.strerror)

    def _forget(self, now: _Conversation) -> None:
        now.wire.close()
        if now.timer is not None and now.timer.active():
            now.timer.cancel()
        self._release(now)

    def _release(self, now: _Conversation) -> None:
        if now.handle is not None:
            os.close(now.handle)
            now.handle = None
        if now.successor is not None:
            now.successor.forget()


def _close(sockets: Sequence[socket.socket]) -> None:
    for sock in sockets:
        sock.close()
