"""Which Gateways send requests to which Services, by the routes that are attached to them: the ancestors of a policy.

Source: ``PolicyAncestorStatus`` of ``gateway.networking.k8s.io/v1``.
"""

from collections.abc import Collection, Iterator

from ingress.model.objects import ObjectKey, Owner
from ingress.translate.backends import service_key
from ingress.translate.claims import SERVICE_KIND, ParsedObject


class GatewaysOfServices:
    """Counts for each Service, by Gateway, how many routes lead from the one to the other."""

    def __init__(self) -> None:
        self._counts: dict[ObjectKey, dict[Owner, int]] = {}

    def get(self, service: ObjectKey) -> Collection[Owner]:
        """Return the Gateways of *service*, oldest first."""
        return sorted(self._counts.get(service, ()), key=lambda one: (one.created, one.key))

    def replace(self, before: ParsedObject | None, after: ParsedObject | None) -> Iterator[ObjectKey]:
        """Note that *after* stands where *before* stood; yield the Services that have other Gateways now, or had meanwhile."""
        had = {} if before is None else _led_to(before)
        has = {} if after is None else _led_to(after)
        for service, gateway in had.keys() - has.keys():
            counts = self._counts[service]
            counts[gateway] -= 1
            if not counts[gateway]:
                del counts[gateway]
                yield service
            if not counts:
                del self._counts[service]
        for service, gateway in has.keys() - had.keys():
            counts = self._counts.setdefault(service, {})
            if gateway not in counts:
                yield service
            counts[gateway] = counts.get(gateway, 0) + 1


def _led_to(parsed: ParsedObject) -> dict[tuple[ObjectKey, Owner], None]:
    """Return the Services of a route, each with each Gateway that takes the route."""
    gateways = {one.gateway: None for one in parsed.gateway.attachments if one.gateway and one.listeners}
    if not gateways:
        return {}
    services = {
        service_key(reference): None
        for _, reference in parsed.gateway.named_backends()
        if reference.kind == SERVICE_KIND
    }
    return {(service, gateway): None for service in services for gateway in gateways}
