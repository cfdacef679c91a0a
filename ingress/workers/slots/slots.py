"""All slots: that each has one worker after the other, whatever becomes of the ones before.

      a worker ends ──▶ its life is over, its slot gets another, at once or after a pause (``supervising``)
      a worker hangs ──▶ it is killed, and ends

What workers do is no matter here: whoever has the slots is told of each that began, and tells it the rest.
"""

import socket
from collections.abc import Callable
from typing import Any, Final

from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.errors import StartError
from ingress.model.cluster.problems import Problem
from ingress.model.observability.changes_and_failures import ChangeSort, Mark
from ingress.process.caps.descriptors import has_room
from ingress.process.shared.limit_memory import LimitMemory
from ingress.tls.bases import ROW_LENGTH, TICKET_KEYS_SECONDS
from ingress.workers.feed.feeding import Feed, Numbered
from ingress.workers.feed.follower import Follower
from ingress.workers.forking.fork_server import Run
from ingress.workers.forking.fork_server_link import ForkServerLink
from ingress.workers.shared_page import SharedPage
from ingress.workers.slots.known_workers import KnownWorkers
from ingress.workers.slots.retiring import retire
from ingress.workers.supervising import (
    FIRST_PAUSE_SECONDS,
    LATE_LOOK_SECONDS,
    LOOK_SECONDS,
    STOP_SECONDS,
    ForkServerLooks,
    Restarts,
    keeps_ports,
    worker_problems,
)
from ingress.workers.worker_link import WorkerLink

_DESCRIPTORS_OF_FORK: Final = 8
"""What a new worker takes of its parent's descriptors for a moment, besides a copy of each listening socket."""


