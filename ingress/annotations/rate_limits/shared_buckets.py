"""Leaky buckets that all workers share, in memory that was made before they were: the verdicts of one process, by several.

It is what ``ingress.annotations.rate_limits.leaky_buckets`` is for a process that serves alone, and says the same along the same requests.  A
bucket is a slot of a ``SharedTable``: a word for each of the two rates, and until when it says anything.  A word holds how far the
client is ahead, in thousandths of requests, and when that was found out, in milliseconds, 32 bits each; so one store
changes a bucket as a whole, and what comes in between two stores of two workers is right by itself.

Nobody waits for anybody, so an error is possible, and it is bounded: what other workers count for a client while one is amid a
verdict about it, which takes a microsecond or as long as the system has it wait, is lost.  A word that makes no sense,
whatever has written it, is right again after what its level takes to drain.

Nothing is swept: a bucket that has drained says so by itself, and its slot is taken by the next who needs one.
"""

from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import Final

from ingress.annotations.rate_limits.leaky_buckets import ONE, Rates, Zone
from ingress.filters import Clock, Filter
from ingress.process.shared.shared_table import KEPT, SharedTable

LARGEST_SHARED: Final = (1 << 32) - 1
"""What may be in a bucket: 4,294,967 requests."""
SKEW: Final = 1000
"""Milliseconds by which another worker may be ahead: it asked for the time later, and was first to write."""
_EMPTY: Final = -ONE << 32
"""What one request more makes nothing of, as the first one."""
_LOW: Final = (1 << 32) - 1
_BACK: Final = 1 << 31
"""What seems to have passed for longer than this is from the future: time is kept modulo 2**32 milliseconds, and a bucket that drains
for half of that, which is weeks, may do so longer."""


def zone_prefix(name: Hashable, secret: bytes) -> bytes:
    """Return what the keys of the zone called *name* begin with: the same in all processes that know *secret*."""
    return blake2b(repr(name).encode("utf-8", "surrogatepass"), key=secret, digest_size=16).digest()


class SharedBuckets:
    """All buckets of all workers, as one of them sees them; *crowded* is called when one that still counts gives way."""

    largest: Final = LARGEST_SHARED
    """What may be in a bucket, and thus at once."""

    def __init__(
        self, table: SharedTable, clock: Clock, secret: bytes, crowded: Callable[[], object]
    ) -> None:
        self._table = table
        self._keys = table.keys
        self._words = table.words
        self._second, self._minute, self._ends = table.slots, 2 * table.slots, 3 * table.slots
        """How far the words of a slot are from its key."""
        self._first, self._mask = table.first_key, table.first_mask
        self._seconds = clock.seconds
        self._secret = secret
        self._crowded = crowded

    def zone(self, name: Hashable, rates: Rates, asker: Filter) -> Zone:
        """Return the zone called *name*, at *rates*; it is the same for all workers."""
        zone = Zone(name, zone_prefix(name, self._secret))
        zone.rates = rates
        return zone

    def take(self, zone: Zone, rates: Rates, client: bytes) -> bool:
        """Take one request of *client*; return whether it is within *rates*."""
        # Python's own hash: keyed by a secret of the process, and the same in all that are forked from it.  Where somebody has
        # fixed that (PYTHONHASHSEED) the prefix is a secret still.
        key = hash(zone.prefix + client) or 1
        at = self._first + (key & self._mask)
        now = int(self._seconds() * 1000)
        if self._keys[at] != key:
            table = self._table
            at = table.find(key, now)
            self._first, self._mask = table.first_key, table.first_mask
            if at < 0:
                return self._begin(rates, key, now) or self.take(zone, rates, client)
        # From here on no call but in rare cases: this is what each request costs whose client is known.  And little is done
        # between reading a word and writing it, which is when another worker's request may be lost.
        words = self._words
        second_at = at + self._second
        ends_at = at + self._ends
        second = minute = 0
        by_second, by_minute = rates.by_second, rates.by_minute
        if by_minute is not None:
            minute_at = at + self._minute
            word = words[minute_at]
            passed = now - word & _LOW
            if passed >= _BACK:
                word, passed = self._not_ahead(word, minute_at, words[ends_at], now), 0
            minute = (word >> 32) - by_minute.per_second * passed // 1000 + ONE
            if minute > by_minute.burst:
                return False
            if minute < 0:
                minute = 0
        ends = now
        if by_second is not None:
            word = words[second_at]
            passed = now - word & _LOW
            if passed >= _BACK:
                word, passed = self._not_ahead(word, second_at, words[ends_at], now), 0
            second = (word >> 32) - by_second.per_second * passed // 1000 + ONE
            if second > by_second.burst:
                return False
            if second < 0:
                second = 0
        # Where there is no such rate, none is kept for one that may come by an edit.
        words[second_at] = second << 32 | now & _LOW
        words[at + self._minute] = minute << 32 | now & _LOW
        if by_second is not None:
            second += ONE
            ends = now + second * 1000 // by_second.per_second + 1
            if second > by_second.burst:
                ends |= KEPT
        if by_minute is not None:
            minute += ONE
            until = now + minute * 1000 // by_minute.per_second + 1
            if minute > by_minute.burst or ends & KEPT:
                until |= KEPT
                ends |= KEPT
            if until > ends:
                ends = until
        words[ends_at] = ends
        return True

    def _not_ahead(self, word: int, place: int, ends: int, now: int) -> int:
        """Return what *word* says, which stands at *place*, and whose time is ahead of *now*, or so long ago that it looks so.

        Another worker was quicker; or it makes no sense, and then its bucket begins to drain now.
        """
        if ends & ~KEPT <= now:
            return _EMPTY
        if (word - now & _LOW) > SKEW:
            self._words[place] = word & ~_LOW | now & _LOW
        return word

    def _begin(self, rates: Rates, key: int, now: int) -> bool:
        """Make a bucket for *key*, with nothing in it, as nginx does for the first request.

        Returns whether there is none: another worker may have been quicker.
        """
        at = self._table.claim(key, now, self._crowded)
        words, second_at, minute_at = self._words, at + self._second, at + self._minute
        # Memory that was never touched is found now, so that nothing takes long from here on.
        is_new = (words[second_at] | words[minute_at]) >= 0 and self._keys[at] != key
        if is_new:
            words[second_at] = words[minute_at] = now & _LOW
            words[at + self._ends] = now + rates.first_drains_in
            self._keys[at] = key
        return is_new
