"""What all exchanges of a process share: clock, bounds, pool, replies, log, counters, ids."""

from collections.abc import Callable
from random import Random

from twisted.internet.interfaces import IReactorTime

from ingress.metrics.metrics import Metrics
from ingress.model.limits import Limits
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.exchange.access_log import AccessLog
from ingress.proxy.exchange.replies import Replies
from ingress.proxy.exchange.upstream_errors import UpstreamErrorLog
from ingress.proxy.upstream.pool import UpstreamPool

_IDS = 64
"""Request ids that are made in one go."""


class ExchangeContext:
    """The parts that every exchange needs; *random* makes the ids of requests."""

    def __init__(
        self,
        clock: IReactorTime,
        pool: UpstreamPool,
        deadlines: Deadlines,
        replies: Replies,
        access_log: AccessLog,
        metrics: Metrics,
        random: Random,
        limits: Limits = Limits(),  # noqa: B008 - it is frozen
    ) -> None:
        self.clock = clock
        self.limits = limits
        self.pool = pool
        self.deadlines = deadlines
        self.replies = replies
        self.access_log = access_log
        self.metrics = metrics
        self.upstream_errors = UpstreamErrorLog(clock)
        self.is_cutting_off = False
        """Whether connections end because the process does, and not because their clients left."""
        self._random_bits: Callable[[int], int] = random.getrandbits
        self._request_ids: list[bytes] = []

    def new_request_id(self) -> bytes:
        """Return 32 hexadecimal digits that no other request has."""
        ids = self._request_ids
        if not ids:
            # Many at once cost little more than one.
            digits = self._random_bits(128 * _IDS).to_bytes(16 * _IDS, "big").hex().encode()
            ids.extend(digits[at : at + 32] for at in range(0, 32 * _IDS, 32))
        return ids.pop()
