"""The reader of Gateways: which listeners they ask for, of what the topology makes of them all."""

from collections.abc import Hashable

from attrs import evolve

from ingress.model.cluster.objects import ClusterObject, Kind
from ingress.model.cluster.secrets import Needs
from ingress.model.cluster.state import ClusterState
from ingress.model.stepwise import Stepwise, known
from ingress.translate.claims import ParsedObject
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.gateways.infrastructure import asks_for_service, service_key
from ingress.translate.readers.gateway.gateways.listener_reading import read_listeners
from ingress.translate.readers.gateway.objects.gateways import Gateway, gateways_of, is_our_gateway
from ingress.translate.readers.gateway.objects.names import GATEWAY_CLASS
from ingress.translate.readers.gateway.objects.routes import ROUTES
from ingress.translate.readers.gateway.topology.gateway_tls import (
    backend_certificate_of,
    gateway_tls_of,
    needs_of,
)
from ingress.translate.readers.gateway.topology.ports import Ports
from ingress.translate.readers.gateway.topology.topology_making import last_topology, topology_of
from ingress.translate.readers.reader import Verdict


class GatewayReader:
    """Reads Gateways: ours are those whose class names us as its controller."""

    decided_by = (GATEWAY_CLASS,)

    def __init__(self, options: TranslateOptions) -> None:
        self._options = options
        self._ports = Ports(options)

    def judge(self, value: ClusterObject, state: ClusterState, /) -> Verdict:
        """Decide by the class; what is related is the state of the Gateway in the topology, and what it asks of TLS."""
        assert isinstance(value, Gateway)
        topology = topology_of(state, self._options)
        found = topology.gateways.get(value.key)
        if found is None:
            return Verdict(False)
        shown, problems = backend_certificate_of(found.source, topology)
        tls = evolve(gateway_tls_of(found.listeners, found.source, topology), backend_certificate=shown)
        return Verdict(True, problems, (found, tls))

    def is_ours(self, value: ClusterObject, state: ClusterState, /) -> bool:
        """Whether its class is, whatever its listeners come to."""
        assert isinstance(value, Gateway)
        return is_our_gateway(value, state, self._options.gateway)

    def class_of(self, value: ClusterObject, /) -> Hashable:
        """Return the name of the class."""
        assert isinstance(value, Gateway)
        return value.class_name

    def read(self, value: ClusterObject, related: Hashable, /) -> ParsedObject:
        """Return what its own listeners ask for."""
        assert isinstance(value, Gateway) and isinstance(related, tuple)
        state, tls = related
        parsed = read_listeners(value, state, tls, self._ports)
        return evolve(parsed, kept_service=service_key(value.key)) if asks_for_service(value) else parsed

    def needs(self, value: ClusterObject, kind: Kind, /) -> Needs:
        """Return the certificates of its listeners, those shown to endpoints, and the authorities of clients."""
        assert isinstance(value, Gateway)
        return needs_of(value, kind)

    def why_nothing(self, state: ClusterState, /) -> Stepwise[str]:
        """Say that no Gateway is ours, that none is accepted, or that no route is there for them, where there are some."""
        return known(self._why_nothing(state))

    def _why_nothing(self, state: ClusterState) -> str:
        if not gateways_of(state):
            return ""
        found = last_topology(state, self._options).gateways.values()
        if not found:
            return f"no Gateway has a class of the controller {self._options.gateway.controller_name}"
        if not any(one.is_accepted for one in found):
            return "no Gateway is accepted"
        return (
            ""
            if any(state.of(kind) for kind in ROUTES)
            else "there is no HTTPRoute, nor any other route for Gateways"
        )
