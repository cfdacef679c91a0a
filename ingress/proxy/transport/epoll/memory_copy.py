"""Bodies that go from a socket straight into memory of whoever takes them.

What must be changed on its way, such as put into frames, cannot stay inside the kernel (``splice``).  But it need not become an object
for each read either: the taker says where the next bytes go, and is told how many came there.  While that lasts, the
read side of the source belongs to the copy; it reads no byte more than it was made for.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from ingress.proxy.contract.transport import CopyTaker, KernelCopy

_MOST: Final = 1 << 30
"""No bound of ours: the taker says how much it takes at once."""


class Source(Protocol):
    """A transport, as a copy sees it."""

    def receive_into(self, spaces: Sequence[memoryview]) -> int:
        """Read into *spaces*; return how much came, 0 if nothing did, be it that the socket has failed or ended."""

    def splice_over(self, splice: "MemoryCopy") -> None:
        """Let go of the copy."""


class MemoryCopy:
    """Moves the bytes of *copy* from *source* to *taker*."""

    __slots__ = ("_copy", "_left", "_source", "_taker", "is_over")

    wants_read = True
    """Always: who cannot take more has the source paused."""
    wants_write = False

    def __init__(self, source: Source, copy: KernelCopy, taker: CopyTaker) -> None:
        self._source = source
        self._copy = copy
        self._taker = taker
        self._left = copy.count
        self.is_over = False

    def __repr__(self) -> str:
        return f"<MemoryCopy {self._left} bytes to come>"

    @property
    def left(self) -> int:
        """Bytes that are still to come."""
        return self._left

    def pump(self) -> None:
        """Move what there is, as much as is taken at once."""
        self.move(_MOST)

    def move(self, most: int) -> int:
        """Move at most *most* bytes; return how many that were."""
        if self.is_over:
            return 0
        spaces = self._taker.spaces(min(most, self._left))
        if not spaces:
            return 0
        count = self._source.receive_into(spaces)
        if not count:
            return 0
        self._left -= count
        is_whole = not self._left
        if is_whole:
            self.close()
        self._taker.came(count)
        self._copy.moved(count)
        if is_whole:
            self._copy.ended()
        return count

    def close(self) -> None:
        """Leave the source to itself."""
        if not self.is_over:
            self.is_over = True
            self._source.splice_over(self)
