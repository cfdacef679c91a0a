"""Chains: the live filters of routes, made once for equal specs and kept while a snapshot has these.

Chains are made when the first request needs them.  A filter lives as long as the snapshots, one after the other, hold a
spec that is equal to its own, in whatever tuple of specs: so what it knows survives a new snapshot.
"""

from collections.abc import Callable, Mapping
from typing import Final

from twisted.logger import Logger

from ingress.filters import FilterSpec, Services
from ingress.proxy.exchange.filtering.chain import Chain, LiveFilter, NoFilter, Specs, in_order, live_filter
from ingress.routing.table import RouteTable, in_common

log = Logger()

FEW_USES: Final = 1000
"""Tuples of specs in two tables that are compared rather than hosts."""


class Chains:
    """All chains of a process; *everything* are the specs of the operator, which stand before each request."""

    def __init__(self, services: Callable[[str], Services], everything: Specs = ()) -> None:
        """*services* returns what the filters of a name may ask for."""
        self.everything = everything
        self._services = services
        self._live: dict[FilterSpec, LiveFilter] = {}
        self._chains: dict[int, tuple[Specs, dict[int, tuple[Specs, Chain]]]] = {}
        """By the identity of the route's specs, and then of the backend's.  The tuples stand beside them, so that no others get
        their identities: to hash what is in a tuple costs more than all else of a request."""
        self._uses: dict[Specs, int] = {}
        """How often the current table has each tuple of specs."""
        self._spec_uses: dict[FilterSpec, int] = dict.fromkeys(everything, 1)

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
        return live

    def _make(self, spec: FilterSpec) -> LiveFilter:
        name = spec.name
        try:
            return live_filter(name, spec.make(self._services(name)), spec.phase)
        except Exception as error:
            log.failure("Filter {filter} could not be made, and its requests get 500", filter=name)
            return live_filter(name, NoFilter(name, error), spec.phase)

    def replace(self, before: RouteTable, now: RouteTable) -> None:
        """Forget what *before* has and *now* has not; costs what is different in them."""
        had, has = before.kept_uses, now.kept_uses
        if not before.hosts:
            # Workers have this counted before they begin: to look at each host would copy what they share.
            self._replace_counted({}, now.uses)
        elif had is not None and has is not None and len(had) + len(has) <= FEW_USES:
            self._replace_counted(had, has)
        else:
            self._replace_hosts(before, now)

    def _replace_counted(self, had: Mapping[Specs, int], has: Mapping[Specs, int]) -> None:
        """Do so by counts of all hosts, where these are kept: then it does not matter how many hosts are others."""
        for specs, count in has.items():
            if (more := count - had.get(specs, 0)) > 0:
                self._count(specs, more)
        is_any_gone = False
        for specs, count in had.items():
            if (fewer := count - has.get(specs, 0)) > 0:
                self._count_less(specs, fewer)
                is_any_gone |= specs not in self._uses
        # Which of the tuples that are equal are still in a table is not known here; filters live on without their chains.
        if is_any_gone or len(self._chains) > len(self._uses) + 1:
            self._chains.clear()

    def _replace_hosts(self, before: RouteTable, now: RouteTable) -> None:
        came: list[Specs] = []
        gone: list[Specs] = []
        for had, has in now.replaced_since(before):
            came += () if has is None else has.chains
            gone += () if had is None else had.chains
        # What moved from one host to another was never gone.
        for specs, count in in_common(came):
            self._count(specs, count)
        for specs, count in in_common(gone):
            self._count_less(specs, count)
            self._chains.pop(id(specs), None)
        if gone:
            # Of routes without filters, whose backends have some.
            self._chains.pop(id(()), None)

    def _count(self, specs: Specs, more: int = 1) -> None:
        count = self._uses[specs] = self._uses.get(specs, 0) + more
        if count == more:
            for spec in specs:
                self._spec_uses[spec] = self._spec_uses.get(spec, 0) + 1

    def _count_less(self, specs: Specs, fewer: int = 1) -> None:
        count = self._uses[specs] - fewer
        if count:
            self._uses[specs] = count
            return
        del self._uses[specs]
        for spec in specs:
            left = self._spec_uses[spec] - 1
            if left:
                self._spec_uses[spec] = left
            else:
                del self._spec_uses[spec]
                self._live.pop(spec, None)
