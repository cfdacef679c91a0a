"""Leaky buckets for clients, as nginx's ``limit_req`` has them: so many, in so much memory, and each as cheap as the first.

A *bucket* says how far one client is ahead of the rates of a *zone*, in thousandths of requests (nginx's *excess*), and
when that was found out, in milliseconds.  It drains at the rate.  A request adds one; if more than the burst
would be in it then, the request is refused and adds nothing.  There are two rates, by the second and by the minute, and a
request has to be within both.

Buckets are numbers in a fixed number of *shards*, by a hash that no client can know, and whatever goes through buckets goes
through one shard at a time:

- One after the other is *swept*: buckets that have drained say nothing any more and are dropped, as are those of zones that are gone.
- Where one is full, room is made in it: those that have drained go first, then the oldest of those that would let a
  request pass, and only when all others are gone those that refuse.  An eighth goes at once, so that a new client pays for
  a few others and not for all.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Final, Protocol
from weakref import ref

from attrs import field

from ingress.filters import Clock, Filter, ScheduledCall
from ingress.model.frozen import frozen

MOST_BUCKETS: Final = 1_000_000
"""In one process; ``make bench-limits`` prints what they take."""
SHARDS: Final = 1024
SWEEPS: Final = 60
"""In how many sweeps all shards are swept once, ..."""
SWEEP_SECONDS: Final = 1.0
"""... how long it is between two of these, ..."""
SWEEP_BUCKETS: Final = 1000
"""... and how many buckets one looks at, about, before it leaves others to the next, ..."""
PAUSE_SECONDS: Final = 0.05
"""... which comes the sooner then."""
LONGEST_REST_SECONDS: Final = 3600.0
"""How long a zone that no filter asks for keeps what has not drained."""

ONE: Final = 1000
"""A request, in the unit of buckets."""
LARGEST: Final = (1 << 48) - 1
"""What may be in a bucket."""
_WIDTH: Final = 48
_TIME: Final = 2 * _WIDTH
_PREFIX_BYTES: Final = 5


@frozen
class Rate:
    """How fast buckets drain, and how much may be in them."""

    per_second: int
    """Thousandths of requests."""
    burst: int
    """Thousandths of requests, besides the first one."""


@frozen
class Rates:
    """The rates of a zone; None is none."""

    by_second: Rate | None = None
    by_minute: Rate | None = None
    first_drains_in: int = field(init=False, eq=False, repr=False)
    """Milliseconds after which a client's first request says no more than none would."""

    @first_drains_in.default
    def _first_drains_in(self) -> int:
        return max(
            (-(-ONE * 1000 // rate.per_second) for rate in (self.by_second, self.by_minute) if rate),
            default=0,
        )

    def added(self, bucket: int, now: int) -> int | None:
        """Return *bucket* with one request more at *now*, in milliseconds; None where that is too much."""
        passed = now - (bucket >> _TIME)
        if passed < 0:
            # Clocks do not go back; if one does, nothing drains until it is where it was.
            passed, now = 0, bucket >> _TIME
        result = now << _TIME
        rate = self.by_second
        if rate is not None:
            level = (bucket >> _WIDTH & LARGEST) - rate.per_second * passed // 1000 + ONE
            if level > rate.burst:
                return None
            if level > 0:
                result |= level << _WIDTH
        rate = self.by_minute
        if rate is not None:
            level = (bucket & LARGEST) - rate.per_second * passed // 1000 + ONE
            if level > rate.burst:
                return None
            if level > 0:
                result |= level
        return result

    def has_drained(self, bucket: int, now: int) -> bool:
        """Whether *bucket* says no more than none would."""
        added = self.added(bucket, now)
        return added is not None and not added & ((1 << _TIME) - 1)


class Zone:
    """The buckets of one name."""

    def __init__(self, name: Hashable, prefix: bytes) -> None:
        self.name = name
        self.prefix = prefix
        """What the keys of its buckets begin with; the address of the client follows."""
        self.rates = Rates()
        """Those of the filter that was made last."""
        self.buckets = 0
        """How many it has."""
        self.filters: set[ref[Filter]] = set()
        """Who asks for it."""
        self.rests_since = 0.0
        """When the last of these went."""


class BucketStore(Protocol):
    """Where buckets are: those of one process, or of all workers."""

    @property
    def largest(self) -> int:
        """What may be in a bucket, and thus at once, in thousandths of requests."""

    def zone(self, name: Hashable, rates: Rates, asker: Filter) -> Zone:
        """Return the zone called *name*, which *asker* goes by from now on, at *rates*."""

    def take(self, zone: Zone, rates: Rates, client: bytes) -> bool:
        """Take one request of *client*; return whether it is within *rates*."""


class Buckets:
    """All buckets of a process.

    A filter that is made anew, because its limit was edited, finds its zone as the one before left it.
    """

    largest: Final = LARGEST
    """What may be in a bucket, and thus at once."""

    def __init__(self, clock: Clock, most: int = MOST_BUCKETS, shards: int = SHARDS) -> None:
        """*shards* is a power of two."""
        self._seconds = clock.seconds
        self._call_later = clock.call_later
        self._most_of_shard = max(1, most // shards)
        self._shards: list[dict[bytes, int]] = [{} for _ in range(shards)]
        self._last = shards - 1
        self._zones: dict[Hashable, Zone] = {}
        self._by_prefix: dict[bytes, Zone] = {}
        self._numbers = 0
        self._next = 0
        self._sweep: ScheduledCall | None = None
        self.count = 0
        """How many buckets there are."""
        self.looked_at = 0
        """How many were looked at besides those of requests, since the beginning."""

    def zone(self, name: Hashable, rates: Rates, asker: Filter) -> Zone:
        """Return the zone called *name*, which *asker* goes by from now on, at *rates*."""
        zone = self._zones.get(name)
        if zone is None:
            self._numbers += 1
            prefix = self._numbers.to_bytes(_PREFIX_BYTES, "big")
            zone = self._zones[name] = self._by_prefix[prefix] = Zone(name, prefix)
        zone.rates = rates
        zone.filters.add(ref(asker, self._leaving(zone)))
        return zone

    def _leaving(self, zone: Zone) -> Callable[[ref[Filter]], None]:
        def left(asker: ref[Filter]) -> None:
            zone.filters.discard(asker)
            zone.rests_since = self._seconds()
            if not zone.filters and not zone.buckets:
                self._forget(zone)

        return left

    def _forget(self, zone: Zone) -> None:
        if self._zones.get(zone.name) is zone:
            del self._zones[zone.name], self._by_prefix[zone.prefix]

    def take(self, zone: Zone, rates: Rates, client: bytes) -> bool:
        """Take one request of *client*; return whether it is within *rates*."""
        key = zone.prefix + client
        shard = self._shards[hash(key) & self._last]
        bucket = shard.get(key)
        now = int(self._seconds() * 1000)
        if bucket is None:
            if len(shard) >= self._most_of_shard:
                self._make_room(shard, now)
            shard[key] = now << _TIME
            self.count += 1
            zone.buckets += 1
            if self._sweep is None:
                self._schedule()
            return True
        added = rates.added(bucket, now)
        if added is None:
            return False
        shard[key] = added
        return True

    # What nobody needs any more

    def _schedule(self, seconds: float = SWEEP_SECONDS) -> None:
        self._sweep = self._call_later(seconds, self._sweep_some)

    def _sweep_some(self) -> None:
        """Sweep some shards, and go on as long as there is anything to sweep."""
        self._sweep = None
        now = int(self._seconds() * 1000)
        end = self.looked_at + SWEEP_BUCKETS
        is_held_up = False
        for _ in range(-(-(self._last + 1) // SWEEPS)):
            self._sweep_shard(self._next, now)
            self._next = (self._next + 1) & self._last
            if not self._next:
                self._forget_resting()
            is_held_up = self.looked_at >= end
            if is_held_up:
                break
        if self.count:
            self._schedule(PAUSE_SECONDS if is_held_up else SWEEP_SECONDS)

    def _sweep_shard(self, number: int, now: int) -> None:
        shard = self._shards[number]
        gone = self._useless(shard, now) if shard else ()
        if gone:
            self._drop(shard, gone)
            # A table does not shrink by itself.
            self._shards[number] = dict(shard)

    def _forget_resting(self) -> None:
        longest = self._seconds() - LONGEST_REST_SECONDS
        for zone in [one for one in self._zones.values() if not one.filters and one.rests_since < longest]:
            self._forget(zone)

    def _useless(self, shard: dict[bytes, int], now: int) -> list[bytes]:
        """Return the keys of the buckets in *shard* that say nothing."""
        self.looked_at += len(shard)
        zones = self._by_prefix
        return [
            key
            for key, bucket in shard.items()
            if (zone := zones.get(key[:_PREFIX_BYTES])) is None or zone.rates.has_drained(bucket, now)
        ]

    def _drop(self, shard: dict[bytes, int], keys: Sequence[bytes]) -> None:
        for key in keys:
            del shard[key]
            zone = self._by_prefix.get(key[:_PREFIX_BYTES])
            if zone is not None:
                zone.buckets -= 1
                if not zone.buckets and not zone.filters:
                    self._forget(zone)
        self.count -= len(keys)

    def _make_room(self, shard: dict[bytes, int], now: int) -> None:
        """Drop an eighth of *shard*."""
        self._drop(shard, self._useless(shard, now))
        missing = len(shard) - (self._most_of_shard * 7 // 8)
        if missing <= 0:
            return
        zones = self._by_prefix
        self.looked_at += len(shard)
        # The older, the smaller: a bucket begins with its time.
        ranked = sorted(
            (zones[key[:_PREFIX_BYTES]].rates.added(bucket, now) is None, bucket, key)
            for key, bucket in shard.items()
        )
        self._drop(shard, [key for _, _, key in ranked[:missing]])
