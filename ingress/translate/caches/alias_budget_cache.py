"""Which aliases of which namespaces are too many, kept up to date.  Part of incremental translation."""

from collections.abc import Mapping

from ingress.model.cluster.objects import ObjectId, Owner
from ingress.model.stepwise import Stepwise, in_order
from ingress.translate.age import SORTED_AT_ONCE, by_age
from ingress.translate.claims import ParsedObject
from ingress.translate.hosts.alias_budgets import NO_LIMITS, RoutesOf, aliases_of, limits_of, targets_of


class AliasBudgetCache:
    """Follows what the objects of one table ask for; where hosts *are_shared*, an alias has the routes of all namespaces.

    *routes_of* counts them as they are now.
    """

    def __init__(self, routes_of: RoutesOf, *, are_shared: bool) -> None:
        self._routes_of = routes_of
        self._are_shared = are_shared
        self._askers: dict[str, dict[ObjectId, ParsedObject]] = {}
        """By namespace, those that ask for aliases."""
        self._limits: dict[str, Mapping[Owner, int]] = {}
        self._stale: dict[str, None] = {}

    def limits(self, namespace: str) -> Mapping[Owner, int]:
        """Return how many routes the aliases may have of those of *namespace* that get fewer than they ask for."""
        return self._limits.get(namespace, NO_LIMITS)

    def object_changed(self, object_id: ObjectId, namespace: str, after: ParsedObject | None) -> None:
        """Note that an object of *namespace* asks for *after* now; None where that is nothing in the table."""
        askers = self._askers.get(namespace, {})
        if after is not None and aliases_of(after):
            askers[object_id] = after
            self._askers[namespace] = askers
        elif askers.pop(object_id, None) is not None:
            self._stale[namespace] = None
            if not askers:
                del self._askers[namespace]
        # What comes along may be more, or less, whatever the object asks for.
        if self._are_shared:
            self._stale.update(dict.fromkeys(self._askers))
        elif namespace in self._askers:
            self._stale[namespace] = None

    def settle(self) -> Stepwise[list[str]]:
        """Find, in steps, what is left to whom; return the aliases for which that is another than before."""
        concerned: list[str] = []
        while self._stale:
            namespace, _ = self._stale.popitem()
            yield
            askers = self._askers.get(namespace, {}).values()
            in_their_order = yield from in_order(askers, lambda one: by_age(one.owner), SORTED_AT_ONCE)
            routes: dict[str, int] = {}
            for number, parsed in enumerate(in_their_order):
                if not number % SORTED_AT_ONCE:
                    yield
                for target in targets_of(parsed):
                    if target not in routes:
                        routes[target] = self._routes_of(namespace, target)
            yield
            before = self.limits(namespace)
            found = limits_of(in_their_order, routes.__getitem__)
            if found == before:
                continue
            for parsed in in_their_order:
                if found.get(parsed.owner) != before.get(parsed.owner):
                    concerned += aliases_of(parsed)
            self._limits[namespace] = found
            if not found:
                del self._limits[namespace]
        return concerned
