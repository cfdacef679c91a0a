"""The parent's side: several workers as one data plane.

    prepare ──▶ start ──▶ begin_with ──▶ publish ──▶ follow: sockets are bound, and workers forked, which open them
                                            │
      a worker ends ──▶ its life is over, its number gets another, at once or after a pause (``supervising``)

The fork server is forked in ``prepare``, when there is neither a thread nor a reactor that runs.  Once it is gone no worker can be
made in a way that is safe, for there are threads now; so the process ends in an orderly way then, while its workers serve on.
"""

import socket
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from attrs import evolve
from twisted.internet.defer import Deferred, DeferredList, TimeoutError
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.data_plane import SocketOf, bound_anew, now
from ingress.errors import StartError
from ingress.history.rings import Ring
from ingress.metrics.metrics import Metrics
from ingress.model.cluster.problems import Problem
from ingress.model.network.listeners import Listener
from ingress.model.observability.changes_and_failures import ChangeSort, Mark
from ingress.model.observability.changes_and_failures import Failure as FailedExchange
from ingress.model.observability.endpoint_states import EndpointsSeen
from ingress.model.observability.workers import WorkerState
from ingress.process.caps.descriptors import has_room
from ingress.process.logs.access_log_output import output_to
from ingress.process.shared.limit_memory import LimitMemory
from ingress.process.shared.worker_part import WorkerPart
from ingress.settings import Settings
from ingress.tls.bases import ROW_LENGTH, TICKET_KEYS_SECONDS
from ingress.translate.snapshot import Snapshot
from ingress.workers import messages
from ingress.workers.accepting.held_listeners import Held, HeldListeners
from ingress.workers.accepting.udp_turn import UdpTurn
from ingress.workers.feed.feeding import Feed, Numbered
from ingress.workers.feed.follower import Follower
from ingress.workers.forking.fork_server_link import ForkServerLink
from ingress.workers.forking.fresh_process import can_be_renewed
from ingress.workers.known_workers import KnownWorkers
from ingress.workers.messages import Wanted, to_bytes, wanted_to_bytes
from ingress.workers.shared_page import SharedPage
from ingress.workers.slots.retiring import retire
from ingress.workers.slots.supervising import (
    FIRST_PAUSE_SECONDS,
    LATE_LOOK_SECONDS,
    LOOK_SECONDS,
    STOP_SECONDS,
    Restarts,
    keeps_ports,
    worker_problems,
)
from ingress.workers.telling.failures import ToldFailures
from ingress.workers.worker import runner
from ingress.workers.worker_link import WorkerGoneError, WorkerLink

_DESCRIPTORS_OF_FORK: Final = 8
"""What a new worker takes of its parent's descriptors for a moment, besides a copy of each listening socket."""

_AT_START: Final = ("use_proxy_protocol", "tls_min_version", "http2", "http2_prior_knowledge")
"""The settings that a ConfigMap may decide before anybody is served, and that serving goes by."""


