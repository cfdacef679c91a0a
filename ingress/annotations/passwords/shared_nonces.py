"""Which requests came with a nonce of HTTP Digest, known to all workers: what one has let in, another refuses.

A nonce that somebody used well has a slot of a ``SharedTable`` until it is too old.  One word of it has the highest count (``nc``)
that came, and which of the 51 up to it came: a count that came is refused, and so is one too far behind to be known, whose client
asks again with a new nonce.  Where a slot had to be given up that was still needed, no nonce made until then and without a slot
is good any more.

Nobody waits for anybody: the same count twice in one microsecond, at two workers, is the one that both may let in.
"""

from collections.abc import Callable
from typing import Final

from ingress.filters import Clock
from ingress.process.shared.shared_table import SharedTable

WINDOW: Final = 51
"""Counts up to the highest that are known, beside its 13 bits."""
_COUNTS: Final = (1 << WINDOW) - 1


class SharedNonces:
    """The nonces of all filters and workers, good for *lasting* milliseconds; *crowded* is called when one gives way."""

    def __init__(
        self, table: SharedTable, clock: Clock, secret: bytes, lasting: int, crowded: Callable[[], object]
    ) -> None:
        self._table = table
        self._seconds = clock.seconds
        self._secret = secret
        self._lasting = lasting
        self._crowded = crowded

    def is_new(self, nonce: bytes, made: int, count: int) -> bool:
        """Note that *count* came with *nonce*, which was *made* at that millisecond; return whether it had not come before."""
        table = self._table
        keys, words = table.keys, table.words
        key = hash(self._secret + nonce) or 1
        now = int(self._seconds() * 1000)
        at = table.find(key, now)
        if at < 0:
            if made < words[table.spare]:
                return False
            at = table.claim(key, now, self._give_up)
            if keys[at] != key:
                words[at + table.slots] = count << WINDOW | 1
                words[at + 3 * table.slots] = made + self._lasting + 1
                keys[at] = key
                return True
        place = at + table.slots
        word = words[place]
        ahead = count - (word >> WINDOW)
        if ahead > 0:
            words[place] = count << WINDOW | ((word & _COUNTS) << min(ahead, WINDOW) | 1) & _COUNTS
            return True
        bit = 1 << -ahead
        if bit > _COUNTS or word & bit:
            return False
        words[place] = word | bit
        return True

    def _give_up(self) -> None:
        self._table.words[self._table.spare] = int(self._seconds() * 1000) + 1
        self._crowded()
