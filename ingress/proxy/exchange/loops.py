"""Requests that came back: how many wait for their answers under one ``X-Request-ID`` at a time.

An endpoint may lead here again, by the address of a load balancer, another proxy or a name that is ours.  Each time around such
a request takes one more connection on both sides, and all of them last until the first one is answered: the loop ends when its
client leaves, or with the last connection.  Nothing on the wire tells it from a new one, except that it has the id that it
was sent with, and that of a request that is under way here.

So those that come with an id are counted by it until their answers begin: whatever goes round has none before the last time
round, and a download, a stream of events or a WebSocket is no loop.  An id of the client's own may be that of many at once;
so only those count that say what a proxy adds which sends such ids (``X-Real-IP``), and there may be many of them.  Each id is
forgotten with the last one that counts: there are never more than requests.
"""

from typing import Final, Protocol

from ingress.http.request_head import RequestHead

FEWEST: Final = 48
"""Where nobody asks for another number, so many with one id may wait at least, ..."""
SHARE: Final = 8
"""... and one for so many connections that clients may have."""
REASON: Final = "loop: too many requests with this X-Request-ID wait for their answers"
"""What the access log says."""


def usual_most(connections: int) -> int:
    """Return how many requests with one id may wait where clients may have so many *connections*."""
    return max(FEWEST, connections // SHARE)


class Counted(Protocol):
    """A request, as far as it is counted."""

    request_id: bytes
    is_counted: bool


class Loops:
    """Counts of one process."""

    def __init__(self, most: int = 0) -> None:
        self.most = most
        """How many may wait with one id; 0 for as many as come, of whom none is counted."""
        self._waiting: dict[bytes, int] = {}

    def __len__(self) -> int:
        """How many ids are counted."""
        return len(self._waiting)

    def may_begin(self, head: RequestHead) -> bool:
        """Count a request that came with an id, and that a proxy sent; False where as many wait as may.

        ``over`` is to be called for each that was counted, once.
        """
        count = self._waiting.get(head.request_id, 0)
        if count >= self.most:
            return False
        self._waiting[head.request_id] = count + 1
        return True

    def over(self, counted: Counted) -> None:
        """A request that was counted has an answer, or none and is over: it counts no more."""
        counted.is_counted, request_id = False, counted.request_id
        count = self._waiting[request_id]
        if count == 1:
            del self._waiting[request_id]
        else:
            self._waiting[request_id] = count - 1
