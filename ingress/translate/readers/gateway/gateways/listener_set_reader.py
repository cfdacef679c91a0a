"""The reader of ListenerSets: which listeners they add to their Gateways, of what the topology makes of them all."""

from collections.abc import Hashable

from ingress.model.cluster.objects import ClusterObject, Kind
from ingress.model.cluster.secrets import Needs
from ingress.model.cluster.state import ClusterState
from ingress.model.stepwise import Stepwise, known
from ingress.translate.claims import ParsedObject
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.gateways.listener_reading import read_listeners
from ingress.translate.readers.gateway.objects.gateways import ListenerSet, gateways_of, is_our_gateway
from ingress.translate.readers.gateway.objects.names import GATEWAY, GATEWAY_CLASS
from ingress.translate.readers.gateway.topology.gateway_tls import gateway_tls_of, needs_of
from ingress.translate.readers.gateway.topology.ports import Ports
from ingress.translate.readers.gateway.topology.topology_making import topology_of
from ingress.translate.readers.reader import Verdict


class ListenerSetReader:
    """Reads ListenerSets: ours are those of our Gateways, whether these take them or not."""

    decided_by = (GATEWAY_CLASS, GATEWAY)

    def __init__(self, options: TranslateOptions) -> None:
        self._options = options
        self._ports = Ports(options)

    def judge(self, value: ClusterObject, state: ClusterState, /) -> Verdict:
        """Decide by the Gateway; what is related is the state of the ListenerSet in the topology, and what it asks of TLS."""
        topology = topology_of(state, self._options)
        found = topology.listener_sets.get(value.key)
        if found is None:
            return Verdict(False)
        gateway = topology.gateways[found.gateway.key].source
        return Verdict(True, related=(found, gateway_tls_of(found.listeners, gateway, topology)))

    def is_ours(self, value: ClusterObject, state: ClusterState, /) -> bool:
        """Whether its Gateway is, whatever the listeners of both come to."""
        assert isinstance(value, ListenerSet)
        key = value.gateway_key
        gateway = None if key is None else gateways_of(state).get(key)
        return gateway is not None and is_our_gateway(gateway, state, self._options.gateway)

    def class_of(self, value: ClusterObject, /) -> Hashable:
        """Return the Gateway that it names."""
        assert isinstance(value, ListenerSet)
        return (
            None
            if value.parent is None
            else (value.parent.group, value.parent.kind, value.parent.key(value.key))
        )

    def read(self, value: ClusterObject, related: Hashable, /) -> ParsedObject:
        """Return what its listeners ask for."""
        assert isinstance(value, ListenerSet) and isinstance(related, tuple)
        state, tls = related
        return read_listeners(value, state, tls, self._ports)

    def needs(self, value: ClusterObject, kind: Kind, /) -> Needs:
        """Return the certificates of its listeners."""
        assert isinstance(value, ListenerSet)
        return needs_of(value, kind)

    def why_nothing(self, state: ClusterState, /) -> Stepwise[str]:
        """Leave that to Gateways, and to routes."""
        return known("")
