"""What the parent knows of its workers, for whoever asks: how each is, and what all of them have counted."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from ingress.metrics.metrics import Metrics
from ingress.model.observability.endpoint_states import EndpointsSeen
from ingress.model.observability.workers import WorkerState
from ingress.workers import messages
from ingress.workers.accepting.accept_turn import LONGEST_BEAT_SECONDS
from ingress.workers.shared_page import SharedPage
from ingress.workers.slots.slot_states import SlotStates
from ingress.workers.telling.endpoint_rounds import Answering, EndpointRounds
from ingress.workers.telling.pool_metrics import PoolMetrics
from ingress.workers.worker_link import WorkerLink


class KnownWorkers:
    """Is told what becomes of workers, and has *metrics* show what they count.  *now* returns the time of day, with its zone."""

    def __init__(
        self, page: SharedPage, metrics: Metrics, clock: IReactorTime, now: Callable[[], datetime]
    ) -> None:
        self._page = page
        self._slots = SlotStates(page.rows, now)
        self._numbers = PoolMetrics(metrics, clock, self._ask)
        self._endpoints = EndpointRounds(clock, self._ask_of_endpoints)
        self._links: dict[int, WorkerLink] = {}
        """The workers that there are, by slot."""

    def began(self, worker: WorkerLink) -> None:
        """It is being forked."""
        self._links[worker.number] = worker
        self._slots.began(worker.number)
        self._numbers.began(worker.life, worker.number)

    def forked(self, worker: WorkerLink) -> None:
        """Its process id is known."""
        if worker.pid is not None and self._is_there(worker):
            self._slots.has_pid(worker.number, worker.pid)

    def serves(self, worker: WorkerLink) -> None:
        """It has opened its listeners."""
        self._slots.serves(worker.number)

    def tells(self, life: int, octets: bytes) -> None:
        """Take a tally."""
        self._numbers.took(life, octets)

    def slot_of(self, life: int) -> int | None:
        """Return the slot of the worker in that life; None once it has ended."""
        return next((slot for slot, worker in self._links.items() if worker.life == life), None)

    def hangs(self, worker: WorkerLink) -> None:
        """It is killed, since it gave no sign of life."""
        self._slots.hangs(worker.number)

    def drains(self, worker: WorkerLink) -> None:
        """It accepts no more."""
        self._slots.drains(worker.number)

    def all_drain(self) -> None:
        """None accepts any more."""
        for slot in self._links:
            self._slots.drains(slot)

    def gone(self, worker: WorkerLink) -> None:
        """Its channel has ended, and all that it told has come."""
        if self._is_there(worker):
            self._slots.gone(worker.number)
            del self._links[worker.number]
        self._numbers.gone(worker.life)

    def ended(self, worker: WorkerLink, status: int, was_told: bool) -> None:
        """It has ended with *status*, less than 0 for a signal; *was_told* says that it was to."""
        if self._is_there(worker):
            # Its channel has something left to read.
            self._slots.gone(worker.number)
        self._slots.ended(worker.number, status, worker.is_hung, was_told)

    def _is_there(self, worker: WorkerLink) -> bool:
        return self._links.get(worker.number) is worker

    def states(self) -> Sequence[WorkerState]:
        """Return what is known of each slot."""
        return tuple(map(self._with_live_numbers, self._slots.states()))

    def _with_live_numbers(self, state: WorkerState) -> WorkerState:
        worker, row = self._links.get(state.slot), self._page.row(state.slot)
        if worker is None or worker.fed is None:
            return state
        return evolve(
            state,
            connections=row.connections,
            lateness_seconds=max(row.lateness_seconds, row.silent_seconds - LONGEST_BEAT_SECONDS),
            snapshot=worker.fed.taken,
            behind_seconds=worker.fed.behind_seconds,
        )

    def told(self) -> Deferred[None]:
        """Have workers tell what they have counted; fires when they have, or nobody is to wait for them any longer."""
        return self._numbers.told()

    def endpoints(self) -> Deferred[EndpointsSeen]:
        """Find out how endpoints are, from all workers that answer in time."""
        return self._endpoints()

    def _ask_of_endpoints(self, owing: Collection[int]) -> Mapping[int, Answering]:
        return {
            worker.life: Answering(slot, None if worker.life in owing else worker.ask(messages.ENDPOINTS))
            for slot, worker in self._links.items()
        }

    def _ask(self, owing: Collection[int]) -> Mapping[int, Deferred[bytes]]:
        return {
            worker.life: worker.ask(messages.TALLY)
            for worker in self._links.values()
            if worker.life not in owing
        }
