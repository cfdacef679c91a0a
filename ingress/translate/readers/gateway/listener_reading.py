"""What the listeners of a Gateway or of a ListenerSet ask for: sockets, tables, the hosts that are theirs there."""

from collections.abc import Iterable

from ingress.annotations.annotations import DEFAULTS
from ingress.model.objects import Kind, ObjectKey
from ingress.model.secrets import TLS_KEYS, Needs
from ingress.translate.claims import AskedListener, ParsedObject
from ingress.translate.gateway.claims import GatewayClaims
from ingress.translate.readers.gateway.gateways import Gateway, GatewayListener, ListenerSet
from ingress.translate.readers.gateway.ports import Ports
from ingress.translate.readers.gateway.topology import GatewayState, ListenerSetState


def read_listeners(
    value: Gateway | ListenerSet, state: GatewayState | ListenerSetState, ports: Ports
) -> ParsedObject:
    """Return what the listeners of *value* ask for, of which the topology made *state*."""
    served = [one for one in state.listeners if one.is_served]
    asked = {
        AskedListener(listener, f"{one.field}.port"): None
        for one in served
        for listener in ports.listeners(one.port, one.protocol, state.addresses)
    }
    kept = {(one.table, one.hostname): None for one in served if one.hostname}
    return ParsedObject(
        state.owner,
        value,
        (),
        (),
        None,
        DEFAULTS,
        state.problems,
        rules_field="spec.listeners",
        tables=tuple(dict.fromkeys(one.table for one in served)),
        listeners=tuple(asked),
        gateway=GatewayClaims(kept=tuple(kept)),
        related=state,
    )


def certificates_needed(listeners: Iterable[GatewayListener], of: ObjectKey, kind: Kind) -> Needs:
    """Return the Secrets with certificates that *listeners*, of the object *of*, name, permitted or not."""
    if kind is not Kind.SECRET:
        return {}
    references = (
        one for listener in listeners if listener.tls is not None for one in listener.tls.certificates
    )
    return {one.key(of): TLS_KEYS for one in references if not one.group and one.kind == Kind.SECRET}
