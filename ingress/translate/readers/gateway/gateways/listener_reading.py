"""What the listeners of a Gateway or of a ListenerSet ask for: sockets, tables, the hosts that are theirs there."""

from ingress.annotations.annotations import DEFAULTS
from ingress.translate.claims import AskedListener, ParsedObject
from ingress.translate.gateway.claims import GatewayClaims, StreamClaim
from ingress.translate.gateway.handshake_requests import GatewayTls
from ingress.translate.readers.gateway.objects.gateways import Gateway, ListenerSet
from ingress.translate.readers.gateway.topology.ports import Ports
from ingress.translate.readers.gateway.topology.topology import GatewayState, ListenerSetState


def read_listeners(
    value: Gateway | ListenerSet, state: GatewayState | ListenerSetState, tls: GatewayTls, ports: Ports
) -> ParsedObject:
    """Return what the listeners of *value* ask for, of which the topology made *state*, and *tls* of TLS."""
    served = [one for one in state.listeners if one.is_served]
    asked = {
        AskedListener(listener, f"{one.field}.port"): None
        for one in served
        for listener in ports.listeners(one.port, one.protocol, state.addresses)
    }
    kept = {(one.table, one.hostname): None for one in served if one.hostname}
    streams = tuple(
        StreamClaim(one.table, one.hostname, sort, one.field)
        for one in served
        if (sort := one.stream_sort) is not None
    )
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
        gateway=GatewayClaims(kept=tuple(kept), streams=streams),
        gateway_tls=tls,
        related=(state, tls),
    )
