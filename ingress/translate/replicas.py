"""The replicas of this controller: how many share what limits allow (``--limits-shared``), and where they are.

They are the endpoints of our own Service that are ready, whatever their port: each pod is counted once, also where it has
addresses of both families.  As long as nothing is known of them, there is one.
"""

from ingress.model.addresses import plain_address
from ingress.model.problems import Problem, Reason
from ingress.model.state import ClusterState
from ingress.translate.options import TranslateOptions

_OPTION = "--limits-shared"
_ALONE = "each replica limits for itself"


def count_replicas(state: ClusterState, options: TranslateOptions) -> int:
    """Return how many there are; 1 where they share nothing."""
    if not options.limits_shared or options.own_service is None:
        return 1
    pods: dict[str, set[str]] = {}
    for one in state.slices.get(options.own_service, ()):
        pods.setdefault(one.address_type, set()).update(one.ready)
    return max(1, *map(len, pods.values())) if pods else 1


def find_replicas(state: ClusterState, options: TranslateOptions) -> tuple[str, ...]:
    """Return their addresses, in one spelling and sorted; none as long as nothing is known of them."""
    if options.own_service is None:
        return ()
    found: set[str] = set()
    for one in state.slices.get(options.own_service, ()):
        for address in one.ready:
            try:
                found.add(str(plain_address(address)))
            except ValueError:
                # A name, which no datagram comes from.
                continue
    return tuple(sorted(found))


def replica_problems(state: ClusterState, options: TranslateOptions) -> tuple[Problem, ...]:
    """Tell the operator why replicas cannot be counted."""
    service = options.own_service
    if not options.limits_shared or (service is not None and service in state.services):
        return ()
    if service is None:
        message = f"{_OPTION} needs --publish-service, whose ready endpoints are the replicas; {_ALONE}"
        return (Problem("Option", "", "limits-shared", Reason.INVALID_OPTION, message),)
    message = f"{_OPTION}: no such Service is known here, so its endpoints cannot be counted; {_ALONE}"
    return (Problem("Service", service.namespace, service.name, Reason.INVALID_OPTION, message),)
