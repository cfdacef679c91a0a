"""Which aliases of which namespaces are too many, kept up to date.  Part of incremental translation.

Hardly any namespace asks for as many.  So what each object asks for is added up, and only where that is too much it is looked who is older.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from ingress.model.cluster.objects import ObjectId, Owner
from ingress.model.stepwise import Stepwise, in_order
from ingress.translate.age import SORTED_AT_ONCE, by_age
from ingress.translate.caches.bookkeeping import KEYS_AT_ONCE
from ingress.translate.claims import ParsedObject
from ingress.translate.hosts import alias_budgets
from ingress.translate.hosts.alias_budgets import NO_LIMITS, RoutesOf, aliases_of, limits_of, wanted_by

_AT_ONCE: Final = 50


class AliasBudgetCache:
    """Follows what the objects of one table ask for.

    *routes_of* counts the routes that come along from a host as they are now, and *asking* says who asks for further hosts that go by it.
    """

    def __init__(self, routes_of: RoutesOf, asking: Callable[[str], Iterable[ObjectId]]) -> None:
        self._routes_of = routes_of
        self._asking = asking
        self._askers: dict[str, dict[ObjectId, ParsedObject]] = {}
        """By namespace, those that ask for aliases."""
        self._wanted: dict[ObjectId, int] = {}
        """How many routes each of them asks for, those included that another one has asked for, too."""
        self._totals: dict[str, int] = {}
        self._limits: dict[str, Mapping[Owner, int]] = {}
        self._stale: dict[ObjectId, None] = {}
        self._stale_namespaces: dict[str, None] = {}

    def limits(self, namespace: str) -> Mapping[Owner, int]:
        """Return how many routes the aliases may have of those of *namespace* that get fewer than they ask for."""
        return self._limits.get(namespace, NO_LIMITS)

    def object_changed(self, object_id: ObjectId, after: ParsedObject | None) -> None:
        """Note that an object asks for *after* now, None where that is nothing in the table."""
        namespace = object_id[1].namespace
        askers = self._askers.get(namespace, {})
        if after is not None and aliases_of(after):
            askers[object_id] = after
            self._askers[namespace] = askers
            self._stale[object_id] = None
        elif askers.pop(object_id, None) is not None:
            self._stale[object_id] = None
            if not askers:
                del self._askers[namespace]

    def hosts_changed(self, hosts: Iterable[str]) -> Iterator[None]:
        """Note, in steps, that what comes along from *hosts* may be more, or less."""
        for number, host in enumerate(hosts, 1):
            self._stale.update(dict.fromkeys(self._asking(host)))
            if not number % KEYS_AT_ONCE:
                yield

    def settle(self) -> Stepwise[list[str]]:
        """Find, in steps, what is left to whom; return the aliases for which that is another than before."""
        known: dict[tuple[str, str], int] = {}

        def routes_of(namespace: str, host: str) -> int:
            found = known.get((namespace, host))
            if found is None:
                found = known[namespace, host] = self._routes_of(namespace, host)
            return found

        number = 0
        while self._stale:
            object_id, _ = self._stale.popitem()
            self._add_up(object_id, routes_of)
            number += 1
            if not number % _AT_ONCE:
                yield
        concerned: list[str] = []
        while self._stale_namespaces:
            namespace, _ = self._stale_namespaces.popitem()
            yield
            yield from self._settle_namespace(namespace, partial(routes_of, namespace), concerned)
        return concerned

    def _add_up(self, object_id: ObjectId, routes_of: RoutesOf) -> None:
        """See how much an object asks for now."""
        namespace = object_id[1].namespace
        parsed = self._askers.get(namespace, {}).get(object_id)
        before = self._wanted.pop(object_id, 0)
        wanted = 0
        if parsed is not None:
            wanted = self._wanted[object_id] = wanted_by(parsed, partial(routes_of, namespace))
        total = self._totals.pop(namespace, 0) + wanted - before
        if total:
            self._totals[namespace] = total
        # Who asks for which, and who is older, may be others, though they are as many.
        self._stale_namespaces[namespace] = None

    def _settle_namespace(
        self, namespace: str, routes_of: Callable[[str], int], concerned: list[str]
    ) -> Stepwise[None]:
        """See what is left to those of *namespace*, and add the aliases to *concerned* for which that is another."""
        before = self.limits(namespace)
        is_too_much = self._totals.get(namespace, 0) > alias_budgets.MOST_OF_NAMESPACE
        if not is_too_much and not before:
            return
        in_their_order = yield from in_order(
            self._askers.get(namespace, {}).values(), lambda one: by_age(one.owner), SORTED_AT_ONCE
        )
        found: Mapping[Owner, int] = {}
        if is_too_much:
            found = yield from limits_of(in_their_order, routes_of)
        for number, parsed in enumerate(in_their_order, 1):
            if found.get(parsed.owner) != before.get(parsed.owner):
                concerned += aliases_of(parsed)
            if not number % _AT_ONCE:
                yield
        self._limits[namespace] = found
        if not found:
            del self._limits[namespace]
