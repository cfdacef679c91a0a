"""What limits cost in memory, and how long one request of a flood takes: ``make bench-limits`` prints it.

A million addresses ask once and then once more, each within two limits; then others come, for which room has to be
made; then nobody asks any more, and in the end the limit is gone.  Memory is what the system says that the process holds.  Times are those of the processor.

The second table is for what several workers share: the same flood, in shared memory; what a verdict of the filter costs beside that of one process; and how
many requests too many two processes let pass that ask for one client at the same time.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from resource import getpagesize
from statistics import median
from time import monotonic, thread_time
from types import FrameType
from typing import Any

from attrs import Factory, define
from twisted.internet.task import Clock as TwistedClock

from ingress.annotations.rate_limits.family import RequestLimit
from ingress.annotations.rate_limits.leaky_buckets import (
    ONE,
    PAUSE_SECONDS,
    Buckets,
    BucketStore,
    Rate,
    Rates,
)
from ingress.annotations.rate_limits.shared_buckets import SharedBuckets
from ingress.filters import Filter
from ingress.process.shared.shared_table import SharedTable
from ingress.proxy.exchange.filtering.services import FilterClock
from tests.fakes.filter_parts import FakeFacts, FakeServices

CLIENTS = 1_000_000
MORE = 300_000
VERDICTS = 50_000
QUIET = RequestLimit("Ingress bench/a", 100)
SPECS = {
    "quiet": QUIET,
    "within the burst": RequestLimit("Ingress bench/a", 1, multiplier=2_000_000),
    "beyond it": RequestLimit("Ingress bench/a", 1, multiplier=0),
    "two rates, within": RequestLimit("Ingress bench/a", 1, 1, multiplier=2_000_000),
}
RATES = Rates(Rate(5 * ONE, 25 * ONE), Rate(ONE // 60, 5 * ONE))


def _memory() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * getpagesize()


def _shared_memory() -> int:
    return int(Path("/proc/self/status").read_text("ascii").split("RssShmem:")[1].split()[0]) * 1024


def _addresses(network: int, count: int) -> Iterator[bytes]:
    for number in range(count):
        yield b"%d.%d.%d.%d" % (network + (number >> 24), number >> 16 & 255, number >> 8 & 255, number & 255)


@define
class _Flood:
    clock: TwistedClock = Factory(TwistedClock)
    memory: Callable[[], int] = _memory
    began: int = Factory(lambda flood: flood.memory(), takes_self=True)

    def of(self, title: str, buckets: BucketStore, asker: Filter, network: int, count: int) -> None:
        """Have so many ask once, and print what that took."""
        zone = buckets.zone("bench", RATES, asker)
        longest = whole = 0.0
        for client in _addresses(network, count):
            before = thread_time()
            buckets.take(zone, RATES, client)
            took = thread_time() - before
            whole += took
            longest = max(longest, took)
            self.clock.rightNow += 0.000_002
        self.tell(title, buckets, longest, whole / count)

    def rest(self, title: str, buckets: Buckets, seconds: float) -> None:
        """Have nobody ask for a while, and print what that took."""
        longest, end = 0.0, self.clock.rightNow + seconds
        while self.clock.rightNow < end:
            before = thread_time()
            self.clock.advance(PAUSE_SECONDS)
            longest = max(longest, thread_time() - before)
        self.tell(title, buckets, longest, None)

    def tell(self, title: str, buckets: BucketStore, longest: float, each: float | None) -> None:
        mebibytes = (self.memory() - self.began) / 1024**2
        mean = "" if each is None else f"{each * 1e6:.1f} µs"
        count = f"{buckets.count:,}" if isinstance(buckets, Buckets) else ""
        print(f"{title:34}{count:>10}{mebibytes:8.1f} MiB{mean:>10}{longest * 1e3:10.2f} ms")


class _SharedServices(FakeServices):
    """Services of a worker."""

    def state(self, scope: Any, key: Any, make: Callable[[], Any]) -> Any:
        """Have rates be shared."""
        return SharedBuckets(SharedTable(), self.clock, self.secret, _nothing)


def _nothing() -> None:
    """Nobody has to know."""


def _verdict_seconds(spec: RequestLimit, services: FakeServices, clients: Sequence[bytes]) -> float:
    """Return what a verdict of the filter takes about clients that are known, in seconds of the processor."""
    live = spec.make(services)
    asked = [FakeFacts(client=client) for client in clients]
    for facts in asked * 2:
        live.on_request(facts)
    # Who is quiet has nothing in his bucket any more when he asks again.
    pause = 1.0 if spec is QUIET else 0.0
    time = services.clock.clock
    times = []
    for _ in range(9):
        judged = 0
        before = thread_time()
        while judged < VERDICTS:
            for facts in asked:
                live.on_request(facts)
            judged += len(asked)
            time.rightNow += pause
        times.append((thread_time() - before) / judged)
    return median(times)


def verdict_calls(*, of_workers: bool) -> int:
    """Return how many calls, of Python and of C, a verdict about a client is that is known; *of_workers*, which share it."""
    services = _SharedServices() if of_workers else FakeServices()
    live, facts, calls = RequestLimit("Ingress bench/a", 5).make(services), FakeFacts(client=b"192.0.2.1"), 0
    live.on_request(facts)

    def seen(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(seen)
    live.on_request(facts)
    sys.setprofile(None)
    return calls - 1


def _too_many(count: int, gap: float) -> int:
    """Return how many too many pass where two processes ask *count* times, every *gap* seconds, for what one may."""
    table, rates = SharedTable(), Rates(None, Rate(1, count * ONE))
    read, write = os.pipe()
    children = []
    for _ in range(2):
        child = os.fork()
        if not child:
            clock = FilterClock(TwistedClock(), lambda: datetime.now(UTC))
            clock.seconds = monotonic
            buckets = SharedBuckets(table, clock, b"bench", _nothing)
            zone, passed = buckets.zone("a", rates, Filter()), 0
            for _ in range(count):
                passed += buckets.take(zone, rates, b"x")
                next_at = monotonic() + gap
                while gap and monotonic() < next_at:
                    pass
            os.write(write, b"%d\n" % passed)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read, "rb") as told:
        return sum(map(int, told)) - count


def _of_workers() -> None:
    """Print the table of what workers share."""
    flood, asker = _Flood(memory=_shared_memory), Filter()
    clock = FilterClock(flood.clock, lambda: datetime.now(UTC))
    shared = SharedBuckets(SharedTable(), clock, b"bench", _nothing)
    print(f"\n{'shared by workers':34}{'':>10}{'memory':>12}{'each':>10}{'longest':>13}")
    for title, network, count in (("10,000 clients ask", 10, 10_000), ("90,000 more", 11, 90_000)):
        flood.of(title, shared, asker, network, count)
    flood.of("a million more", shared, asker, 20, CLIENTS)
    flood.of("these once more", shared, asker, 20, CLIENTS)
    flood.of("others come", shared, asker, 40, MORE)
    print(f"\n{'a verdict of the filter':34}{'one process':>16}{'workers':>10}")
    for what, spec in SPECS.items():
        for count in (1, 1000, 10_000):
            clients = list(_addresses(10, count))
            alone, together = (
                _verdict_seconds(spec, kind(), clients) * 1e6 for kind in (FakeServices, _SharedServices)
            )
            title = f"{what}, {count:,} clients"
            print(f"{title:34}{alone:13.2f} µs{together:7.2f} µs{together / alone:7.2f} x")
    print(f"{'calls':34}{verdict_calls(of_workers=False):13}   {verdict_calls(of_workers=True):7}\n")
    for gap, count in ((0.0, 100_000), (50e-6, 20_000), (200e-6, 5000)):
        found = sorted(_too_many(count, gap) for _ in range(5))
        print(f"two processes, every {gap * 1e6:3.0f} µs: {found[0]} to {found[-1]} too many of {count:,}")


def main() -> None:
    """Print the table."""
    flood, asker, began = _Flood(), Filter(), monotonic()
    buckets = Buckets(FilterClock(flood.clock, lambda: datetime.now(UTC)))
    print(f"{'':34}{'buckets':>10}{'memory':>12}{'each':>10}{'longest':>13}")
    flood.of("a million clients ask", buckets, asker, 20, CLIENTS)
    flood.of("and once more", buckets, asker, 20, CLIENTS)
    flood.of("others come", buckets, asker, 40, MORE)
    flood.rest("nobody asks for two minutes", buckets, 120)
    del asker
    flood.rest("the limit is gone for an hour more", buckets, 3800)
    print(f"in {monotonic() - began:.0f} s; {buckets.looked_at:,} looks at buckets besides those of requests")
    _of_workers()


if __name__ == "__main__":
    main()
