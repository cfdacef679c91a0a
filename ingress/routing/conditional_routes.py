"""Routes of one host of which several may take a path, as those of the Gateway API: they take only some of its requests.

They are given in order of precedence, which need not be that of their paths: what says more of the host comes first.  What a lookup costs depends on how many routes there are for the path, and not on how
many the host has; where regular expressions are among them, on how many these are, too.
"""

from collections.abc import Iterator
from heapq import merge

from ingress.routing.paths import rule_path
from ingress.routing.prefix_tree import MOST_ELEMENTS, PrefixTree
from ingress.routing.route import Match, Route

_Numbered = tuple[int, Route]


class ConditionalRoutes:
    """Finds the routes of a path, the first one first."""

    __slots__ = ("_count", "_deep", "_depth", "_exact", "_is_mixed", "_last", "_patterns", "_prefixes")

    def __init__(self) -> None:
        self._exact: dict[bytes, list[_Numbered]] = {}
        # By path without trailing slash; the number of elements of the longest, but for those of very many, and these; what may take any path.
        self._prefixes: dict[bytes, list[_Numbered]] = {}
        self._depth = 0
        self._deep: PrefixTree[list[_Numbered]] | None = None
        self._patterns: list[_Numbered] = []
        self._count = 0
        # Whether any route comes behind one whose path says less, and how much the path of the last one says.
        self._is_mixed = False
        self._last = (False, 0)

    def add(self, route: Route) -> None:
        """Put *route* behind all others."""
        numbered = self._count, route
        self._count += 1
        if route.match is Match.PATTERN:
            self._patterns.append(numbered)
            return
        path, says = rule_path(route.path), order_of_path(route)
        self._is_mixed |= says < self._last
        self._last = says
        if route.match is Match.EXACT:
            self._exact.setdefault(path, []).append(numbered)
            return
        elements = path.rstrip(b"/")
        known = self._prefixes.get(elements)
        if known is not None:
            known.append(numbered)
            return
        some = self._prefixes[elements] = [numbered]
        count = elements.count(b"/")
        if count <= MOST_ELEMENTS:
            self._depth = max(self._depth, count)
        else:
            self._deep = self._deep or PrefixTree()
            self._deep.put(elements, some)

    def taking(self, path: bytes) -> Iterator[Route]:
        """Yield the routes that may take *path*, in normal form, in order of precedence.

        A pattern is compared by the conditions of its route, with the others.
        """
        found = self._by_text(path)
        if not self._patterns and not self._is_mixed:
            return (route for some in found for _, route in some)
        return (route for _, route in merge(self._patterns, *found, key=_number))

    def _by_text(self, path: bytes) -> Iterator[list[_Numbered]]:
        exact = self._exact.get(path)
        if exact is not None:
            yield exact
        if self._deep is not None:
            yield from reversed(self._deep.along(path))
        # As in ``HostRoutes.find``.
        end = 0
        for _ in range(self._depth):
            end = path.find(b"/", end + 1)
            if end < 0:
                end = len(path)
                break
        prefixes = self._prefixes
        while end > 0:
            some = prefixes.get(path[:end])
            if some is not None:
                yield some
            end = path.rfind(b"/", 0, end)
        some = prefixes.get(b"")
        if some is not None:
            yield some


def order_of_path(route: Route) -> tuple[bool, int]:
    """Return where the path of *route* stands among others by what it says: exact ones first, then long ones."""
    return route.match is not Match.EXACT, -len(route.path.rstrip("/"))


def _number(numbered: _Numbered) -> int:
    return numbered[0]
