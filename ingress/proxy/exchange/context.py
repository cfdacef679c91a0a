"""What all exchanges of a process share: clock, bounds, pool, replies, log, counters, ids."""

from collections.abc import Callable, Iterable
from itertools import chain, repeat
from random import Random
from typing import Final

from twisted.internet.interfaces import IReactorTime

from ingress.metrics.metrics import Metrics
from ingress.model.exchanges.records import Record
from ingress.model.serving.limits import Limits
from ingress.proxy.contract.burst import Burst
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.contract.faults import State
from ingress.proxy.exchange.bugs import log_bug
from ingress.proxy.exchange.filtering.filter_errors import FilterErrorLog
from ingress.proxy.exchange.loops import Loops
from ingress.proxy.exchange.replies import Replies
from ingress.proxy.exchange.upstream_errors import UpstreamErrorLog
from ingress.proxy.upstream.pool import UpstreamPool
from ingress.tracing.tracer import Tracer

_IDS: Final = 64
"""Request ids that are made in one go."""
MOST_UNTOLD: Final = 256
"""Ends of exchanges that are told together; about as many as one turn has."""
Listeners = tuple[Callable[[Record], None], ...]


class ExchangeContext:
    """The parts that every exchange needs; *random* makes the ids of requests."""

    def __init__(
        self,
        clock: IReactorTime,
        pool: UpstreamPool,
        deadlines: Deadlines,
        replies: Replies,
        metrics: Metrics,
        random: Random,
        limits: Limits = Limits(),  # noqa: B008 - it is frozen
        listeners: Iterable[Callable[[Record], None]] = (),
        failed: Callable[[Record], None] = lambda record: None,
    ) -> None:
        """*listeners* get the record of each exchange once it is over, in their order; after them *failed* of those that failed."""
        self.clock = clock
        self.seconds: Callable[[], float] = clock.seconds
        """Its time, for what asks at every request."""
        self.limits = limits
        self.pool = pool
        self.deadlines = deadlines
        self.replies = replies
        self.metrics = metrics
        self.upstream_errors = UpstreamErrorLog(clock)
        self.filter_errors = FilterErrorLog(clock, metrics.filters)
        self.loops = Loops()
        """How many requests wait for their answers with the ids that they came with."""
        self.is_cutting_off = False
        """Whether connections end because the process does, and not because their clients left."""
        self.takes_underscores = False
        """Whether request fields with underscores in their names go on; may be set anew at any time."""
        self.listeners = self._usual_listeners = tuple(listeners)
        self.failed = failed
        self.burst = Burst()
        """While it is on, ends of exchanges are told behind it."""
        self._untold: list[tuple[Record, Listeners]] = []
        self.tracer: Tracer | None = None
        """Who is asked and told about traces; None where nobody traces, which costs nothing."""

        def new_ids(bits: Callable[[int], int]) -> list[bytes]:
            # Many at once cost little more than one.
            digits = bits(128 * _IDS).to_bytes(16 * _IDS, "big").hex().encode()
            return [digits[at : at + 32] for at in range(0, 32 * _IDS, 32)]

        self.new_request_id: Callable[[], bytes] = chain.from_iterable(
            map(new_ids, repeat(random.getrandbits))
        ).__next__
        """Returns 32 hexadecimal digits that no other request has."""

    def trace_by(self, tracer: Tracer | None) -> None:
        """Have exchanges traced by *tracer* from now on; None for not at all."""
        self.tracer = tracer
        also = () if tracer is None else (tracer.exchange_over,)
        self.listeners = self._usual_listeners + also

    def tell_behind(self, record: Record, listeners: Listeners) -> None:
        """Tell *listeners* of the end of an exchange once the answers of this burst are sent, which would wait for that otherwise."""
        untold = self._untold
        untold.append((record, listeners))
        if len(untold) == 1:
            self.burst.calls.append(self._tell_all)
        elif len(untold) >= MOST_UNTOLD:
            self._tell_all()

    def _tell_all(self) -> None:
        untold, self._untold = self._untold, []
        for record, listeners in untold:
            try:
                for listener in listeners:
                    listener(record)
            except Exception:
                log_bug(record.host, State.DONE, record.id)
