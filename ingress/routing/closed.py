"""The closed routes of one host: those that stand for regular expressions and serve nothing.

They are found by their beginnings (``ingress.routing.beginnings``).  A lookup costs a look for each
length that a beginning of the host has, which are few and bounded, however many routes there are.

ingress-nginx asks expressions by the length of their text, the longest first.  So among the
paths of one namespace what is closed comes before any path that is not longer.  A path of another namespace yields to it as
to any longer path: where the beginning is not shorter than the path.  (Equal ones of younger Ingresses
are left out when routes are made.)  An exact path of another namespace yields to nothing.
"""

from collections.abc import Iterable

from ingress.routing.beginnings import EVERYBODY
from ingress.routing.paths import rule_path
from ingress.routing.route import Match, Route

_ByNamespace = dict[str, Route]


class ClosedRoutes:
    """Finds what is closed of a host."""

    __slots__ = ("_lengths", "_prefixes", "_whole")

    def __init__(self, routes: Iterable[Route]) -> None:
        # The route with the longest text of each namespace, by beginning.
        self._prefixes: dict[bytes, _ByNamespace] = {}
        self._whole: dict[bytes, _ByNamespace] = {}
        for route in sorted(routes, key=lambda route: -len(route.path)):
            if route.beginnings is None:
                continue
            namespace = route.beginnings.namespace
            for text in route.beginnings.prefixes:
                self._prefixes.setdefault(text, {}).setdefault(namespace, route)
            for text in route.beginnings.whole:
                self._whole.setdefault(text, {}).setdefault(namespace, route)
        self._lengths = sorted({len(text) for text in self._prefixes}, reverse=True)

    def before(self, found: Route | None, path: bytes) -> Route | None:
        """Return the closed route that *path* goes to rather than to *found*, its route otherwise; None for none."""
        lowered = path.lower()
        some = self._whole.get(lowered)
        if some is not None and (closed := _first(some, found, len(lowered.rstrip(b"/")))) is not None:
            return closed
        for length in self._lengths:
            some = self._prefixes.get(lowered[:length])
            if some is None or length > len(lowered):
                continue
            closed = _first(some, found, len(lowered[:length].rstrip(b"/")))
            if closed is not None:
                return closed
        return None


def _first(some: _ByNamespace, found: Route | None, length: int) -> Route | None:
    """Return one of *some*, which have a beginning of *length*, that comes before *found*."""
    if found is None or found.ingress is None:
        return next(iter(some.values()))
    namespace = found.ingress.namespace
    own = some.get(namespace) or some.get(EVERYBODY)
    if own is not None and len(own.path) >= len(found.path):
        return own
    if found.match is Match.EXACT or length < len(rule_path(found.path).rstrip(b"/")):
        return None
    return next((route for other, route in some.items() if other not in (namespace, EVERYBODY)), None)