class Slots:
    """As many slots as *page* has rows; *known* is told what becomes of their workers.

    *began* is told of each worker that is being forked, *pushed* what one says unasked, *progressed* that a snapshot was sent to
    it, and *left* is called when one takes nothing any more that is for one of them alone.  *listening* returns how many sockets
    a worker gets a copy of.  *failed* is told when workers can be made no more, and *troubled* what the operator is to know of
    them, when that is something else.
    """

    log = Logger()

    def __init__(
        self,
        reactor: Any,
        page: SharedPage,
        limits: LimitMemory,
        feed: Feed,
        known: KnownWorkers,
        *,
        began: Callable[[WorkerLink], None],
        pushed: Callable[[WorkerLink, str, bytes], None],
        progressed: Callable[[WorkerLink], None],
        left: Callable[[], None],
        listening: Callable[[], int],
        failed: Callable[[StartError], None],
        troubled: Callable[[tuple[Problem, ...]], None],
    ) -> None:
        self._reactor = reactor
        self._page = page
        self._limits = limits
        self._feed = feed
        self._known = known
        self._began = began
        self._pushed = pushed
        self._progressed = progressed
        self._left = left
        self._listening = listening
        self._failed = failed
        self._troubled = troubled
        self.fork_server = ForkServerLink(
            reactor, feed, self._fork_waiting, self._forked, self._ended, self._fork_server_gone
        )
        self.workers: dict[int, WorkerLink] = {}
        """Those that live, by their number."""
        self._lives: dict[int, WorkerLink] = {}
        """All whose end was not told yet, by life."""
        self._last_life = 0
        self._to_fork: list[int] = []
        self._restarts = Restarts()
        self._fork_server_looks = ForkServerLooks()
        self._pauses: dict[int, IDelayedCall] = {}
        self._looking: IDelayedCall | None = None
        self._looked_at = 0.0
        self.is_stopping = False
        """Whether nobody is started any more."""
        self._is_renewing = False
        self._were_told: tuple[Problem, ...] = ()
        self._keys_end = 0.0
        """When the ticket keys that workers have in common are used up."""
        self._waiting: list[Deferred[None]] = []

    # Start

    def prepare(self, run: Run, follower: Follower) -> None:
        """Fork the fork server; to be called before the reactor runs, and before there is any thread."""
        self.fork_server.prepare(run, follower, self._keeps_ports)

    def _keeps_ports(self, number: int) -> bool:
        row = self._page.row(number)
        return keeps_ports(row.accepts, row.silent_seconds)

    def start(self) -> None:
        """Talk to the fork server from now on; no slot is filled yet."""
        self.fork_server.start()
        self._looked_at = self._reactor.seconds()
        self._keys_end = self._looked_at + ROW_LENGTH * TICKET_KEYS_SECONDS
        self._look_later()

    async def fill(self) -> None:
        """Have a worker in each slot, and wait until all serve."""
        for number in range(self._page.rows):
            self.fork(number)
        await self._until_all_serve()

    async def _until_all_serve(self) -> None:
        while not self._all_serve() and not self.is_stopping:
            await self._until_something_changes()

    def _all_serve(self) -> bool:
        are_all = len(self.workers) == self._page.rows
        return are_all and all(one.is_serving for one in self.workers.values())

    def _until_something_changes(self) -> Deferred[None]:
        waiting: Deferred[None] = Deferred()
        self._waiting.append(waiting)
        return waiting

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.callback(None)

    def serves(self, worker: WorkerLink) -> None:
        """It has opened all that it was first asked to."""
        if worker.life > self._page.rows and not (worker.is_serving or worker.is_retired):
            self.log.info(
                "{worker} (process {pid}) serves in the place of one that ended",
                worker=str(worker),
                pid=worker.pid,
                change=Mark(ChangeSort.WORKER, "started"),
            )
        worker.is_serving = not worker.is_retired
        self._known.serves(worker)
        self._wake()

    # Forks

    def fork(self, number: int) -> None:
        """Have worker *number* forked as soon as the fork server is not amid a snapshot; does nothing where there is one."""
        if self.is_stopping or number in self.workers:
            return
        self._to_fork.append(number)
        self._fork_waiting()

    def _fork_waiting(self) -> None:
        while self._to_fork and (has := self.fork_server.has) is not None:
            number = self._to_fork.pop(0)
            if has_room(_DESCRIPTORS_OF_FORK + self._listening()):
                self._fork_now(number, has)
            elif not self.is_stopping:
                self.log.error(
                    "No descriptor is left to have worker {number} started with; trying again in {seconds:g} s",
                    number=number,
                    seconds=FIRST_PAUSE_SECONDS,
                )
                self._pauses[number] = self._reactor.callLater(FIRST_PAUSE_SECONDS, self._paused, number)
        self.fork_server.advance()

    def _fork_now(self, number: int, has: Numbered) -> None:
        if self.is_stopping or number in self.workers:
            return
        self._page.clear(number)
        self._last_life += 1
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        worker = WorkerLink(
            self._reactor, number, self._last_life, self._pushed, self._progressed, self._worker_gone
        )
        worker.behind = self._feed.current.number
        self.workers[number] = worker
        self._lives[worker.life] = worker
        self._known.began(worker)
        self.fork_server.fork(worker.life, number, theirs)
        worker.begin(ours, self._feed, has)
        self._began(worker)

    def _paused(self, number: int) -> None:
        del self._pauses[number]
        self.fork(number)

    def _forked(self, life: int, pid: int) -> None:
        worker = self._lives[life]
        worker.pid = pid
        self._known.forked(worker)

    # Ends

    def _worker_gone(self, worker: WorkerLink) -> None:
        """The channel of *worker* ended, and so do its connections: have another one."""
        if self.workers.get(worker.number) is worker:
            del self.workers[worker.number]
        self._known.gone(worker)
        self._page.clear(worker.number)
        # Whatever it still does, nobody can tell it to end; but who was told has a moment for it.
        if worker.is_retired and not self.is_stopping:
            self._reactor.callLater(STOP_SECONDS, self._kill_if_there, worker)
        else:
            self._kill(worker)
        self._limits.forget(worker.number)
        self._wake()
        if self.is_stopping:
            return
        self._left()
        now = self._reactor.seconds()
        pause = 0.0 if worker.is_retired else self._restarts.ended(now, is_last=not self.workers)
        if not pause:
            self.fork(worker.number)
            return
        self.log.error(
            "{worker} ended, as several did of late: another one is started in {pause:g} s",
            worker=str(worker),
            pause=pause,
            slot=worker.number,
            change=Mark(ChangeSort.WORKER, "waits", is_trouble=True),
        )
        self._pauses[worker.number] = self._reactor.callLater(pause, self._paused, worker.number)

    def _ended(self, life: int, status: int | None) -> None:
        worker = self._lives.pop(life)
        if status is None:
            return  # It never was, as the fork server has told.
        was_told = self.is_stopping or worker.is_retired
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
        if not self.is_stopping:
            self._failed(
                StartError(
                    "the fork server of --workers ended, and without it none that ends can be followed"
                )
            )

    def _kill(self, worker: WorkerLink) -> None:
        """Have *worker* end at once."""
        self.fork_server.kill(worker.life, None if worker.is_gone else worker.pid)

    def _kill_if_there(self, worker: WorkerLink) -> None:
        if worker.life in self._lives and not self.is_stopping:
            self._kill(worker)

    # One after the other

    def renew(self, patience: float, grace: float) -> str:
        """Have each worker followed by a new one, one after the other; say why not, if that cannot be.

        Their connections end as when all drain, and are cut after *grace* seconds.
        """
        if self._page.rows < 2:
            return "there is no other worker that would serve meanwhile"
        if self._is_renewing or not self._all_serve():
            return "workers are being replaced already"
        Deferred.fromCoroutine(self._renew(patience, grace)).addErrback(self._renewing_failed)
        return ""

    async def _renew(self, patience: float, grace: float) -> None:
        self._is_renewing = True
        try:
            for number in range(self._page.rows):
                worker = self.workers.get(number)
                if worker is None or self.is_stopping:
                    continue
                self.log.info(
                    "{worker} makes way for a new one",
                    worker=str(worker),
                    slot=worker.number,
                    change=Mark(ChangeSort.WORKER, "makes way"),
                )
                self._known.drains(worker)
                retired = Deferred.fromCoroutine(retire(worker, self._reactor, patience, grace))
                self._left()
                await retired
                await self._until_all_serve()
        finally:
            self._is_renewing = False
        if not self.is_stopping:
            self.log.info("All workers were replaced", change=Mark(ChangeSort.WORKER, "replaced"))

    def _renewing_failed(self, failure: Failure) -> None:
        self.log.failure("Workers could not be replaced, which is a bug", failure=failure)

    # Supervision

    def _look_later(self) -> None:
        self._looking = self._reactor.callLater(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        now = self._reactor.seconds()
        is_late = now - self._looked_at > LATE_LOOK_SECONDS
        self._looked_at = now
        for worker in tuple(self.workers.values()):
            self._lose_patience(worker, is_late=is_late)
        self._look_at_fork_server(is_late=is_late)
        problems = worker_problems(self._restarts.trouble(now), self._keys_end - now)
        # How many of them ended is no news.
        if [one.reason for one in problems] != [one.reason for one in self._were_told]:
            self._troubled(problems)
            self._were_told = problems
        self._look_later()

    def _look_at_fork_server(self, *, is_late: bool) -> None:
        """Kill the fork server if it hangs while it is to make a worker, be it once it has a snapshot, or to kill one."""
        is_asked = self.fork_server.is_open and (
            bool(self._to_fork) or any(one.pid is None or one.is_hung for one in self.workers.values())
        )
        if self._fork_server_looks.hangs(self.fork_server.told, is_asked=is_asked, is_late=is_late):
            self.log.error("The fork server has done nothing that it was asked for a while, and is killed")
            self.fork_server.kill_itself()

    def _lose_patience(self, worker: WorkerLink, *, is_late: bool) -> None:
        """Kill *worker* if it hangs."""
        if worker.is_hung or worker.pid is None:
            return
        if not worker.looks.hangs(self._page.row(worker.number).beat, is_late):
            return
        worker.is_hung = True
        self.log.error(
            "{worker} (process {pid}) has done nothing for a while, and is killed",
            worker=str(worker),
            pid=worker.pid,
            slot=worker.number,
            change=Mark(ChangeSort.WORKER, "hangs", is_trouble=True),
        )
        self._known.hangs(worker)
        self._kill(worker)

    # The end

    def close(self) -> None:
        """Have nobody started any more; those that live are left alone."""
        self.is_stopping = True
        for call in self._pauses.values():
            call.cancel()
        self._pauses.clear()
        self._to_fork.clear()
        self._wake()

    async def stop(self) -> None:
        """Have all processes gone; workers were told to end, and those that do not are killed."""
        self.close()
        if self._looking is not None:
            self._looking.cancel()
        deadline = self._reactor.seconds() + STOP_SECONDS
        were_killed = False
        while self.workers:
            left = max(0.0, deadline - self._reactor.seconds())
            if not await within(self._until_something_changes(), left, self._reactor):
                if were_killed:
                    # Who was to do that hangs, too.
                    self.fork_server.kill_itself()
                for worker in self.workers.values():
                    self._kill(worker)
                were_killed = True
                deadline = self._reactor.seconds() + STOP_SECONDS
        if not await within(self.fork_server.close(), STOP_SECONDS, self._reactor):
            self.fork_server.kill_itself()


async def within(awaited: Deferred[None], seconds: float, clock: IReactorTime) -> bool:
    """Wait for *awaited*; return whether it fired within *seconds* of *clock*."""
    awaited.addTimeout(seconds, clock)
    try:
        await awaited
    except TimeoutError:
        return False
    return True
