"""The attempts of one exchange: which endpoint is asked, which one after it, and what became of each.

What follows from a fault stands in ``ingress.proxy.contract.faults``; this decides by it, and keeps the
books.  Nothing here sends or waits.  A further attempt goes to another endpoint, unless a kept connection was stale, or one
that others use declined the request: then to the same one on a new connection, and next on one of its own.
"""

from collections.abc import Callable
from typing import Final

from ingress.model.exchanges.records import AttemptRecord
from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.retries import RetryRule
from ingress.proxy.contract.faults import ANY, Fault, Reuse, Row, Step, fault_of_connecting, next_step
from ingress.proxy.upstream.rotation import Rotation
from ingress.routing.balancing.health import Liveness

MOST_BACKOFFS: Final = 10
"""Of the first pause before a retry, as much as any may last."""
# Not by its name, which is a call more for each request.
_new: Final = tuple.__new__
_STATUSES: Final = tuple(map(str, range(1000)))
_NONE_TRIED: Final[frozenset[Endpoint]] = frozenset()
NONE_MADE: Final[tuple[AttemptRecord, ...]] = ()


class Attempts:
    """Where one exchange went, and where it goes next.  All times are seconds since it began."""

    __slots__ = (
        "answered",
        "began",
        "connected",
        "endpoint",
        "is_reused",
        "is_under_way",
        "key",
        "outcome",
        "over",
        "pause",
        "pauses",
        "retries",
        "reuse",
        "rotation",
        "told",
        "tried",
        "tries",
    )

    def __init__(self, rotation: Rotation, retries: RetryRule, key: bytes) -> None:
        """Choose an endpoint of *rotation*, by *key* where that is how it chooses."""
        self.rotation = rotation
        self.retries = retries
        self.key = key
        self.endpoint: Endpoint | None = rotation.pick((), key)
        """The one that is asked, or was asked last; None where the backend has none."""
        self.tries = 1
        """Endpoints that were tried; a new connection for a stale one does not count."""
        self.tried = _NONE_TRIED
        """Those that failed."""
        self.over = NONE_MADE
        """The attempts before the last one."""
        self.pause = 0.0
        """How long to wait before the attempt that was chosen last."""
        self.pauses = 0
        """How often that was asked for."""
        self.reuse = ANY
        """Which connection will do for the attempt that was chosen last."""
        self.is_under_way = True
        """Whether the last one is not among these yet."""
        self.began = 0.0
        """When its endpoint was chosen."""
        self.outcome = ""
        """What became of it, where that is not what the client was told: a status in digits, or a fault in words."""
        self.answered: float | None = None
        """When that was known, where it was before the end of the exchange."""
        self.connected = -1.0
        """When it had a connection; -1.0 as long as it has none."""
        self.is_reused = False
        """Whether that had been used before."""
        self.told: float | None = None
        """When the balancer was told that it began; None where it does not want to know."""

    def choose_roomy(self, has_room: Callable[[Endpoint], bool]) -> Endpoint | None:
        """Choose an endpoint that may have another connection, as if the others were not there; None: none may."""
        assert self.endpoint is not None
        passed_over = {self.endpoint, *self.tried}
        while (endpoint := self.rotation.another(passed_over, self.key)) is not None:
            if has_room(endpoint):
                self.endpoint = endpoint
                return endpoint
            passed_over.add(endpoint)
        self.endpoint = self.over[-1].endpoint if self.over else None
        self.is_under_way = False
        return None

    def go_on(self, row: Row, outcome: str, method: bytes, is_held: bool, now: float) -> Step:
        """Decide what follows *row*, and choose the endpoint of the attempt that does, if any.

        *is_held* says that all that was sent of the body, if anything, can be sent again; *outcome* is what became of the
        attempt until *now*.
        """
        endpoint = self.endpoint
        assert endpoint is not None
        step = next_step(row, self.retries, method, is_held, self.tries, now)
        if step is Step.FAIL:
            return step
        if step is Step.RENEW and self.rotation.may_renew(endpoint):
            another: Endpoint | None = endpoint
            self.pause = 0.0
            # Others may have come to the new one first; to the next nobody does.
            self.reuse = Reuse.NEW if self.reuse is Reuse.ANY else Reuse.OWN
        else:
            self.reuse = Reuse.NEW if step is Step.RENEW else Reuse.ANY
            self.tried |= {endpoint}
            another = self._next(endpoint)
            self.tries += 1
        if another is None:
            return Step.FAIL
        self.tell_ended(now, failed=True)
        self.over += (AttemptRecord(endpoint, outcome, self.began, now, self.connected, now, self.is_reused),)
        self.endpoint = another
        self.began = now
        self.outcome, self.answered = "", None
        self.connected, self.is_reused = -1.0, False
        return step

    def _next(self, failed: Endpoint) -> Endpoint | None:
        """Choose an endpoint that is tried after *failed*, and how long to wait before; None where none is left."""
        rule = self.retries
        another = self.rotation.another(self.tried, self.key)
        waits = rule.always_waits
        if another is None and rule.returns and self.rotation.endpoints:
            waits = True
            self.tried = frozenset((failed,))
            another = self.rotation.another(self.tried, self.key) or failed
        self.pause = 0.0
        if waits and rule.backoff_seconds:
            self.pause = rule.backoff_seconds * min(2**self.pauses, MOST_BACKOFFS)
            self.pauses = min(self.pauses + 1, MOST_BACKOFFS)
        return another

    def conclude(self, outcome: str, now: float) -> None:
        """Note what became of the last one, unless that is known."""
        if not self.outcome:
            self.outcome = outcome
            self.answered = now

    def finished(self, status: int, seconds: float) -> tuple[AttemptRecord, ...]:
        """Return what became of all of them, once the exchange is over after *seconds*, and the client was told *status*."""
        if self.told is not None:
            self.tell_ended(seconds, failed=status >= 499)
        if not self.is_under_way or self.endpoint is None:
            return self.over
        ended, outcome = seconds if self.answered is None else self.answered, self.outcome
        over = ended if outcome and not outcome.isdigit() else seconds
        last = _new(AttemptRecord, (self.endpoint, outcome or _STATUSES[status], self.began, ended, self.connected, over, self.is_reused))  # fmt: skip
        return (*self.over, last) if self.over else (last,)

    # What others want to know

    def tell_began(self, now: float) -> None:
        """Tell the balancer that an attempt begins."""
        assert self.endpoint is not None
        self.told = now
        self.rotation.began(self.endpoint)

    def tell_ended(self, now: float, failed: bool) -> None:
        """Tell the balancer, if it wants to know, that it ended."""
        if self.told is not None:
            assert self.endpoint is not None
            began, self.told = self.told, None
            self.rotation.ended(self.endpoint, now - began, failed)

    def reached(self) -> None:
        """The endpoint was connected to."""
        assert self.endpoint is not None
        self.rotation.reached(self.endpoint)

    def unreachable(self, why: str, is_first: bool) -> Fault:
        """The endpoint could not be connected to; return what kind of fault that is.

        Where several waited for one connection, only one of them *is_first*.
        """
        assert self.endpoint is not None
        fault = fault_of_connecting(why)
        if is_first and fault is not Fault.NO_SOCKET:
            self.rotation.unreachable(self.endpoint)
        return fault

    def silent(self, liveness: Liveness) -> None:
        """The endpoint said nothing for as long as it may."""
        assert self.endpoint is not None
        self.rotation.silent(self.endpoint, liveness)
