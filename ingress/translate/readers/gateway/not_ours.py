"""Why an object of the Gateway API is not this controller's: in words for whoever expected that it is.  Pure.

Nothing is told in the cluster of such an object, since another controller may serve it.  Whoever asks about it gets to know
which of the names that it goes by lead to nobody known, or to whom else.
"""

from ingress.annotations.contract.values import quoted
from ingress.model.cluster.objects import ClusterObject, Kind, ObjectKey
from ingress.model.cluster.state import ClusterState
from ingress.translate.gateway_options import GatewayOptions
from ingress.translate.readers.gateway.objects.gateways import (
    Gateway,
    GatewayClass,
    ListenerSet,
    gateway_classes_of,
    gateways_of,
    listener_sets_of,
)
from ingress.translate.readers.gateway.objects.names import (
    GATEWAY,
    GROUP,
    LISTENER_SET,
    UNREADABLE,
    ObjectReference,
)
from ingress.translate.readers.gateway.objects.policies import BackendTLSPolicy
from ingress.translate.readers.gateway.objects.routes import AnyRoute

_MOST_PARENTS = 3


def why_not_served_here(value: ClusterObject, state: ClusterState, options: GatewayOptions) -> str:
    """Say why *value*, which is not this controller's, is not; a sentence without its full stop, which begins with "it" or "its"."""
    if not options.is_served:
        return "it is of the Gateway API, and --no-gateway-api has nothing of that served"
    match value:
        case GatewayClass():
            return f"its controller is {quoted(value.controller)}, and {_this_one(options)}"
        case Gateway():
            return f"its class {_of_class(value, state, options)}"
        case ListenerSet():
            if value.parent is None:
                return "it names no Gateway that it belongs to"
            if value.parent != UNREADABLE and not _is_of(value.parent, GATEWAY):
                return f"it belongs to {_shown(value.parent, value.key)}, which is no Gateway"
            return f"it belongs to {_of_parent(value.parent, value.key, state, options)}"
        case BackendTLSPolicy():
            return f"it counts where a GatewayClass is this controller's, and none is; {_this_one(options)}"
        case _ if isinstance(value, AnyRoute):
            parents = list(
                dict.fromkeys(_of_parent(one.parent, value.key, state, options) for one in value.parents)
            )
            more = len(parents) - _MOST_PARENTS
            if more > 0:
                parents[_MOST_PARENTS:] = [f"{more} more"]
            # Each has a comma of its own.
            told = "; to ".join(parents)
            return f"it attaches to {told}" if told else "it has no parentRefs, so it attaches to nothing"
    return "it is not for this controller"


def _this_one(options: GatewayOptions) -> str:
    return f"this controller is {quoted(options.controller_name)} (--gateway-controller-name)"


def _of_class(gateway: Gateway, state: ClusterState, options: GatewayOptions) -> str:
    """Say of the class of *gateway* whose it is."""
    name = gateway.class_name
    if not name:
        return "is not named"
    seen = gateway_classes_of(state).get(ObjectKey("", name))
    if seen is None:
        return f"is {quoted(name)}, and no GatewayClass of that name is known"
    return f"{quoted(name)} has the controller {quoted(seen.controller)}, and {_this_one(options)}"


def _of_parent(parent: ObjectReference, of: ObjectKey, state: ClusterState, options: GatewayOptions) -> str:
    """Name the parent of the object *of* that key, and say why it is not this controller's."""
    if parent == UNREADABLE:
        return "what cannot be read"
    key = parent.key(of)
    found: Gateway | ListenerSet | None = None
    shown = _shown(parent, of)
    if _is_of(parent, GATEWAY):
        found = gateways_of(state).get(key)
    elif _is_of(parent, LISTENER_SET):
        found = listener_sets_of(state).get(key)
    else:
        return f"{shown}, which is neither a Gateway nor a ListenerSet"
    if found is None:
        return f"{shown}, which is not known"
    if isinstance(found, Gateway):
        return f"{shown}, whose class {_of_class(found, state, options)}"
    return f"{shown}, which is not served here"


def _is_of(parent: ObjectReference, kind: Kind) -> bool:
    return parent.group == GROUP and parent.kind == kind


def _shown(parent: ObjectReference, of: ObjectKey) -> str:
    """Name the parent of the object *of* that key; by its group, too, where that is none of those that are known here."""
    kind = parent.kind if parent.group in ("", GROUP) else f"{parent.kind}.{parent.group}"
    return f"{kind} {parent.key(of)}"
