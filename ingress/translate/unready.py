"""Endpoints that get no requests since their pods are not ready, or end: for whoever looks for a pod and does not find it.

Nothing is kept of them with the snapshot, which has those alone that may be used.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from ingress.model.backends import BackendReference
from ingress.model.endpoint_states import EndpointStage
from ingress.model.objects import EndpointSlice, ObjectKey
from ingress.model.state import ClusterState
from ingress.model.stepwise import Stepwise
from ingress.translate.backends import is_by_ip, port_of, service_key
from ingress.translate.claims import SERVICE_KIND
from ingress.translate.options import TranslateOptions
from ingress.translate.slices import is_address, unready_of

AT_ONCE: Final = 200
MOST: Final = 10_000
"""Endpoints that are named; more are left out."""

Unready = Mapping[tuple[str, str], EndpointStage]
"""By backend and endpoint: whether it is not ready, or ends."""


def unready_endpoints(
    backends: Iterable[BackendReference], state: ClusterState, options: TranslateOptions
) -> Stepwise[Unready]:
    """Return those of *backends*, by the EndpointSlices of *state*, which may change meanwhile."""
    concerned: set[ObjectKey] = set()
    for number, service in enumerate(tuple(state.slices), 1):
        if any(map(_has_unready, state.slices.get(service, ()))):
            concerned.add(service)
        if not number % AT_ONCE:
            yield
    found: dict[tuple[str, str], EndpointStage] = {}
    if not concerned:
        return found
    for number, reference in enumerate(backends, 1):
        key = service_key(reference)
        if key in concerned and _goes_by_slices(reference, state, options):
            port = port_of(reference, state)
            for endpoint, ends in () if port is None else unready_of(port, state.slices.get(key, ())):
                if len(found) >= MOST:
                    return found
                found[str(reference), str(endpoint)] = (
                    EndpointStage.TERMINATING if ends else EndpointStage.NOT_READY
                )
        if not number % AT_ONCE:
            yield
    return found


def _goes_by_slices(reference: BackendReference, state: ClusterState, options: TranslateOptions) -> bool:
    service = state.services.get(service_key(reference))
    if service is None or reference.kind != SERVICE_KIND:
        return False
    return not (is_by_ip(reference, options) and is_address(service.cluster_ip))


def _has_unready(one: EndpointSlice) -> bool:
    return not one.are_all_ready
