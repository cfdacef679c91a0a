"""A worker: a process with a reactor and a data plane of its own, which does what its parent asks for.

    BEGIN ──▶ FOLLOW, and snapshots ──▶ DRAINING ──▶ CLOSE ──▶ DRAIN ──▶ ABORT ──▶ STOP ──▶ the end

When the parent is gone, it goes that way by itself: it accepts nothing any more, and what runs has the grace.
"""

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import monotonic_ns
from typing import Any

from attrs import evolve
from twisted.internet.defer import Deferred, TimeoutError, maybeDeferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.python.threadable import isInIOThread

from ingress.data_plane import OwnDataPlane, now
from ingress.history.failures import Failures
from ingress.metrics.metrics import Metrics
from ingress.model.network.listeners import Listener
from ingress.process.control_channel import ControlChannel
from ingress.process.framing import Frame
from ingress.process.interpreter import Interpreter
from ingress.process.lateness import LATE_SECONDS
from ingress.process.shared.worker_part import WorkerPart
from ingress.process.steady_time import keep_steady_time
from ingress.proxy.transport.resolving import AddressRules
from ingress.settings import Settings
from ingress.tls.bases import InheritedTls
from ingress.workers import messages
from ingress.workers.accepting.accept_turn import AcceptTurn, beat_seconds
from ingress.workers.feed.follower import Follower
from ingress.workers.feed.following import Following
from ingress.workers.forking.fresh_process import holders_of, log_to, renew_reactor
from ingress.workers.messages import Kind, from_bytes, named_from_bytes, named_to_bytes, wanted_from_bytes
from ingress.workers.shared_page import SharedPage
from ingress.workers.telling.failures import FailureSender
from ingress.workers.telling.log_lines import LinesToParent, line_sender, to_standard_error
from ingress.workers.telling.tally_sender import TallySender

Question = Callable[[bytes, tuple[int, ...]], Any]
"""Answers with bytes or None, or a ``Deferred`` of them; descriptors that come along are its own."""


def run_worker(
    settings: Settings,
    parents_reactor: Any,
    holders: Sequence[tuple[Any, str]],
    page: SharedPage,
    parts: Sequence[WorkerPart],
    channel: socket.socket,
    number: int,
    follower: Follower,
    tls: InheritedTls,
) -> None:
    """Be worker *number* until the parent says otherwise, or is gone.

    It begins with the snapshot of *follower*, and has *tls* in common with all others.
    """
    reactor = renew_reactor(parents_reactor, holders)
    keep_steady_time(reactor)
    worker = Worker(settings, reactor, page, parts[number], follower, tls)
    worker.begin(channel)
    reactor.run(installSignalHandlers=False)


