"""The reader of GatewayClasses: they ask for nothing to be served, and may have problems of their own."""

from collections.abc import Hashable

from ingress.annotations.annotations import DEFAULTS
from ingress.model.cluster.objects import ClusterObject, Kind
from ingress.model.cluster.problems import Reason
from ingress.model.cluster.secrets import Needs
from ingress.model.cluster.state import ClusterState
from ingress.model.stepwise import Stepwise, known
from ingress.translate.claims import ParsedObject
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.objects.definitions import definitions_of, unsupported
from ingress.translate.readers.gateway.objects.gateways import GatewayClass, gateway_classes_of
from ingress.translate.readers.gateway.objects.names import DEFINITION
from ingress.translate.readers.reader import Verdict


class GatewayClassReader:
    """Reads GatewayClasses: ours are those that name us as their controller."""

    def __init__(self, options: TranslateOptions) -> None:
        self._controller = options.gateway.controller_name

    def judge(self, value: ClusterObject, state: ClusterState, /) -> Verdict:
        """Decide by the controller; what is related is what to say of the versions in the cluster."""
        assert isinstance(value, GatewayClass)
        if value.controller != self._controller:
            return Verdict(False)
        return Verdict(
            True, related=state.derived.get(unsupported, (DEFINITION,), lambda _: _versions(state))
        )

    def class_of(self, value: ClusterObject, /) -> Hashable:
        """Return the controller."""
        assert isinstance(value, GatewayClass)
        return value.controller

    def read(self, value: ClusterObject, related: Hashable, /) -> ParsedObject:
        """Return nothing but problems."""
        assert isinstance(value, GatewayClass) and isinstance(related, str)
        owner, problems = value.owner, []
        if value.parameters is not None:
            message = (
                f"refers to {value.parameters}, but there are no parameters; its Gateways are not served"
            )
            problems.append(owner.problem(Reason.INVALID_PARAMETERS, message, "spec.parametersRef"))
        if related:
            problems.append(owner.problem(Reason.UNSUPPORTED_VERSION, related))
        return ParsedObject(owner, value, (), (), None, DEFAULTS, tuple(problems), related=related)

    def needs(self, value: ClusterObject, kind: Kind, /) -> Needs:
        """Return that nothing is needed."""
        return {}

    def why_nothing(self, state: ClusterState, /) -> Stepwise[str]:
        """Say that no class is ours, where there are some."""
        classes = gateway_classes_of(state).values()
        if not classes or any(one.controller == self._controller for one in classes):
            return known("")
        return known(f"no GatewayClass names the controller {self._controller}")


def _versions(state: ClusterState) -> str:
    return unsupported(definitions_of(state).values())
