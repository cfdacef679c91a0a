"""The closed routes of one host: those that stand for regular expressions and serve nothing.

They are found by their beginnings (``ingress.routing.beginnings``).  A lookup costs a look for each
length that a beginning of the host has, which are few and bounded, however many routes there are.

ingress-nginx asks expressions by the length of their text, the longest first.  So among the
paths of one namespace what is closed comes before any path that is not longer.  A path of another namespace yields to it as
to any longer path: where the beginning is not shorter than the path, and the Ingress of the path, where they are
equal, not older.  An exact path of another namespace yields to nothing.
"""

from collections.abc import Iterable

from ingress.routing.beginnings import EVERYBODY
from ingress.routing.paths import rule_path
from ingress.routing.route import Match, Route

_ByNamespace = dict[str, Route]


class ClosedRoutes:
    """Finds what is closed of a host."""

    __slots__ = ("_lengths", "_own_prefixes", "_own_whole", "_prefixes", "_whole")

    def __init__(self, routes: Iterable[Route]) -> None:
        # The route with the longest text of each namespace, by beginning.
        self._prefixes: dict[bytes, _ByNamespace] = {}
        self._whole: dict[bytes, _ByNamespace] = {}
        # The same of what is closed to paths of its own namespace alone.
        self._own_prefixes: dict[bytes, _ByNamespace] = {}
        self._own_whole: dict[bytes, _ByNamespace] = {}
        for route in sorted(routes, key=lambda route: -len(route.path)):
            if route.beginnings is None:
                continue
            namespace = route.beginnings.namespace
            for texts, routes_of in (
                (route.beginnings.prefixes, self._prefixes),
                (route.beginnings.whole, self._whole),
                (route.beginnings.own_prefixes, self._own_prefixes),
                (route.beginnings.own_whole, self._own_whole),
            ):
                for text in texts:
                    routes_of.setdefault(text, {}).setdefault(namespace, route)
        self._lengths = sorted({len(text) for text in (*self._prefixes, *self._own_prefixes)}, reverse=True)

    def before(self, found: Route | None, path: bytes) -> Route | None:
        """Return the closed route that *path* goes to rather than to *found*, its route otherwise; None for none."""
        lowered = path.lower()
        length = len(lowered.rstrip(b"/"))
        closed = _first(self._whole.get(lowered), self._own_whole.get(lowered), found, length)
        for count in self._lengths:
            if closed is not None:
                break
            if count <= len(lowered):
                text = lowered[:count]
                length = len(text.rstrip(b"/"))
                closed = _first(self._prefixes.get(text), self._own_prefixes.get(text), found, length)
        return closed


def _first(
    some: _ByNamespace | None, own: _ByNamespace | None, found: Route | None, length: int
) -> Route | None:
    """Return one of *some* or *own*, which have a beginning of *length*, that comes before *found*."""
    if found is None or found.owner is None:
        return None if some is None else next(iter(some.values()))
    namespace = found.owner.key.namespace
    for routes in (some, own):
        route = None if routes is None else routes.get(namespace) or routes.get(EVERYBODY)
        if route is not None and len(route.path) >= len(found.path):
            return route
    if some is None or found.match is Match.EXACT or length < len(rule_path(found.path).rstrip(b"/")):
        return None
    return next((route for other, route in some.items() if other not in (namespace, EVERYBODY)), None)
