"""Which Gateways send requests to which Services, by the routes that are attached to them: the ancestors of a policy.

Source: ``PolicyAncestorStatus`` of ``gateway.networking.k8s.io/v1``.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Final

from ingress.model.cluster.objects import ObjectKey, Owner
from ingress.model.cluster.state import ClusterState
from ingress.translate.caches.backend_cache import shared_key
from ingress.translate.claims import SERVICE_KIND, ParsedObject

AT_ONCE: Final = 32
"""Services that are counted for in one step, each for all Gateways of a route."""
FEW: Final = 16
"""Gateways of a Service that are kept as one value."""


class GatewaysOfServices:
    """Counts for each Service, by Gateway, how many routes lead from the one to the other."""

    def __init__(self) -> None:
        # Most Services have one Gateway, by one route, as many others have: one copy of that is kept.  Of those with
        # many Gateways each is counted where it stands.
        self._counts: dict[ObjectKey, tuple[tuple[Owner, int], ...] | dict[Owner, int]] = {}

    def get(self, service: ObjectKey) -> Collection[Owner]:
        """Return the Gateways of *service*, oldest first."""
        return sorted(dict(self._counts.get(service, ())), key=lambda one: (one.created, one.key))

    def replace(
        self, before: ParsedObject | None, after: ParsedObject | None, state: ClusterState
    ) -> Iterator[list[ObjectKey]]:
        """Note, in steps, that *after* stands where *before* stood; yield in each the Services that have other Gateways now."""
        had, has = _services_of(before, state), _services_of(after, state)
        gateways_before, gateways_after = _gateways_of(before), _gateways_of(after)
        others: list[ObjectKey] = []
        for number, service in enumerate({**had, **has}, 1):
            gone = gateways_before if service in had else {}
            come = gateways_after if service in has else {}
            if gone != come and self._count(service, gone, come):
                others.append(service)
            if not number % AT_ONCE:
                yield others
                others = []
        yield others

    def _count(self, service: ObjectKey, gone: Mapping[Owner, None], come: Mapping[Owner, None]) -> bool:
        """Count one route less from those of *gone*, and one more from those of *come*; return whether other Gateways lead there now."""
        known = self._counts.get(service, ())
        counts = known if isinstance(known, dict) else dict(known)
        are_others = False
        for gateway in come:
            are_others = are_others or gateway not in counts
            counts[gateway] = counts.get(gateway, 0) + 1
        for gateway in gone:
            counts[gateway] -= 1
            if not counts[gateway]:
                del counts[gateway]
                are_others = True
        if len(counts) > FEW:
            self._counts[service] = counts
        elif counts:
            self._counts[service] = _shared(tuple(counts.items()))
        else:
            self._counts.pop(service, None)
        return are_others


@lru_cache(maxsize=1024)
def _shared(counts: tuple[tuple[Owner, int], ...]) -> tuple[tuple[Owner, int], ...]:
    """Return equal counts that were seen lately."""
    return counts


def _gateways_of(parsed: ParsedObject | None) -> dict[Owner, None]:
    """Return the Gateways that take a route, each once."""
    attachments = () if parsed is None else parsed.gateway.attachments
    return {one.gateway: None for one in attachments if one.gateway and one.listeners}


def _services_of(parsed: ParsedObject | None, state: ClusterState) -> dict[ObjectKey, None]:
    """Return the Services that a route names, each once."""
    services: dict[ObjectKey, None] = {}
    last: object = None
    for _, reference in () if parsed is None else parsed.gateway.named_backends():
        if reference is not last and reference.kind == SERVICE_KIND:
            services[shared_key(reference, state)] = None
        last = reference
    return services
