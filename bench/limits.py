"""What limits cost in memory, and how long one request of a flood takes: ``make bench-limits`` prints it.

A million addresses ask once and then once more, each within two limits; then others come, for which room has to be
made; then nobody asks any more, and in the end the limit is gone.  Memory is what the system says that the process holds.  Times are those of the processor.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from resource import getpagesize
from time import monotonic, thread_time

from attrs import Factory, define
from twisted.internet.task import Clock as TwistedClock

from ingress.annotations.leaky_buckets import ONE, PAUSE_SECONDS, Buckets, Rate, Rates
from ingress.filters import Filter
from ingress.proxy.exchange.services import FilterClock

CLIENTS = 1_000_000
MORE = 300_000
RATES = Rates(Rate(5 * ONE, 25 * ONE), Rate(ONE // 60, 5 * ONE))


def _memory() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * getpagesize()


def _addresses(network: int, count: int) -> Iterator[bytes]:
    for number in range(count):
        yield b"%d.%d.%d.%d" % (network + (number >> 24), number >> 16 & 255, number >> 8 & 255, number & 255)


@define
class _Flood:
    clock: TwistedClock = Factory(TwistedClock)
    began: int = Factory(_memory)

    def of(self, title: str, buckets: Buckets, asker: Filter, network: int, count: int) -> None:
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

    def tell(self, title: str, buckets: Buckets, longest: float, each: float | None) -> None:
        mebibytes = (_memory() - self.began) / 1024**2
        mean = "" if each is None else f"{each * 1e6:.1f} µs"
        print(f"{title:34}{buckets.count:10,}{mebibytes:8.0f} MiB{mean:>10}{longest * 1e3:10.2f} ms")


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


if __name__ == "__main__":
    main()
