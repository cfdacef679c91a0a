"""The reader of BackendTLSPolicies: which authorities they need; how TLS is spoken by them is found where endpoints are."""

from collections.abc import Hashable

from ingress.annotations.annotations import DEFAULTS
from ingress.model.cluster.objects import ClusterObject, Kind
from ingress.model.cluster.secrets import Needs, is_secret_name
from ingress.model.cluster.state import ClusterState
from ingress.model.stepwise import Stepwise, known
from ingress.translate.claims import ParsedObject
from ingress.translate.gateway.backend_policies import sources_of
from ingress.translate.gateway.handshake_requests import AUTHORITY_KEYS
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.objects.gateways import gateway_classes_of
from ingress.translate.readers.gateway.objects.policies import BackendTLSPolicy
from ingress.translate.readers.reader import Verdict


class PolicyReader:
    """Reads BackendTLSPolicies: all of them are ours as soon as a GatewayClass is."""

    def __init__(self, options: TranslateOptions) -> None:
        self._options = options.gateway

    def judge(self, value: ClusterObject, state: ClusterState, /) -> Verdict:
        """Decide by the GatewayClasses that there are."""
        name = self._options.controller_name
        classes = gateway_classes_of(state).values()
        return Verdict(self._options.is_served and any(one.controller == name for one in classes))

    def class_of(self, value: ClusterObject, /) -> Hashable:
        """Return the same for all."""
        return None

    def read(self, value: ClusterObject, related: Hashable, /) -> ParsedObject:
        """Return that it asks for no route, and which policy it is."""
        assert isinstance(value, BackendTLSPolicy)
        return ParsedObject(value.owner, value, (), (), None, DEFAULTS, (), tables=(), policy=value)

    def needs(self, value: ClusterObject, kind: Kind, /) -> Needs:
        """Return the Secrets or ConfigMaps with its authorities."""
        assert isinstance(value, BackendTLSPolicy)
        named = (key for of_kind, key in sources_of(value) if of_kind is kind)
        return {key: AUTHORITY_KEYS for key in named if is_secret_name(key.name)}

    def why_nothing(self, state: ClusterState, /) -> Stepwise[str]:
        """Leave that to Gateways, and to routes."""
        return known("")