class WorkerPool:
    """The data plane of *count* worker processes.

    *refused* is told which listeners cannot be bound and why, *addresses* returns those of the API server, *failed* is told when
    workers can be made no more, and *socket_of* finds sockets that listen already.  *troubled* is told what the
    operator is to know of workers, when that is something else.  *metrics* show what all workers count, *failures* what failed in any.
    """

    log = Logger()

    def __init__(
        self,
        settings: Settings,
        reactor: Any,
        count: int,
        refused: Callable[[Mapping[Listener, str]], None],
        addresses: Callable[[], Collection[str]],
        failed: Callable[[StartError], None],
        troubled: Callable[[tuple[Problem, ...]], None] = lambda problems: None,
        socket_of: SocketOf = bound_anew,
        metrics: Metrics | None = None,
        failures: Ring[FailedExchange] | None = None,
    ) -> None:
        if not can_be_renewed(reactor):
            raise StartError(f"--workers cannot be had with {type(reactor).__name__}")
        # Workers open it for themselves; whether that can be is to be known now.
        output_to(settings.serving.access_log.destination).close()
        self._settings = settings
        self._reactor = reactor
        self._count = count
        self._page = SharedPage(count)
        try:
            self._limits = LimitMemory(count)
        except OSError as error:
            raise StartError(
                f"--workers cannot have the memory that workers share: {error.strerror}"
            ) from error
        self._failed = failed
        self._troubled = troubled
        self._addresses = addresses
        self._told_addresses: frozenset[str] = frozenset()
        self._feed = Feed(reactor)
        self._held = HeldListeners(
            reactor, socket_of, self._listeners_changed, refused, self.following_failed
        )
        self._udp_turn: UdpTurn[WorkerLink] = UdpTurn()
        self._decided: dict[str, Any] = {}
        self._fork_server = ForkServerLink(
            reactor, self._feed, self._fork_waiting, self._forked, self._ended, self._fork_server_gone
        )
        self._workers: dict[int, WorkerLink] = {}
        """Those that live, by their number."""
        self._lives: dict[int, WorkerLink] = {}
        """All whose end was not told yet, by life."""
        self._last_life = 0
        self._to_fork: list[int] = []
        self._restarts = Restarts()
        self._pauses: dict[int, IDelayedCall] = {}
        self._looking: IDelayedCall | None = None
        self._looked_at = 0.0
        self._is_wanted = self._is_stopping = self._is_draining = False
        self._were_told: tuple[Problem, ...] = ()
        self._keys_end = 0.0
        """When the ticket keys that workers have in common are used up."""
        self._waiting: list[Deferred[None]] = []
        self._is_following = self._is_renewing = False
        metrics = metrics or Metrics()
        metrics.workers.fork_server = lambda: self._fork_server.pid
        self._known = KnownWorkers(self._page, metrics, reactor, now)
        self.pushed: dict[str, Callable[[int, bytes], None]] = {messages.TALLY: self._known.tells}
        if failures is not None:
            self.pushed[messages.FAILURES] = ToldFailures(failures, self._known.slot_of, reactor.seconds).took
        """Who is told what workers say unasked, by name: the worker's life, and what it says."""

    # Start

    def prepare(self) -> None:
        """Fork the fork server; to be called before the reactor runs, and before there is any thread."""
        parts = [WorkerPart(0, self._count, limits=self._limits)]
        parts += [evolve(parts[0], number=number) for number in range(1, self._count)]
        run = runner(self._settings, self._reactor, self._page, parts)
        follower = Follower(self._settings.translate.allowed_filters)
        self._fork_server.prepare(run, follower, self._keeps_ports)

    def _keeps_ports(self, number: int) -> bool:
        row = self._page.row(number)
        return keeps_ports(row.accepts, row.silent_seconds)

    def start(self) -> None:
        """Talk to the fork server from now on; nobody is served before listeners are open."""
        self._fork_server.start()
        self._looked_at = self._reactor.seconds()
        self._keys_end = self._looked_at + ROW_LENGTH * TICKET_KEYS_SECONDS
        self._look_later()

    def begin_with(self, settings: Settings) -> None:
        """Go by *settings* in what is decided at the start; nobody is served yet."""
        self._decided = {name: getattr(settings, name) for name in _AT_START}

    def publish(self, snapshot: Snapshot) -> None:
        """Have *snapshot* on its way to all workers."""
        self._feed.publish(snapshot)
        addresses = frozenset(self._addresses())
        if addresses != self._told_addresses:
            self._told_addresses = addresses
            self._tell(messages.ADDRESSES, to_bytes(sorted(addresses)))
        for worker in self._workers.values():
            self._advance(worker)
        # It serves nobody, and so comes last.
        self._fork_server.advance()

    # Listeners

    @property
    def open_listeners(self) -> Collection[Listener]:
        """Those that are open."""
        return self._held.open

    @property
    def is_opening(self) -> bool:
        """Whether listeners are being opened or closed, or workers are about to for the first time."""
        return self._held.is_working or self._is_following

    def sockets(self) -> Mapping[str, int]:
        """Return the descriptors of the sockets that listen, by the descriptions of their listeners."""
        return self._held.sockets()

    async def follow(self, listeners: Sequence[Listener]) -> None:
        """Have just *listeners* open; raises ``StartError`` for one that is required and cannot be opened."""
        await self._held.follow(listeners)
        if self._is_wanted:
            return
        self._is_wanted = self._is_following = True
        try:
            for number in range(self._count):
                self._fork(number)
            await self._until_all_serve()
        finally:
            self._is_following = False

    async def _until_all_serve(self) -> None:
        while not self._all_serve() and not self._is_stopping:
            waiting: Deferred[None] = Deferred()
            self._waiting.append(waiting)
            await waiting

    def _all_serve(self) -> bool:
        return len(self._workers) == self._count and all(one.is_serving for one in self._workers.values())

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.callback(None)

    def following_failed(self, failure: Failure) -> None:
        """Tell of a bug that ended the opening and closing of listeners."""
        self.log.failure("Opening and closing listeners failed, which is a bug", failure=failure)

    def _listeners_changed(self) -> None:
        for worker in self._workers.values():
            worker.behind = self._feed.current.number
            self._reactor.callLater(0, self._advance, worker)

    def _advance(self, worker: WorkerLink) -> None:
        """Send *worker* what it lacks: the current snapshot, and after it, which listeners there are."""
        fed = worker.fed
        if worker.is_gone or fed is None:
            return
        fed.advance()
        is_ending = self._is_stopping or worker.is_retired
        if worker.behind is not None and fed.sent.number >= worker.behind and not is_ending:
            held = self._held_for(worker)
            coming = [one for one in held.values() if one.number not in worker.sockets]
            if not has_room(len(coming)):
                self._reactor.callLater(FIRST_PAUSE_SECONDS, self._advance, worker)
                return
            worker.behind = None
            worker.sockets = {one.number for one in held.values()}
            wanted = Wanted(
                tuple((one.number, listener) for listener, one in held.items()),
                tuple(one.number for one in coming),
            )
            opened = worker.ask(messages.FOLLOW, wanted_to_bytes(wanted), [one.socket for one in coming])
            opened.addCallbacks(lambda _: self._serves(worker), _gone)

    def _held_for(self, worker: WorkerLink) -> dict[Listener, Held]:
        """Return what *worker* is to have open: all, but for ports of UDP where it is not its turn."""
        held = self._held.held
        takes_udp = self._udp_turn.taker(self._workers.values()) is worker
        return {one: sock for one, sock in held.items() if takes_udp or not one.is_udp}

    def _pass_udp_on(self) -> None:
        """Have another worker take datagrams, if the one that did does so no more."""
        taker = self._udp_turn.taker(self._workers.values())
        if taker is not None and any(one.is_udp for one in self._held.held):
            taker.behind = self._feed.current.number
            self._reactor.callLater(0, self._advance, taker)

    def _serves(self, worker: WorkerLink) -> None:
        if worker.life > self._count and not (worker.is_serving or worker.is_retired):
            self.log.info(
                "{worker} (process {pid}) serves in the place of one that ended",
                worker=str(worker),
                pid=worker.pid,
                change=Mark(ChangeSort.WORKER, "started"),
            )
        worker.is_serving = not worker.is_retired
        self._known.serves(worker)
        self._wake()

    # Workers

    def ask(self, name: str, payload: bytes = b"") -> Deferred[dict[int, bytes]]:
        """Ask all workers; fires with the answers by the worker's number, without those that ended meanwhile."""
        workers = tuple(self._workers.values())
        answers = DeferredList([one.ask(name, payload) for one in workers], consumeErrors=True)

        def by_number(results: list[tuple[bool, Any]]) -> dict[int, bytes]:
            return {
                one.number: answer
                for one, (is_answered, answer) in zip(workers, results, strict=True)
                if is_answered
            }

        return answers.addCallback(by_number)

    def _tell(self, name: str, payload: bytes = b"") -> Deferred[None]:
        return self.ask(name, payload).addCallback(lambda answers: None)

    def _fork(self, number: int) -> None:
        """Have worker *number* forked as soon as the fork server is not amid a snapshot."""
        if self._is_stopping or number in self._workers:
            return
        self._to_fork.append(number)
        self._fork_waiting()

    def _fork_waiting(self) -> None:
        while self._to_fork and (has := self._fork_server.has) is not None:
            number = self._to_fork.pop(0)
            if has_room(_DESCRIPTORS_OF_FORK + len(self._held.held)):
                self._fork_now(number, has)
            elif not self._is_stopping:
                self.log.error(
                    "No descriptor is left to have worker {number} started with; trying again in {seconds:g} s",
                    number=number,
                    seconds=FIRST_PAUSE_SECONDS,
                )
                self._pauses[number] = self._reactor.callLater(FIRST_PAUSE_SECONDS, self._paused, number)
        self._fork_server.advance()

    def _fork_now(self, number: int, has: Numbered) -> None:
        if self._is_stopping or number in self._workers:
            return
        self._page.clear(number)
        self._last_life += 1
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        worker = WorkerLink(
            self._reactor, number, self._last_life, self._push, self._advance, self._worker_gone
        )
        worker.behind = self._feed.current.number
        self._workers[number] = worker
        self._lives[worker.life] = worker
        self._known.began(worker)
        self._fork_server.fork(worker.life, number, theirs)
        worker.begin(ours, self._feed, has)
        worker.ask(messages.BEGIN, to_bytes(self._decided)).addErrback(_gone)
        worker.ask(messages.ADDRESSES, to_bytes(sorted(self._told_addresses))).addErrback(_gone)
        if self._is_draining:
            worker.ask(messages.DRAINING).addErrback(_gone)
        self._advance(worker)

    def _push(self, worker: WorkerLink, name: str, payload: bytes) -> None:
        told = self.pushed.get(name)
        if told is not None:
            told(worker.life, payload)

    def _worker_gone(self, worker: WorkerLink) -> None:
        """The channel of *worker* ended, and so do its connections: have another one."""
        if self._workers.get(worker.number) is worker:
            del self._workers[worker.number]
        self._known.gone(worker)
        self._page.clear(worker.number)
        # Whatever it still does, nobody can tell it to end; but who was told has a moment for it.
        if worker.is_retired and not self._is_stopping:
            self._reactor.callLater(STOP_SECONDS, self._kill_if_there, worker)
        else:
            self._kill(worker)
        self._limits.forget(worker.number)
        self._wake()
        if self._is_stopping:
            return
        self._pass_udp_on()
        now = self._reactor.seconds()
        pause = 0.0 if worker.is_retired else self._restarts.ended(now, is_last=not self._workers)
        if not pause:
            self._fork(worker.number)
            return
        self.log.error(
            "{worker} ended, as several did of late: another one is started in {pause:g} s",
            worker=str(worker),
            pause=pause,
            slot=worker.number,
            change=Mark(ChangeSort.WORKER, "waits", is_trouble=True),
        )
        self._pauses[worker.number] = self._reactor.callLater(pause, self._paused, worker.number)

    def _paused(self, number: int) -> None:
        del self._pauses[number]
        self._fork(number)

    def renew(self, patience: float, grace: float) -> str:
        """Have each worker followed by a new one, one after the other; say why not, if that cannot be.

        Their connections end as in ``drain``, and are cut after *grace* seconds.
        """
        if self._count < 2:
            return "there is no other worker that would serve meanwhile"
        if self._is_renewing or not self._all_serve():
            return "workers are being replaced already"
        Deferred.fromCoroutine(self._renew(patience, grace)).addErrback(self._renewing_failed)
        return ""

    async def _renew(self, patience: float, grace: float) -> None:
        self._is_renewing = True
        try:
            for number in range(self._count):
                worker = self._workers.get(number)
                if worker is None or self._is_stopping:
                    continue
                self.log.info(
                    "{worker} makes way for a new one",
                    worker=str(worker),
                    slot=worker.number,
                    change=Mark(ChangeSort.WORKER, "makes way"),
                )
                self._known.drains(worker)
                retired = Deferred.fromCoroutine(retire(worker, self._reactor, patience, grace))
                self._pass_udp_on()
                await retired
                await self._until_all_serve()
        finally:
            self._is_renewing = False
        if not self._is_stopping:
            self.log.info("All workers were replaced", change=Mark(ChangeSort.WORKER, "replaced"))

    def _renewing_failed(self, failure: Failure) -> None:
        self.log.failure("Workers could not be replaced, which is a bug", failure=failure)

    def _kill(self, worker: WorkerLink) -> None:
        """Have *worker* end at once."""
        self._fork_server.kill(worker.life, None if worker.is_gone else worker.pid)

    def _kill_if_there(self, worker: WorkerLink) -> None:
        if worker.life in self._lives and not self._is_stopping:
            self._kill(worker)

    def _lose_patience(self, worker: WorkerLink, *, is_late: bool) -> None:
        """Kill *worker* if it hangs; and where it was never forked, it is the fork server that does."""
        if worker.is_hung or not worker.looks.hangs(self._page.row(worker.number).beat, is_late):
            return
        worker.is_hung = True
        if worker.pid is None:
            self.log.error("The fork server has made no worker for a while, and is killed")
            self._fork_server.kill_itself()
            return
        self.log.error(
            "{worker} (process {pid}) has done nothing for a while, and is killed",
            worker=str(worker),
            pid=worker.pid,
            slot=worker.number,
            change=Mark(ChangeSort.WORKER, "hangs", is_trouble=True),
        )
        self._known.hangs(worker)
        self._kill(worker)

    # The fork server

    def _forked(self, life: int, pid: int) -> None:
        worker = self._lives[life]
        worker.pid = pid
        self._known.forked(worker)

    def _ended(self, life: int, status: int | None) -> None:
        worker = self._lives.pop(life)
        if status is None:
            return  # It never was, as the fork server has told.
        was_told = self._is_stopping or worker.is_retired
        self._known.ended(worker, status, was_told)
        if was_told and status == 0:
            return
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        self.log.error(
            "{worker} (process {pid}) ended {how}; its connections are cut, and another one follows",
            worker=str(worker),
            pid=worker.pid,
            how=how,
            slot=worker.number,
            change=Mark(ChangeSort.WORKER, "ended", is_trouble=True),
        )

    def _fork_server_gone(self) -> None:
        if not self._is_stopping:
            self._failed(
                StartError(
                    "the fork server of --workers ended, and without it none that ends can be followed"
                )
            )

    # Supervision

    def _look_later(self) -> None:
        self._looking = self._reactor.callLater(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        now = self._reactor.seconds()
        is_late = now - self._looked_at > LATE_LOOK_SECONDS
        self._looked_at = now
        for worker in tuple(self._workers.values()):
            self._lose_patience(worker, is_late=is_late)
        problems = worker_problems(self._restarts.trouble(now), self._keys_end - now)
        # How many of them ended is no news.
        if [one.reason for one in problems] != [one.reason for one in self._were_told]:
            self._troubled(problems)
            self._were_told = problems
        self._look_later()

    # What is told of them

    def workers(self) -> Sequence[WorkerState]:
        """Return what is known of each worker."""
        return self._known.states()

    def told(self) -> Deferred[None]:
        """Have workers tell what they have counted; fires when they have, or nobody is to wait for them any longer."""
        return self._known.told()

    def endpoints(self) -> Deferred[EndpointsSeen]:
        """Find out how endpoints are, from all workers that answer within a second."""
        return self._known.endpoints()

    # The end

    def begin_draining(self) -> None:
        """Have connections end when they rest; others are still accepted."""
        self._is_draining = True
        self._tell(messages.DRAINING)

    async def close(self) -> None:
        """Accept no more."""
        self._is_stopping = True
        for call in self._pauses.values():
            call.cancel()
        self._pauses.clear()
        self._to_fork.clear()
        self._wake()
        self._known.all_drain()
        closed = self._tell(messages.CLOSE)
        await self._held.close()
        await self._within(closed, STOP_SECONDS)

    def drain(self, patience: float = 0.0) -> Deferred[None]:
        """Have connections end, those at rest after *patience* seconds; fires when all have."""
        return self._tell(messages.DRAIN, to_bytes(patience))

    def abort(self) -> None:
        """End what still runs at once."""
        self._tell(messages.ABORT)

    async def stop(self) -> None:
        """Have all processes end; to be called at the very end."""
        self._is_stopping = True
        if self._looking is not None:
            self._looking.cancel()
        self._tell(messages.STOP)
        deadline = self._reactor.seconds() + STOP_SECONDS
        were_killed = False
        while self._workers:
            waiting: Deferred[None] = Deferred()
            self._waiting.append(waiting)
            if not await self._within(waiting, max(0.0, deadline - self._reactor.seconds())):
                if were_killed:
                    # Who was to do that hangs, too.
                    self._fork_server.kill_itself()
                for worker in self._workers.values():
                    self._kill(worker)
                were_killed = True
                deadline = self._reactor.seconds() + STOP_SECONDS
        if not await self._within(self._fork_server.close(), STOP_SECONDS):
            self._fork_server.kill_itself()

    async def _within(self, awaited: Deferred[None], seconds: float) -> bool:
        """Wait for *awaited*; return whether it fired within *seconds*."""
        awaited.addTimeout(seconds, self._reactor)
        try:
            await awaited
        except TimeoutError:
            return False
        return True

    def reopen_files(self) -> None:
        """Open the access log anew: somebody moved its file away."""
        self._tell(messages.REOPEN)


def _gone(failure: Failure) -> None:
    """Nobody is left to be asked: another worker is told all anew."""
    failure.trap(WorkerGoneError)
