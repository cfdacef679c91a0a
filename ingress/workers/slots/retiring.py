"""How one worker makes way for a new one of the same number, while all others serve.

    CLOSE: it accepts no more ──▶ DRAIN: what runs ends, for as long as the grace ──▶ ABORT ──▶ STOP: it ends, and another follows

Two of one number are never there at the same time: what workers have together is kept by number.
"""

from twisted.internet.defer import TimeoutError
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from ingress.workers import messages
from ingress.workers.messages import to_bytes
from ingress.workers.worker_link import WorkerGoneError, WorkerLink


async def retire(worker: WorkerLink, clock: IReactorTime, patience: float, grace: float) -> None:
    """Have *worker* accept no more, and end once its connections have.

    Those at rest have *patience* seconds for another request; *grace* seconds later what is left is cut.
    """
    worker.is_retired, worker.is_serving = True, False
    try:
        await worker.ask(messages.DRAINING)
        await worker.ask(messages.CLOSE)
        drained = worker.ask(messages.DRAIN, to_bytes(patience))
        drained.addTimeout(grace, clock)
        try:
            await drained
        except TimeoutError:
            worker.ask(messages.ABORT).addErrback(_gone)
        await worker.ask(messages.STOP)
    except WorkerGoneError:
        return  # It has ended before, which is what it was to do.


def _gone(failure: Failure) -> None:
    failure.trap(WorkerGoneError)
