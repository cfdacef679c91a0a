"""The routes of one host that take whatever begins with their text, also within a segment: ``/foo`` takes ``/foobar``.

nginx compares a ``location`` so, and among them the longest text counts, whatever ends it.  A lookup costs a look for
each length that such a text of the host has.
"""

from collections.abc import Sequence

from ingress.routing.paths import rule_path
from ingress.routing.route import Match, Route


class TextRoutes:
    """Finds which of *routes* has a path."""

    __slots__ = ("_by_text", "_lengths")

    def __init__(self, routes: Sequence[Route]) -> None:
        self._by_text: dict[bytes, Route] = {}
        for route in routes:
            self._by_text.setdefault(rule_path(route.path), route)
        self._lengths = sorted({len(text) for text in self._by_text}, reverse=True)

    def before(self, found: Route | None, path: bytes) -> Route | None:
        """Return the route of *path*, which is *found* where paths are compared element by element."""
        least = -1
        if found is not None:
            if found.match is Match.EXACT:
                return found
            least = len(rule_path(found.path).rstrip(b"/"))
        for length in self._lengths:
            if length <= least:
                break
            route = self._by_text.get(path[:length])
            if route is not None:
                return route
        return found
