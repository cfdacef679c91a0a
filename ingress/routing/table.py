"""The route table: which route a host and a path lead to.

A table never changes.  A lookup costs a few dictionary look-ups: it does not depend
on the number of hosts or routes, and depends on the number of path segments only down
to the deepest prefix of the host; where that is very deep, the path is walked down once (``ingress.routing.prefix_tree``).  Its successor (``RouteTable.patched``) costs what
is different, since it shares the routes of all other hosts: so one changed host among
tens of thousands is published in microseconds, and still by one assignment.

Precedence (``networking.k8s.io/v1``, IngressRule and HTTPIngressPath):

1. The precise host, else the wildcard of one label, else the routes of all
   hosts.  The first of these that exists decides alone: a path that it lacks is
   not looked for in the next.
2. An exact path before any prefix, although a prefix ``/foo/`` is longer than
   the exact path ``/foo`` and matches it too.
3. The longest prefix, compared element by element.  ``/foo`` and ``/foo/`` match
   the same requests; where both exist, the longer text is used.

Where paths of a host are regular expressions, or closed in the place of some, these are looked for besides, and
have an order of their own (``ingress.routing.expression_routes``).

The tables of Gateways differ (``gateway.networking.k8s.io/v1``, HTTPRouteSpec.hostnames and HTTPRouteRule.matches): a wildcard
covers any number of labels, the longest one first; what no route of a host takes goes to the next wider one, up to that of
the listener that has it; and several routes of a host may take a path, of which the first one has a request whose conditions
it meets (``ingress.routing.conditional_routes``).
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Final

from ingress.filters import FilterSpec
from ingress.model.shared_map import MASK, SharedMap
from ingress.model.text.lookup_budget import TurnBudget
from ingress.routing.chains_of_routes import chains_of
from ingress.routing.conditional_routes import ConditionalRoutes, order_of_path
from ingress.routing.expression_routes import ExpressionRoutes
from ingress.routing.paths import rule_path
from ingress.routing.prefix_tree import MOST_ELEMENTS, PrefixTree
from ingress.routing.route import Match, Route

AT_ONCE: Final = 200
"""Routes that are put in order in one step."""
_NONE: Final[dict[bytes, Route]] = {}


class HostRoutes:
    """The routes of one host; *routes* are all of them, as they were given.

    *filters* are those of the host alone, in order, for requests that none of the routes takes.  *is_kept* says, in a table of Gateways,
    that a listener has the host, so that what none of the routes takes goes to no wider one.

    They are put in order for lookups when the first request asks: of tens of thousands of
    hosts many are asked for rarely, and a start should not wait for all of them.
    """

    __slots__ = (
        "_conditional",
        "_deep",
        "_depth",
        "_exact",
        "_expressions",
        "_has_passing",
        "_others",
        "_prefixes",
        "chains",
        "filters",
        "is_kept",
        "routes",
    )

    def __init__(
        self, routes: tuple[Route, ...], filters: tuple[FilterSpec, ...] = (), is_kept: bool = False
    ) -> None:
        self.routes = routes
        self.is_kept = is_kept
        self.filters = filters
        self.chains = chains_of(filters, routes)
        """Each tuple of specs that a request of the host may meet, but for empty ones; found here, where time is taken in slices."""
        # As long as nobody has looked.
        self._has_passing = True
        # By path; by path without trailing slash, so that of "/" by nothing at all; and
        # the number of elements of the longest of those.
        self._exact: dict[bytes, Route] | None = None
        self._prefixes: dict[bytes, Route] = _NONE
        self._depth = 0
        # Where there are any: the routes of regular expressions, and all others.  Then there is no ``_exact``, so
        # that other hosts need not ask for them.
        self._expressions: ExpressionRoutes | None = None
        self._others: HostRoutes | None = None
        # Likewise where there are any: the prefixes of very many elements.
        self._deep: PrefixTree[Route] | None = None
        # Where any has conditions, or they come in another order than that of their paths: all of them.  Then there is nothing else.
        self._conditional: ConditionalRoutes | None = None

    def passing(self) -> Route | None:
        """Find the route by whose ``passthrough`` TLS for the host goes, if any has one: a server name has no path."""
        if not self._has_passing:
            return None
        found = next((one for one in self.routes if one.passthrough is not None), None)
        self._has_passing = found is not None
        return found

    def put_in_order(self) -> Iterator[None]:
        """Put the routes in order before anybody asks, in steps: of a host that has thousands."""
        if self._is_conditional():
            yield from self._put_conditional()
        elif all(route.beginnings is None for route in self.routes):
            yield from self._put_texts()
        elif len(self.routes) >= AT_ONCE:
            # Of fewer the first request has them put in order, for they take room.
            yield from self._put_expressions()

    def _put_in_order(self) -> None:
        if self._is_conditional():
            steps = self._put_conditional()
        elif any(route.beginnings is not None for route in self.routes):
            steps = self._put_expressions()
        else:
            steps = self._put_texts()
        deque(steps, maxlen=0)

    def _put_texts(self) -> Iterator[None]:
        exact: dict[bytes, Route] = {}
        prefixes: dict[bytes, Route] = {}
        deep: dict[bytes, Route] = {}
        depth = 0
        for number, route in enumerate(self.routes, 1):
            if not number % AT_ONCE:
                yield
            path = rule_path(route.path)
            if route.match is Match.EXACT:
                exact.setdefault(path, route)
                continue
            elements = path.rstrip(b"/")
            count = elements.count(b"/")
            alike = prefixes if count <= MOST_ELEMENTS else deep
            known = alike.get(elements)
            if known is None or len(path) > len(rule_path(known.path)):
                alike[elements] = route
                if alike is prefixes:
                    depth = max(depth, count)
        one_by_one = HostRoutes(()) if deep else self
        one_by_one._depth = depth
        one_by_one._prefixes = prefixes or _NONE
        one_by_one._exact = exact or _NONE
        if deep:
            tree: PrefixTree[Route] = PrefixTree()
            # In their order, for what is put behind its like takes less.
            for number, elements in enumerate(sorted(deep), 1):
                if not number % AT_ONCE:
                    yield
                tree.put(elements, deep[elements])
            self._others, self._deep = one_by_one, tree

    def _is_conditional(self) -> bool:
        """Whether the order of the routes decides, and not that of their paths alone."""
        last = (False, 0)
        for route in self.routes:
            if route.conditions:
                return True
            if not route.place:
                # Of an Ingress, as all of its host are.
                return False
            says = order_of_path(route)
            if says < last:
                return True
            last = says
        return False

    def _put_conditional(self) -> Iterator[None]:
        found = ConditionalRoutes()
        for number, route in enumerate(self.routes, 1):
            if not number % AT_ONCE:
                yield
            found.add(route)
        self._conditional = found

    def _put_expressions(self) -> Iterator[None]:
        found = ExpressionRoutes()
        yield from found.put_in_order(self.routes)
        others = HostRoutes(tuple([route for route in self.routes if route.beginnings is None]))
        yield
        yield from others._put_texts()
        self._expressions, self._others = found, others

    def _find_beside(self, path: bytes, budget: TurnBudget | None) -> Route | None:
        """Find the route of *path* where some routes are compared by more than their text, or have very much of it."""
        if self._conditional is not None:
            return next(self._conditional.taking(path), None)
        assert self._others is not None
        found = self._others.find(path)
        if self._expressions is not None:
            return self._expressions.before(found, path, budget) or found
        assert self._deep is not None
        if found is not None and found.match is Match.EXACT:
            return found
        deeper = self._deep.along(path)
        return deeper[-1] if deeper else found

    def find(self, path: bytes, budget: TurnBudget | None = None) -> Route | None:
        """Find the route of *path*, which is in normal form; one that has conditions is the first of those that may take it.

        Raises ``PathTooLong`` where that would take too long, and ``LookupDeferred`` where it would take more than is left of *budget*.
        """
        exact = self._exact
        if exact is None:
            if self._others is None and self._conditional is None:
                self._put_in_order()
                exact = self._exact
            if exact is None:
                return self._find_beside(path, budget)
        route = exact.get(path)
        if route is not None:
            return route
        # Cut the path to the elements of the deepest prefix, then shorten it
        # element by element.
        end = 0
        for _ in range(self._depth):
            end = path.find(b"/", end + 1)
            if end < 0:
                end = len(path)
                break
        prefixes = self._prefixes
        while end > 0:
            route = prefixes.get(path[:end])
            if route is not None:
                return route
            end = path.rfind(b"/", 0, end)
        return prefixes.get(b"")

    def taking(self, path: bytes, budget: TurnBudget | None = None) -> Iterator[Route]:
        """Yield the routes that take *path*, as far as that says which; in order, as those with conditions are tried.

        Raises as ``find`` does.
        """
        found = self.find(path, budget)
        if self._conditional is not None:
            return self._conditional.taking(path)
        return iter(() if found is None else (found,))


NO_ROUTES: Final = HostRoutes(())


def host_keys(host: bytes, *, covers_labels: bool = False) -> tuple[bytes, ...]:
    """Return what *host*, in normal form, is looked for as, in order: itself, its wildcard, all hosts; the first that is there decides.

    *covers_labels* says that a wildcard covers any number of labels.
    """
    dot = host.find(b".")
    if dot <= 0:
        return host, b""
    return (host, *_wildcards(host), b"") if covers_labels else (host, b"*" + host[dot:], b"")


def _wildcards(host: bytes) -> Iterator[bytes]:
    """Yield the wildcards that cover *host*, the longest one first."""
    dot = host.find(b".", 1)
    while dot > 0:
        yield b"*" + host[dot:]
        dot = host.find(b".", dot + 1)


class RouteTable:
    """All routes of one snapshot.  Of two that match the same, the first given is used.

    *count* is the number of routes, *hosts* that of hosts, wildcards and all.  In a table of Gateways *covers_labels* says that a
    wildcard covers any number of labels.
    """

    __slots__ = ("_by_host", "_routes", "_uses", "count", "covers_labels")

    def __init__(self, routes: Iterable[Route] = (), *, covers_labels: bool = False) -> None:
        self._uses: dict[tuple[FilterSpec, ...], int] | None = None
        self.covers_labels = covers_labels
        self._routes: tuple[Route, ...] | None = tuple(routes)
        self.count = len(self._routes)
        by_host: dict[bytes, list[Route]] = {}
        for route in self._routes:
            by_host.setdefault(_host_key(route.host), []).append(route)
        # A wildcard stands under its own text: a request whose host is that text, of all
        # things, is one of those that it stands for.  The routes of all hosts stand under nothing.
        self._by_host: SharedMap[bytes, HostRoutes] = SharedMap(
            {key: HostRoutes(tuple(some)) for key, some in by_host.items()}
        )

    def patched(self, changes: Mapping[str, HostRoutes | None]) -> "RouteTable":
        """Return the table in which the hosts of *changes* have these routes, or none, in place of their own.

        Hosts are written as in ``Route.host``.
        """
        return self._patched({_host_key(host): routes for host, routes in changes.items()})

    def _patched(self, changes: Mapping[bytes, HostRoutes | None]) -> "RouteTable":
        count = self.count
        for key, routes in changes.items():
            before = self._by_host.get(key)
            count += (0 if routes is None else len(routes.routes)) - (
                0 if before is None else len(before.routes)
            )
        table = RouteTable(covers_labels=self.covers_labels)
        table._by_host = self._by_host.patched(changes)
        table._routes = None
        table.count = count
        if self._uses is not None:
            table._uses = self._uses_with(changes)
        return table

    def _uses_with(self, changes: Mapping[bytes, HostRoutes | None]) -> dict[tuple[FilterSpec, ...], int]:
        uses = dict(self._uses or ())
        before = [self._by_host.get(key) for key in changes]
        for all_routes, step in ((list(changes.values()), 1), (before, -1)):
            chains = [specs for some in all_routes if some is not None for specs in some.chains]
            for specs, count in in_common(chains):
                uses[specs] = uses.get(specs, 0) + step * count
                if not uses[specs]:
                    del uses[specs]
        return uses

    @property
    def shards(self) -> tuple[dict[bytes, HostRoutes], ...]:
        """What it is put together of."""
        return self._by_host.shards

    @property
    def hosts(self) -> int:
        """How many hosts have routes; a wildcard counts as one, and so do the routes of all hosts."""
        return len(self._by_host)

    @property
    def routes(self) -> tuple[Route, ...]:
        """All routes: as they were given, or else by host; put together when first asked for."""
        if self._routes is None:
            by_host = sorted(self._by_host.items(), key=_KEY)
            self._routes = tuple(route for _, some in by_host for route in some.routes)
        return self._routes

    @property
    def kept_uses(self) -> Mapping[tuple[FilterSpec, ...], int] | None:
        """How often the hosts have each tuple of specs among their chains, where that is kept, else None."""
        return self._uses

    def keep_uses(self) -> None:
        """Have that at hand from now on, here and in whatever is made of this."""
        self._uses = self._counted()

    def _counted(self) -> dict[tuple[FilterSpec, ...], int]:
        uses: dict[tuple[FilterSpec, ...], int] = {}
        for specs, count in in_common(chain for some in self._by_host.values() for chain in some.chains):
            uses[specs] = uses.get(specs, 0) + count
        return uses

    def unordered(self) -> Iterator[Route]:
        """Yield all routes, in no order, at no cost before the first."""
        for some in self._by_host.values():
            yield from some.routes

    def by_host(self) -> Iterator[tuple[str, HostRoutes]]:
        """Yield each host, written as in ``Route.host``, with its routes; in no order."""
        for key, some in self._by_host.items():
            yield key.decode("utf-8"), some

    def changes_since(self, before: "RouteTable") -> Iterator[tuple[str, HostRoutes | None]]:
        """Yield the hosts that *before* did not have in this form, and None for those it had alone.

        Costs what is different, if this was made of *before*.
        """
        for portion in self.portions_since(before):
            yield from portion

    def replaced_since(
        self, before: "RouteTable", at_once: int
    ) -> Iterator[list[tuple[HostRoutes | None, HostRoutes | None]]]:
        """Yield for each of these hosts what it has in *before*, and here, in portions: for each about *at_once* hosts are looked at."""
        for portion in self._by_host.portions_since(before._by_host, at_once):
            yield [(before._by_host.get(key), some) for key, some in portion]

    def portions_since(self, before: "RouteTable") -> Iterator[list[tuple[str, HostRoutes | None]]]:
        """Yield the same in portions, some of them empty, of which each takes a moment to find."""
        for portion in self._by_host.portions_since(before._by_host):
            yield [(key.decode("utf-8"), some) for key, some in portion]

    def get(self, host: str) -> HostRoutes | None:
        """Return the routes that *host*, written as in ``Route.host``, has of its own."""
        return self._by_host.get(_host_key(host))

    def find(self, host: bytes, path: bytes, budget: TurnBudget | None = None) -> Route | None:
        """Find the route of a request, or None when no route matches.

        *host* and *path* are in normal form (``normal_host``, ``normal_path``).  Whoever serves others, too, gives the *budget* that all
        lookups of one turn share; without one, each has its own.  Raises ``PathTooLong`` and ``LookupDeferred``.
        """
        shards = self._by_host.shards
        routes = shards[hash(host) & MASK].get(host)
        if routes is None:
            dot = host.find(b".")
            if dot > 0:
                wildcard = b"*" + host[dot:]
                routes = shards[hash(wildcard) & MASK].get(wildcard)
                if routes is None and self.covers_labels:
                    routes = self._below(host)
            if routes is None:
                routes = shards[_ALL_HOSTS & MASK].get(b"")
                if routes is None:
                    return None
        found = routes.find(path, budget)
        if found is None and self.covers_labels:
            return next(self.taking(host, path, budget), None)
        return found

    def _below(self, host: bytes) -> HostRoutes | None:
        """Return the routes of the longest wildcard that covers *host*."""
        found = (self._by_host.get(wildcard) for wildcard in _wildcards(host))
        return next((routes for routes in found if routes is not None), None)

    def keys_of(self, host: bytes) -> tuple[bytes, ...]:
        """Return what *host*, in normal form, is looked for as, in order; the first that is there decides."""
        return host_keys(host, covers_labels=self.covers_labels)

    def taking(self, host: bytes, path: bytes, budget: TurnBudget | None = None) -> Iterator[Route]:
        """Yield the routes of a request in order of precedence, of which the first one has it whose conditions it meets.

        *host* and *path* are in normal form.  Raises as ``find`` does, with *budget*.
        """
        if not self.covers_labels:
            routes = self._found(host)
            return iter(()) if routes is None else routes.taking(path, budget)
        return (route for routes in self.falling(host) for route in routes.taking(path, budget))

    def falling(self, host: bytes) -> Iterator[HostRoutes]:
        """Yield what *host* has in a table of Gateways, and each wider one to which it falls: up to that of its listener."""
        for key in self.keys_of(host):
            routes = self._by_host.get(key)
            if routes is not None:
                yield routes
                if routes.is_kept:
                    return

    def passing(self, host: bytes) -> Route | None:
        """Find the route of *host* by whose ``passthrough`` its TLS goes, if it has one."""
        routes = self._found(host)
        return None if routes is None else routes.passing()

    def host_of(self, host: bytes) -> bytes | None:
        """Return what *host*, in normal form, is found as, if it has routes: itself, its wildcard, or nothing for all hosts."""
        return next((key for key in self.keys_of(host) if key in self._by_host), None)

    def _found(self, host: bytes) -> HostRoutes | None:
        """Return the routes of *host*, or else of its wildcard, or else of all hosts."""
        by_host = self._by_host
        for key in self.keys_of(host):
            routes = by_host.get(key)
            if routes is not None:
                return routes
        return None

    def host_filters(self, host: bytes) -> tuple[FilterSpec, ...]:
        """Return what stands before *host*, in normal form, where no route matched the path."""
        routes = self._found(host)
        return () if routes is None else routes.filters

    def __repr__(self) -> str:
        return f"<RouteTable of {self.count} routes>"


def in_common(chains: Iterable[tuple[FilterSpec, ...]]) -> Iterator[tuple[tuple[FilterSpec, ...], int]]:
    """Yield each tuple of *chains* with how often it is in there, as far as it is the same object: to hash it takes longer."""
    counts: dict[int, int] = {}
    kept: dict[int, tuple[FilterSpec, ...]] = {}
    for specs in chains:
        key = id(specs)
        if key in counts:
            counts[key] += 1
        else:
            counts[key] = 1
            kept[key] = specs
    return ((specs, counts[key]) for key, specs in kept.items())


_ALL_HOSTS: Final = hash(b"")
_KEY: Final = itemgetter(0)


def _host_key(host: str) -> bytes:
    return host.lower().encode("utf-8")
