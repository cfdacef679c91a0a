"""The route table: which route a host and a path lead to.

Built once per snapshot and never changed.  A lookup costs a few dictionary
look-ups: it does not depend on the number of hosts or routes, and depends on the
number of path segments only down to the deepest prefix of the host.

Precedence (``networking.k8s.io/v1``, IngressRule and HTTPIngressPath):

1. The precise host, else the wildcard of one label, else the routes of all
   hosts.  The first of these that exists decides alone: a path that it lacks is
   not looked for in the next.
2. An exact path before any prefix, although a prefix ``/foo/`` is longer than
   the exact path ``/foo`` and matches it too.
3. The longest prefix, compared element by element.  ``/foo`` and ``/foo/`` match
   the same requests; where both exist, the longer text is used.
"""

from collections.abc import Iterable

from ingress.routing.paths import rule_path
from ingress.routing.route import Match, Route


class _HostRoutes:
    """The routes of one host, by path.

    *prefixes* are keyed without trailing slash, so that of ``/`` by nothing at
    all.  *depth* is the number of elements of the longest of them.
    """

    __slots__ = ("depth", "exact", "prefixes")

    def __init__(self) -> None:
        self.exact: dict[bytes, Route] = {}
        self.prefixes: dict[bytes, Route] = {}
        self.depth = 0

    def add(self, route: Route) -> None:
        path = rule_path(route.path)
        if route.match is Match.EXACT:
            self.exact.setdefault(path, route)
            return
        elements = path.rstrip(b"/")
        known = self.prefixes.get(elements)
        if known is None or len(path) > len(rule_path(known.path)):
            self.prefixes[elements] = route
            self.depth = max(self.depth, elements.count(b"/"))

    def find(self, path: bytes) -> Route | None:
        route = self.exact.get(path)
        if route is not None:
            return route
        # Cut the path to the elements of the deepest prefix, then shorten it
        # element by element.
        end = 0
        for _ in range(self.depth):
            end = path.find(b"/", end + 1)
            if end < 0:
                end = len(path)
                break
        prefixes = self.prefixes
        while end > 0:
            route = prefixes.get(path[:end])
            if route is not None:
                return route
            end = path.rfind(b"/", 0, end)
        return prefixes.get(b"")


class RouteTable:
    """All routes of one snapshot.  Of two that match the same, the first given is used."""

    __slots__ = ("_all_hosts", "_hosts", "_wildcards", "routes")

    def __init__(self, routes: Iterable[Route] = ()) -> None:
        self.routes: tuple[Route, ...] = tuple(routes)
        self._hosts: dict[bytes, _HostRoutes] = {}
        self._wildcards: dict[bytes, _HostRoutes] = {}
        """By what follows the asterisk, so with a leading dot."""
        self._all_hosts = _HostRoutes()
        for route in self.routes:
            self._routes_of(route.host).add(route)

    def _routes_of(self, host: str) -> _HostRoutes:
        if not host:
            return self._all_hosts
        name = host.lower().encode("utf-8")
        if name.startswith(b"*."):
            return self._wildcards.setdefault(name[1:], _HostRoutes())
        return self._hosts.setdefault(name, _HostRoutes())

    def find(self, host: bytes, path: bytes) -> Route | None:
        """Find the route of a request, or None when no route matches.

        *host* and *path* are in normal form (``normal_host``, ``normal_path``).
        """
        routes = self._hosts.get(host)
        if routes is None:
            dot = host.find(b".")
            if dot > 0:
                routes = self._wildcards.get(host[dot:])
            if routes is None:
                routes = self._all_hosts
        return routes.find(path)

    def __repr__(self) -> str:
        return f"<RouteTable of {len(self.routes)} routes>"
