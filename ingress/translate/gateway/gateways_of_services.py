"""Which Gateways send requests to which Services, by the routes that are attached to them: the ancestors of a policy.

Source: ``PolicyAncestorStatus`` of ``gateway.networking.k8s.io/v1``.
"""

from collections.abc import Collection, Iterator
from functools import lru_cache

from ingress.model.objects import ObjectKey, Owner
from ingress.model.state import ClusterState
from ingress.translate.backend_cache import shared_key
from ingress.translate.claims import SERVICE_KIND, ParsedObject


class GatewaysOfServices:
    """Counts for each Service, by Gateway, how many routes lead from the one to the other."""

    def __init__(self) -> None:
        # Most Services have one Gateway, by one route, as many others have: one copy of that is kept.
        self._counts: dict[ObjectKey, tuple[tuple[Owner, int], ...]] = {}

    def get(self, service: ObjectKey) -> Collection[Owner]:
        """Return the Gateways of *service*, oldest first."""
        found = (gateway for gateway, _ in self._counts.get(service, ()))
        return sorted(found, key=lambda one: (one.created, one.key))

    def replace(
        self, before: ParsedObject | None, after: ParsedObject | None, state: ClusterState
    ) -> Iterator[ObjectKey]:
        """Note that *after* stands where *before* stood; yield the Services that have other Gateways now, or had meanwhile."""
        had = {} if before is None else _led_to(before, state)
        has = {} if after is None else _led_to(after, state)
        for service, gateway in had.keys() - has.keys():
            if self._count(service, gateway, -1) == 0:
                yield service
        for service, gateway in has.keys() - had.keys():
            if self._count(service, gateway, 1) == 1:
                yield service

    def _count(self, service: ObjectKey, gateway: Owner, by: int) -> int:
        """Count *by* more routes from *gateway* to *service*; return how many there are now."""
        counts = dict(self._counts.get(service, ()))
        now = counts.get(gateway, 0) + by
        if now:
            counts[gateway] = now
        else:
            del counts[gateway]
        if counts:
            self._counts[service] = _shared(tuple(counts.items()))
        else:
            del self._counts[service]
        return now


@lru_cache(maxsize=1024)
def _shared(counts: tuple[tuple[Owner, int], ...]) -> tuple[tuple[Owner, int], ...]:
    """Return equal counts that were seen lately."""
    return counts


def _led_to(parsed: ParsedObject, state: ClusterState) -> dict[tuple[ObjectKey, Owner], None]:
    """Return the Services of a route, each with each Gateway that takes the route."""
    gateways = {one.gateway: None for one in parsed.gateway.attachments if one.gateway and one.listeners}
    if not gateways:
        return {}
    services: dict[ObjectKey, None] = {}
    last: object = None
    for _, reference in parsed.gateway.named_backends():
        if reference is not last and reference.kind == SERVICE_KIND:
            services[shared_key(reference, state)] = None
        last = reference
    return {(service, gateway): None for service in services for gateway in gateways}
