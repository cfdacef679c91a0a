"""The replicas of this controller: how many share what limits allow (``--limits-shared``), and where they are.

They are the endpoints of our own Service that are ready, whatever their port: each pod is counted once, also where it has
addresses of both families.  As long as nothing is known of them, there is one.
"""

from operator import is_

from ingress.model.cluster.objects import EndpointSlice, ObjectKey
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.model.network.addresses import plain_address
from ingress.translate.options import TranslateOptions

_OPTION = "--limits-shared"
_ALONE = "each replica limits for itself"


class Replicas:
    """How many replicas there are, and where; found anew where EndpointSlices of our Service are others, and of these alone."""

    def __init__(self) -> None:
        self.count = 1
        """1 where they share nothing."""
        self.addresses: tuple[str, ...] = ()
        """In one spelling and sorted; none as long as nothing is known of them."""
        self._seen: tuple[EndpointSlice, ...] = ()
        self._of_slices: dict[ObjectKey, tuple[EndpointSlice, _OfSlice]] = {}
        self._shares = False

    def find(self, state: ClusterState, options: TranslateOptions) -> bool:
        """Look at *state*; return whether any of that is different."""
        own = options.own_service
        slices = () if own is None else state.slices.get(own, ())
        if options.limits_shared is self._shares and _are_same(slices, self._seen):
            return False
        self._seen, self._shares = slices, options.limits_shared
        known, self._of_slices = self._of_slices, {}
        for one in slices:
            before = known.get(one.key)
            found = before if before is not None and before[0] is one else (one, _of_slice(one))
            self._of_slices[one.key] = found
        return self._count()

    def _count(self) -> bool:
        before = self.count, self.addresses
        pods: dict[str, set[str]] = {}
        found: set[str] = set()
        for one, of_slice in self._of_slices.values():
            pods.setdefault(one.address_type, set()).update(of_slice.ready)
            found.update(of_slice.addresses)
        self.count = max(1, *map(len, pods.values())) if self._shares and pods else 1
        addresses = tuple(sorted(found))
        if addresses != self.addresses:
            self.addresses = addresses
        return before != (self.count, self.addresses)


@frozen
class _OfSlice:
    """What of an EndpointSlice counts: its ready endpoints, as they are written, and the addresses of those that are no names."""

    ready: tuple[str, ...]
    addresses: tuple[str, ...]


def _of_slice(one: EndpointSlice) -> _OfSlice:
    ready, found = one.ready, []
    for address in ready:
        try:
            found.append(str(plain_address(address)))
        except ValueError:
            # A name, which no datagram comes from.
            continue
    return _OfSlice(ready, tuple(found))


def _are_same(some: tuple[EndpointSlice, ...], others: tuple[EndpointSlice, ...]) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))


def find_replicas(state: ClusterState, options: TranslateOptions) -> Replicas:
    """Return what there is of them in *state*."""
    found = Replicas()
    found.find(state, options)
    return found


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
