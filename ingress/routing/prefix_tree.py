"""The prefixes of a host that have many elements, in a tree: to walk down a path once finds all that it begins with.

Each could be looked for by itself; but a path of thousands of elements would be hashed as often, and all of it each time.  So that is
done for prefixes of ``MOST_ELEMENTS`` at most, as nearly all are, and what a lookup costs is in proportion to the length of the path,
whatever prefixes there are.  What the tree takes is in proportion to the length of these.
"""

from typing import Final, Generic, TypeVar

MOST_ELEMENTS: Final = 8
"""Of prefixes that are looked for one by one."""
_SLASH: Final = 0x2F

T = TypeVar("T")


class _Place(Generic[T]):
    """Where a prefix ends, or paths part."""

    __slots__ = ("below", "value")

    def __init__(self) -> None:
        self.value: T | None = None
        # By its first element: all elements down to the next place, and that.
        self.below: dict[bytes, tuple[bytes, _Place[T]]] = {}


class PrefixTree(Generic[T]):
    """Finds the values of those of its prefixes that a path begins with, element by element."""

    __slots__ = ("_last", "_root", "_way")

    def __init__(self) -> None:
        self._root: _Place[T] = _Place()
        # What was put last, and the places on the way there, each with where what is below it begins: in the order of prefixes, or of their
        # lengths, the next one goes nearly as far the same way.
        self._last = b""
        self._way: list[tuple[int, _Place[T]]] = [(1, self._root)]

    def put(self, prefix: bytes, value: T) -> None:
        """Have *value* found for paths that begin with *prefix*, which begins with a slash and does not end with one."""
        way = self._way
        shared = _in_common(prefix, self._last) + 1
        while way[-1][0] > shared:
            way.pop()
        at, place = way[-1]
        while at < len(prefix):
            first = _element(prefix, at)
            known = place.below.get(first)
            if known is None:
                label = prefix[at:]
                below: _Place[T] = _Place()
                place.below[first] = label, below
            else:
                label, below = known
                if not _goes_on_with(prefix, at, label):
                    count = _in_common(prefix[at - 1 :], b"/" + label) - 1
                    rest = label[count + 1 :]
                    label = label[:count]
                    parting: _Place[T] = _Place()
                    parting.below[_element(rest, 0)] = rest, below
                    place.below[first] = label, parting
                    below = parting
            place = below
            at += len(label) + 1
            way.append((at, place))
        place.value = value
        self._last = prefix

    def along(self, path: bytes) -> list[T]:
        """Return the values of all prefixes that *path*, in normal form, begins with, the shortest first."""
        found: list[T] = []
        place = self._root
        at = 1
        while at < len(path):
            known = place.below.get(_element(path, at))
            if known is None or not _goes_on_with(path, at, known[0]):
                break
            label, place = known
            if place.value is not None:
                found.append(place.value)
            at += len(label) + 1
        return found


def _element(path: bytes, at: int) -> bytes:
    """Return the element of *path* that begins at *at*."""
    end = path.find(b"/", at)
    return path[at:] if end < 0 else path[at:end]


def _goes_on_with(path: bytes, at: int, label: bytes) -> bool:
    """Whether *path* has the elements of *label* at *at*."""
    end = at + len(label)
    return path.startswith(label, at) and (end == len(path) or path[end] == _SLASH)


def _in_common(one: bytes, other: bytes) -> int:
    """Return how many bytes the elements have that both begin with; each begins with a slash, or has none."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    if (low == len(one) or one[low] == _SLASH) and (low == len(other) or other[low] == _SLASH):
        return low
    return one.rfind(b"/", 0, low)
