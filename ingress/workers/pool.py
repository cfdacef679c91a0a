"""The parent's side: several workers as one data plane.

    prepare ──▶ start ──▶ begin_with ──▶ publish ──▶ follow: sockets are bound, and workers forked, which open them

That there is a worker in each slot, and who follows one that ends, is a matter of ``slots``; here is what all of them serve.

The fork server is forked in ``prepare``, when there is neither a thread nor a reactor that runs.  Once it is gone no worker can be
made in a way that is safe, for there are threads now; so the process ends in an orderly way then, while its workers serve on.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from attrs import evolve
from twisted.internet.defer import Deferred, DeferredList
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.data_plane import SocketOf, bound_anew, now
from ingress.errors import StartError
from ingress.history.rings import Ring
from ingress.metrics.metrics import Metrics
from ingress.model.cluster.problems import Problem
from ingress.model.network.listeners import Listener
from ingress.model.observability.changes_and_failures import Failure as FailedExchange
from ingress.model.observability.endpoint_states import EndpointsSeen
from ingress.model.observability.workers import WorkerState
from ingress.process.caps.descriptors import has_room
from ingress.process.logs.access_log_output import output_to
from ingress.process.shared.limit_memory import LimitMemory
from ingress.process.shared.worker_part import WorkerPart
from ingress.settings import Settings
from ingress.translate.snapshot import Snapshot
from ingress.workers import messages
from ingress.workers.accepting.held_listeners import Held, HeldListeners
from ingress.workers.accepting.udp_turn import UdpTurn
from ingress.workers.feed.feeding import Feed
from ingress.workers.feed.follower import Follower
from ingress.workers.forking.fresh_process import can_be_renewed
from ingress.workers.messages import Wanted, to_bytes, wanted_to_bytes
from ingress.workers.shared_page import SharedPage
from ingress.workers.slots.known_workers import KnownWorkers
from ingress.workers.slots.slots import Slots, within
from ingress.workers.supervising import FIRST_PAUSE_SECONDS, STOP_SECONDS
from ingress.workers.telling.failures import ToldFailures
from ingress.workers.worker import runner
from ingress.workers.worker_link import WorkerGoneError, WorkerLink

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
        self._addresses = addresses
        self._told_addresses: frozenset[str] = frozenset()
        self._feed = Feed(reactor)
        self._held = HeldListeners(
            reactor, socket_of, self._listeners_changed, refused, self.following_failed
        )
        self._udp_turn: UdpTurn[WorkerLink] = UdpTurn()
        self._decided: dict[str, Any] = {}
        self._is_wanted = self._is_following = self._is_draining = False
        metrics = metrics or Metrics()
        self._known = KnownWorkers(self._page, metrics, reactor, now)
        self._slots = Slots(
            reactor,
            self._page,
            self._limits,
            self._feed,
            self._known,
            began=self._began,
            pushed=self._push,
            progressed=self._advance,
            left=self._pass_udp_on,
            listening=lambda: len(self._held.held),
            failed=failed,
            troubled=troubled,
        )
        self._workers = self._slots.workers
        metrics.workers.fork_server = lambda: self._slots.fork_server.pid
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
        self._slots.prepare(run, follower)

    def start(self) -> None:
        """Talk to the fork server from now on; nobody is served before listeners are open."""
        self._slots.start()

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
        self._slots.fork_server.advance()

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
            await self._slots.fill()
        finally:
            self._is_following = False

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
        is_ending = self._slots.is_stopping or worker.is_retired
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
            opened.addCallbacks(lambda _: self._slots.serves(worker), _gone)

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

    def _began(self, worker: WorkerLink) -> None:
        """Tell a new worker what it is to know before it serves."""
        worker.ask(messages.BEGIN, to_bytes(self._decided)).addErrback(_gone)
        worker.ask(messages.ADDRESSES, to_bytes(sorted(self._told_addresses))).addErrback(_gone)
        if self._is_draining:
            worker.ask(messages.DRAINING).addErrback(_gone)
        self._advance(worker)

    def renew(self, patience: float, grace: float) -> str:
        """Have each worker followed by a new one, one after the other; say why not, if that cannot be.

        Their connections end as in ``drain``, and are cut after *grace* seconds.
        """
        return self._slots.renew(patience, grace)

    def _push(self, worker: WorkerLink, name: str, payload: bytes) -> None:
        told = self.pushed.get(name)
        if told is not None:
            told(worker.life, payload)

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
        self._slots.close()
        self._known.all_drain()
        closed = self._tell(messages.CLOSE)
        await self._held.close()
        await within(closed, STOP_SECONDS, self._reactor)

    def drain(self, patience: float = 0.0) -> Deferred[None]:
        """Have connections end, those at rest after *patience* seconds; fires when all have."""
        return self._tell(messages.DRAIN, to_bytes(patience))

    def abort(self) -> None:
        """End what still runs at once."""
        self._tell(messages.ABORT)

    async def stop(self) -> None:
        """Have all processes end; to be called at the very end."""
        self._slots.close()
        self._tell(messages.STOP)
        await self._slots.stop()

    def reopen_files(self) -> None:
        """Open the access log anew: somebody moved its file away."""
        self._tell(messages.REOPEN)


def _gone(failure: Failure) -> None:
    """Nobody is left to be asked: another worker is told all anew."""
    failure.trap(WorkerGoneError)
