"""Endpoints that get no requests since their pods are not ready, end, or are for others: for whoever looks for a pod and does not find it.

Nothing is kept of them with the snapshot, which has those alone that may be used.
"""

from collections.abc import Mapping
from typing import Final

from ingress.model.cluster.objects import EndpointSlice, ObjectKey
from ingress.model.cluster.state import ClusterState
from ingress.model.observability.endpoint_states import EndpointStage
from ingress.model.stepwise import Stepwise
from ingress.model.upstream.backends import BackendReference, BackendState
from ingress.translate.claims import SERVICE_KIND
from ingress.translate.endpoints.backends import is_by_ip, port_of, service_key
from ingress.translate.endpoints.slices import is_address, passed_over
from ingress.translate.options import TranslateOptions

AT_ONCE: Final = 200
MOST: Final = 10_000
"""Endpoints that are named; more are left out."""

Unready = Mapping[tuple[str, str], EndpointStage]
"""By backend and endpoint: whether it is not ready, ends, or is elsewhere."""


def unready_endpoints(
    backends: Mapping[BackendReference, BackendState], state: ClusterState, options: TranslateOptions
) -> Stepwise[Unready]:
    """Return those of *backends*, by the EndpointSlices of *state*, which may change meanwhile."""
    concerned: set[ObjectKey] = set()
    for number, service in enumerate(tuple(state.slices), 1):
        if any(_has_more(one, options) for one in state.slices.get(service, ())):
            concerned.add(service)
        if not number % AT_ONCE:
            yield
    found: dict[tuple[str, str], EndpointStage] = {}
    if not concerned:
        return found
    for number, (reference, backend) in enumerate(backends.items(), 1):
        key = service_key(reference)
        if key in concerned and _goes_by_slices(reference, state, options):
            port = port_of(reference, state)
            slices = state.slices.get(key, ())
            if port is None:
                continue
            for one in passed_over(port, slices, backend.endpoints, options.locality):
                if one is None:
                    yield
                    continue
                if len(found) >= MOST:
                    return found
                endpoint, stage = one
                found[str(reference), str(endpoint)] = stage
        if not number % AT_ONCE:
            yield
    return found


def _goes_by_slices(reference: BackendReference, state: ClusterState, options: TranslateOptions) -> bool:
    service = state.services.get(service_key(reference))
    if service is None or reference.kind != SERVICE_KIND:
        return False
    return not (is_by_ip(reference, options) and is_address(service.cluster_ip))


def _has_more(one: EndpointSlice, options: TranslateOptions) -> bool:
    return not one.are_all_ready or (options.locality is not None and bool(one.hints))
