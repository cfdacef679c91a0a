"""Requests that came back: how many are under way under one ``X-Request-ID`` at a time.

An endpoint may lead here again, by the address of a load balancer, another proxy or a name that is ours.  Each time around such
a request takes one more connection on both sides, and all of them last until the first one is answered: the loop ends when its
client leaves, or with the last connection.  Nothing on the wire tells it from a new one, except that it has the id that it
was sent with, and that of a request that is under way here.

So those that come with an id are counted by it while they are under way.  An id of the client's own may be that of many at once;
so only those count that say what a proxy adds which sends such ids (``X-Real-IP``), and there may be many of them.  Each id is
forgotten with its last request: there are never more than requests.
"""

from typing import Final

from ingress.http.request_head import RequestHead

FEWEST: Final = 48
"""Where nobody asks for another number, so many with one id may be under way at least, ..."""
SHARE: Final = 8
"""... and one for so many connections that clients may have."""
REASON: Final = "loop: too many requests with this X-Request-ID are under way"
"""What the access log says."""


def usual_most(connections: int) -> int:
    """Return how many requests with one id may be under way where clients may have so many *connections*."""
    return max(FEWEST, connections // SHARE)


class Loops:
    """Counts of one process."""

    def __init__(self, most: int = 0) -> None:
        self.most = most
        """How many may be under way with one id; 0 for as many as come, of whom none is counted."""
        self._under_way: dict[bytes, int] = {}

    def __len__(self) -> int:
        """How many ids are counted."""
        return len(self._under_way)

    def may_begin(self, head: RequestHead) -> bool:
        """Count a request that came with an id, and that a proxy sent; False where as many are under way as may be.

        ``over`` is to be called for each that was counted.
        """
        count = self._under_way.get(head.request_id, 0)
        if count >= self.most:
            return False
        self._under_way[head.request_id] = count + 1
        return True

    def over(self, request_id: bytes) -> None:
        """A request that was counted is over."""
        count = self._under_way[request_id]
        if count == 1:
            del self._under_way[request_id]
        else:
            self._under_way[request_id] = count - 1