class Worker:
    """The worker process: does what its parent asks for over the control channel, and tells what happens here."""

    log = Logger()

    def __init__(
        self,
        settings: Settings,
        reactor: Any,
        page: SharedPage,
        part: WorkerPart,
        follower: Follower,
        tls: InheritedTls,
    ) -> None:
        self._settings = settings
        self._reactor = reactor
        self._row = page.row(part.number)
        others = [page.row(number) for number in range(page.rows) if number != part.number]
        self._following = Following(follower, reactor)
        self._addresses: frozenset[str] = frozenset()
        self._channel = ControlChannel(reactor, self._came, self._parent_gone)
        self._lines = LinesToParent(
            self._channel,
            lambda line: self._channel.send(Frame(Kind.LOG, 0, line)),
            reactor.callFromThread,
            isInIOThread,
            to_standard_error,
        )
        self._interpreter = Interpreter(reactor)
        self._sockets: dict[int, socket.socket] = {}
        self._numbers: dict[Listener, int] = {}
        self._is_ending = False
        self.metrics = Metrics()
        self.metrics.log_lines_dropped = lambda: self._lines.dropped
        self._failures = FailureSender(
            reactor, partial(self.push, messages.FAILURES), lambda: self._channel.unsent
        )
        failures = Failures(self._failures, reactor.seconds, now, shows_queries=settings.show_queries)
        self._data_plane = OwnDataPlane(
            settings,
            reactor,
            self.metrics,
            self._refused,
            AddressRules(lambda: self._addresses),
            None,
            self._socket_of,
            part,
            new_turn=lambda: AcceptTurn(others, self._count, lambda: self._is_late, monotonic_ns),
            tls=tls,
            failed=failures.ended,
        )
        self._tallies = TallySender(
            reactor, self.metrics, partial(self.push, messages.TALLY), lambda: self._channel.unsent
        )
        self._next_beat: IDelayedCall | None = None
        self._due = 0.0
        self._is_late = False
        self.questions: dict[str, Question] = self._own_questions()
        """What the parent may ask, by name."""

    def begin(self, channel: socket.socket) -> None:
        """Begin to listen to the parent, at the other end of *channel*."""
        log_to(line_sender(self._lines.take))
        self._channel.open(channel)
        self._reactor.callWhenRunning(self._started)

    def _started(self) -> None:
        self._interpreter.set_up()
        self._data_plane.start()
        self._publish()
        self._interpreter.settle()
        self._due = self._reactor.seconds()
        self._beat()
        self._tallies.start()
        # What the fork server had not let go of yet.
        self._following.tidy()

    def push(self, name: str, payload: bytes) -> None:
        """Tell the parent *payload*, by name, unasked."""
        self._channel.send(Frame(Kind.PUSH, 0, named_to_bytes(name, payload)))

    def _count(self) -> int:
        """Return how many connections there are, and let the others know."""
        connections = self._data_plane.connections
        self._row.count(connections)
        return connections

    def _beat(self) -> None:
        now = self._reactor.seconds()
        lateness = now - self._due
        self._is_late = lateness > LATE_SECONDS
        seconds = beat_seconds(self._count())
        self._due = now + seconds
        self._row.late_by(self.metrics.reactor.looked(lateness, now))
        self._row.pulse(self._is_late)
        self._next_beat = self._reactor.callLater(seconds, self._beat)

    # What the parent says

    def _came(self, frame: Frame, descriptors: tuple[int, ...]) -> bool:
        if frame.kind == Kind.FEED:
            if self._following.take(frame.payload):
                self._publish()
                self._channel.send(Frame(Kind.TOOK, frame.number))
            return True
        if frame.kind == Kind.ASK:
            name, payload = named_from_bytes(frame.payload)
            answer = maybeDeferred(self.questions[name], payload, descriptors)
            answer.addCallback(self._answer, frame.number)
            answer.addErrback(self._failed, name)
        return False

    def _answer(self, answer: bytes | None, number: int) -> None:
        self._channel.send(Frame(Kind.ANSWER, number, answer or b""))

    def _failed(self, failure: Failure, name: str) -> None:
        """A question that has no answer leaves a worker of which nobody knows what it serves."""
        self.log.failure("A worker ends, since it could not do {name}", failure=failure, name=name)
        self._end()

    def _publish(self) -> None:
        self._data_plane.publish(self._following.snapshot)

    def _own_questions(self) -> dict[str, Question]:
        plane = self._data_plane
        return {
            messages.BEGIN: self._begin_with,
            messages.FOLLOW: self._follow,
            messages.ADDRESSES: self._take_addresses,
            messages.DRAINING: lambda payload, descriptors: plane.begin_draining(),
            messages.CLOSE: lambda payload, descriptors: Deferred.fromCoroutine(self._close()),
            messages.DRAIN: lambda payload, descriptors: plane.drain(from_bytes(payload)),
            messages.ABORT: lambda payload, descriptors: plane.abort(),
            messages.STOP: self._stop,
            messages.REOPEN: lambda payload, descriptors: plane.reopen_files(),
            messages.TALLY: lambda payload, descriptors: self._tallies.tell(),
            messages.ENDPOINTS: lambda payload, descriptors: plane.endpoint_rows().addErrback(
                self._cannot_look
            ),
        }

    def _cannot_look(self, failure: Failure) -> bytes:
        # Nobody is served any worse for it.
        self.log.failure("Looking at endpoints failed, which is a bug", failure=failure)
        return b""

    def _begin_with(self, payload: bytes, descriptors: tuple[int, ...]) -> None:
        decided: Mapping[str, Any] = from_bytes(payload)
        self._data_plane.begin_with(evolve(self._settings, **decided))

    def _take_addresses(self, payload: bytes, descriptors: tuple[int, ...]) -> None:
        self._addresses = frozenset(from_bytes(payload))

    # Listeners

    def _follow(self, payload: bytes, descriptors: tuple[int, ...]) -> Deferred[None]:
        wanted = wanted_from_bytes(payload)
        for number, descriptor in zip(wanted.coming, descriptors, strict=True):
            self._sockets[number] = _shared(descriptor)
        self._numbers = {listener: number for number, listener in wanted.listeners}
        kept = set(self._numbers.values())
        for number in [number for number in self._sockets if number not in kept]:
            self._sockets.pop(number).close()
        return Deferred.fromCoroutine(self._open(tuple(self._numbers)))

    async def _open(self, listeners: tuple[Listener, ...]) -> None:
        await self._data_plane.follow(listeners)
        self._row.accept(bool(listeners))

    async def _socket_of(self, listener: Listener) -> socket.socket | None:
        # A copy: what could not be opened is tried again.
        return _shared(os.dup(self._sockets[self._numbers[listener]].fileno()))

    def _refused(self, refused: Mapping[Listener, str]) -> None:
        for listener, why in refused.items():
            self.log.error("{listener} cannot be served: {why}", listener=str(listener), why=why)

    # The end

    async def _close(self) -> None:
        self._row.accept(False)
        await self._data_plane.close()
        for sock in self._sockets.values():
            sock.close()
        self._sockets.clear()

    def _stop(self, payload: bytes, descriptors: tuple[int, ...]) -> None:
        self._is_ending = True
        # The answer goes first, and with it all that was logged.
        Deferred.fromCoroutine(self._data_plane.stop()).addErrback(self._stop_failed).addBoth(self._stopped)

    def _stopped(self, result: object) -> None:
        self._failures.flush()
        self._tallies.finish()
        self._reactor.callLater(0, self._channel.close)

    def _stop_failed(self, failure: Failure) -> None:
        self.log.failure("A worker could not stop as it should, which is a bug", failure=failure)

    def _parent_gone(self) -> None:
        if self._is_ending:
            self._end()
            return
        self._is_ending = True
        Deferred.fromCoroutine(self._drain_alone()).addErrback(self._stop_failed).addBoth(self._ended)

    async def _drain_alone(self) -> None:
        """Nobody accepts in our name any more: end what runs, for as long as it may take."""
        plane = self._data_plane
        plane.begin_draining()
        await self._close()
        drained = plane.drain()
        drained.addTimeout(self._following.snapshot.serving.shutdown_grace_seconds, self._reactor)
        try:
            await drained
        except TimeoutError:
            pass  # What is left is cut, as at any end.
        plane.abort()
        await plane.stop()

    def _ended(self, result: object) -> None:
        self._end()

    def _end(self) -> None:
        if self._next_beat is not None and self._next_beat.active():
            self._next_beat.cancel()
        self._following.stop()
        self._reactor.stop()


def _shared(descriptor: int) -> socket.socket:
    """Return the socket of *descriptor*, on which nobody waits: whether one does is the same for all processes that share it."""
    sock = socket.socket(fileno=descriptor)
    sock.setblocking(False)
    return sock


def runner(
    settings: Settings, reactor: Any, page: SharedPage, parts: Sequence[WorkerPart]
) -> Callable[[socket.socket, int, Follower, InheritedTls], None]:
    """Return what a worker does in its process, of which *reactor* is the parent's; to be called there, once all is imported."""
    return partial(run_worker, settings, reactor, holders_of(reactor), page, parts)
