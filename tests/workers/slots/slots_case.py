"""Slots whose workers nobody has serve anything."""

from datetime import UTC, datetime

from twisted.internet.testing import MemoryReactorClock

from ingress.metrics.metrics import Metrics
from ingress.process.shared.limit_memory import LimitMemory
from ingress.workers.feed.feeding import Feed
from ingress.workers.shared_page import SharedPage
from ingress.workers.slots.known_workers import KnownWorkers
from ingress.workers.slots.slots import Slots


def slots_of(reactor: MemoryReactorClock, count: int = 2) -> Slots:
    """Return *count* slots; nobody is told what becomes of them."""
    page = SharedPage(count)
    known = KnownWorkers(page, Metrics(), reactor, lambda: datetime(2026, 1, 1, tzinfo=UTC))
    return Slots(
        reactor,
        page,
        LimitMemory(count),
        Feed(reactor),
        known,
        began=lambda worker: None,
        pushed=lambda worker, name, payload: None,
        progressed=lambda worker: None,
        left=lambda: None,
        listening=lambda: 0,
        failed=lambda error: None,
        troubled=lambda problems: None,
    )
