"""Which worker takes the datagrams of UDP: one at a time, as all of a client have to come to the session that it has there.

Workers share a socket, and the kernel would hand a datagram to any of them; were there a socket for each, clients would go from one
to another whenever a worker comes or goes.  What waits in the socket is read by the next one.  Pure.
"""

from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar


class Taker(Protocol):
    """A worker, as far as that is concerned."""

    number: int
    is_retired: bool
    is_serving: bool

    @property
    def is_gone(self) -> bool:
        """Whether it ended."""


W = TypeVar("W", bound=Taker)


class UdpTurn(Generic[W]):
    """Whose turn it is: a worker's, until it makes way or ends; then that of the first that serves, or else the first."""

    def __init__(self) -> None:
        self._taker: W | None = None

    def taker(self, workers: Iterable[W]) -> W | None:
        """Return the one of *workers* whose turn it is; None where there is none."""
        there = [one for one in workers if not (one.is_retired or one.is_gone)]
        if self._taker not in there:
            self._taker = min(there, key=lambda one: (not one.is_serving, one.number), default=None)
        return self._taker
