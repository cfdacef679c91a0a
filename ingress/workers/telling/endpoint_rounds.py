"""The parent asks all workers how their endpoints are, when somebody looks.

All who look while they are being asked get the same answer.  A worker that does not answer within ``PATIENCE_SECONDS`` is left out and
named; it is asked no more until it has answered, so that one that hangs is not sent question after question.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final

from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.python.failure import Failure

from ingress.model.frozen import frozen
from ingress.model.observability.endpoint_states import EndpointsSeen, seen_by
from ingress.process.in_slices import OneForAll, in_slices

PATIENCE_SECONDS: Final = 1.0
"""How long workers have to answer."""


@frozen
class Answering:
    """A worker, and its answer to come; None where it is not asked, since it owes one."""

    slot: int
    answer: Deferred[bytes] | None


class EndpointRounds:
    """Asks by *ask*, which gets the lives that still owe an answer, and returns who there is by life."""

    def __init__(
        self, clock: IReactorTime, ask: Callable[[Collection[int]], Mapping[int, Answering]]
    ) -> None:
        self._clock = clock
        self._ask = ask
        self._owing: set[int] = set()
        self._look: OneForAll[EndpointsSeen] = OneForAll(self._round)

    def __call__(self) -> Deferred[EndpointsSeen]:
        """Return what fires with what workers say together; it may be cancelled."""
        return self._look()

    def _round(self) -> Deferred[EndpointsSeen]:
        asked = self._ask(self._owing)
        # Who has ended is asked no more, and owes nothing.
        self._owing.intersection_update(asked)
        said: dict[int, bytes | None] = {one.slot: None for one in asked.values()}
        known = [self._heard(life, one, said) for life, one in asked.items() if one.answer is not None]
        over: Deferred[None] = Deferred()
        late: IDelayedCall = self._clock.callLater(PATIENCE_SECONDS, over.callback, None)

        def all_said(_: object) -> None:
            if late.active():
                late.cancel()
                over.callback(None)

        DeferredList(known).addCallback(all_said)
        return over.addCallback(lambda _: in_slices(self._clock, seen_by(dict(said))))

    def _heard(self, life: int, worker: Answering, said: dict[int, bytes | None]) -> Deferred[None]:
        assert worker.answer is not None
        self._owing.add(life)

        def answered(octets: bytes) -> None:
            self._owing.discard(life)
            said[worker.slot] = octets

        def gone(_: Failure) -> None:
            self._owing.discard(life)

        return worker.answer.addCallbacks(answered, gone)
