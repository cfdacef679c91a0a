"""Chains: the live filters of routes, made once for equal specs and kept while a snapshot has these.

Chains are made when the first request needs them.  A filter lives as long as the snapshots, one after the other, hold a
spec that is equal to its own, in whatever tuple of specs: so what it knows survives a new snapshot.

What a table has of specs that the one before had not is counted when it is published.  Of thousands of hosts that takes longer than a
request may wait, so it is done in slices then, while the table is in force already.  Until the count is right again, no filter is
forgotten, so that none is made twice for equal specs.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from twisted.internet.defer import maybeDeferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.filters import FilterSpec, Services
from ingress.model.stepwise import LET_GO_AT_ONCE, Stepwise, let_go
from ingress.process.in_slices import first_at_once
from ingress.proxy.exchange.filtering.chain import Chain, LiveFilter, NoFilter, Specs, in_order, live_filter
from ingress.routing.table import RouteTable, in_common

log = Logger()

FEW_USES: Final = 1000
"""Tuples of specs in two tables that are compared rather than hosts."""

AT_ONCE: Final = 40
"""Tuples of specs that are counted in one step: each is hashed, with all that is in it."""

SEEN_AT_ONCE: Final = 400
"""Hosts that are looked at in one step, of two tables."""


class Chains:
    """All chains of a process; *everything* are the specs of the operator, which stand before each request."""

    def __init__(
        self, clock: IReactorTime, services: Callable[[str], Services], everything: Specs = ()
    ) -> None:
        """*services* returns what the filters of a name may ask for."""
        self.everything = everything
        self._clock = clock
        self._services = services
        self._live: dict[FilterSpec, LiveFilter] = {}
        self._chains: dict[int, tuple[Specs, dict[int, tuple[Specs, Chain]]]] = {}
        """By the identity of the route's specs, and then of the backend's.  The tuples stand beside them, so that no others get
        their identities: to hash what is in a tuple costs more than all else of a request."""
        self._uses: dict[Specs, int] = {}
        """How often the current tables have each tuple of specs, as far as they are counted."""
        self._spec_uses: dict[FilterSpec, int] = dict.fromkeys(everything, 1)
        self._counting: deque[Stepwise[None]] = deque()
        """What is to be counted of tables, in their order; there while that goes on."""
        self._unused: dict[Specs, None] = {}
        """What was used by no table when it was last counted."""
        self._uncounted: dict[FilterSpec, None] = {}
        """The specs of filters that were made before they were counted."""
        self._is_lost = False
        """Whether a bug has left the counts wrong: by these no filter may be forgotten any more."""

    def chain(self, specs: Specs, backend_specs: Specs = ()) -> Chain:
        """Return the chain of a request whose route has *specs*, and whose backend has *backend_specs*."""
        of_route = self._chains.get(id(specs))
        if of_route is None:
            of_route = self._chains[id(specs)] = specs, {}
        known = of_route[1].get(id(backend_specs))
        if known is None:
            ordered = in_order(self.everything, specs, backend_specs)
            known = of_route[1][id(backend_specs)] = backend_specs, Chain(tuple(map(self._find, ordered)))
        return known[1]

    def _find(self, spec: FilterSpec) -> LiveFilter:
        live = self._live.get(spec)
        if live is None:
            live = self._make(spec)
            if spec in self._spec_uses:
                self._live[spec] = live
            elif self._counting or self._is_lost:
                self._live[spec] = live
                self._uncounted[spec] = None
        return live

    def _make(self, spec: FilterSpec) -> LiveFilter:
        name = spec.name
        try:
            return live_filter(name, spec.make(self._services(name)), spec.phase)
        except Exception as error:
            log.failure("Filter {filter} could not be made, and its requests get 500", filter=name)
            return live_filter(name, NoFilter(name, error), spec.phase)

    def replace(self, before: RouteTable, now: RouteTable) -> None:
        """Forget what *before* has and *now* has not, soon; costs what is different in them."""
        if self._is_lost:
            # Filters live on without their chains, which know tuples that no table may have.
            self._chains.clear()
            return
        had, has = before.kept_uses, now.kept_uses
        if has is not None and not before.hosts:
            # Workers have this counted before they begin: to look at each host would copy what they share.
            steps = self._replace_counted({}, has)
        elif had is not None and has is not None and len(had) + len(has) <= FEW_USES:
            steps = self._replace_counted(had, has)
        else:
            steps = self._replace_hosts([before, now])
        self._counting.append(steps)
        if len(self._counting) == 1:
            # Few take one step, and are right at once.
            maybeDeferred(first_at_once, self._clock, self._count_all()).addErrback(self._failed)

    def _count_all(self) -> Stepwise[None]:
        """Count what there is to count; then forget what no table has."""
        while self._counting:
            yield from self._counting[0]
            if len(self._counting) == 1:
                yield from self._forget()
            self._counting.popleft()

    def _failed(self, failure: Failure) -> None:
        """Tell of a bug, and count nothing more: filters are kept that nobody needs."""
        self._counting.clear()
        self._is_lost = True
        log.failure(
            "Filters could not be counted, which is a bug; requests are served, but no filter is forgotten until the end of the process",
            failure=failure,
        )

    def _replace_counted(self, had: Mapping[Specs, int], has: Mapping[Specs, int]) -> Stepwise[None]:
        """Do so by counts of all hosts, where these are kept: then it does not matter how many hosts are others."""
        yield from self._count((specs, count - had.get(specs, 0)) for specs, count in has.items())
        yield from self._count((specs, -count) for specs, count in had.items() if specs not in has)
        # Which of the tuples that are equal are still in a table is not known here; filters live on without their chains.
        if self._unused or len(self._chains) > len(self._uses) + 1:
            self._chains.clear()

    def _replace_hosts(self, tables: list[RouteTable]) -> Stepwise[None]:
        """Do so by the hosts of two *tables*, which are not kept: the first one may be had by nobody else."""
        replaced: list[object] = []
        portions = tables[1].replaced_since(tables[0], SEEN_AT_ONCE)
        shards = tables[0].shards
        tables.clear()
        for number, portion in enumerate(portions):
            if number:
                yield
            came: list[Specs] = []
            gone: list[Specs] = []
            for had, has in portion:
                came += () if has is None else has.chains
                if had is not None:
                    gone += had.chains
                    replaced += had.routes
            portion.clear()
            yield from self._replace_specs(came, gone)
            gone.clear()
        if len(replaced) > LET_GO_AT_ONCE:
            replaced += shards
        del shards
        yield from let_go(replaced)

    def _replace_specs(self, came: Sequence[Specs], gone: Sequence[Specs]) -> Stepwise[None]:
        # What moved from one host to another was never gone.
        yield from self._count(in_common(came))
        yield from self._count((specs, -count) for specs, count in in_common(gone))
        for specs in gone:
            self._chains.pop(id(specs), None)
        if gone:
            # Of routes without filters, whose backends have some.
            self._chains.pop(id(()), None)

    def _count(self, differences: Iterable[tuple[Specs, int]]) -> Stepwise[None]:
        """Note how many more, or less, there are of each tuple of specs."""
        for number, (specs, more) in enumerate(differences, 1):
            if more:
                count = self._uses.get(specs)
                if count is None:
                    count = 0
                    for spec in specs:
                        self._spec_uses[spec] = self._spec_uses.get(spec, 0) + 1
                self._uses[specs] = count + more
                if not count + more:
                    self._unused[specs] = None
            if not number % AT_ONCE:
                yield

    def _forget(self) -> Stepwise[None]:
        """Forget the filters that no table has, unless there is more to count: of these some may be in use again."""
        number = 0
        while self._unused and len(self._counting) == 1:
            specs, _ = self._unused.popitem()
            if not self._uses.get(specs, 1):
                del self._uses[specs]
                for spec in specs:
                    self._spec_uses[spec] -= 1
                    if not self._spec_uses[spec]:
                        del self._spec_uses[spec]
                        self._live.pop(spec, None)
            number += 1
            if not number % AT_ONCE:
                yield
        while self._uncounted and len(self._counting) == 1:
            one, _ = self._uncounted.popitem()
            if one not in self._spec_uses:
                self._live.pop(one, None)
            number += 1
            if not number % AT_ONCE:
                yield
