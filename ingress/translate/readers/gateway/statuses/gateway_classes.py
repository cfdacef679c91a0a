"""The status of a GatewayClass.

Source: ``GatewayClassStatus`` of ``gateway.networking.k8s.io/v1``, with its conditions.
"""

from typing import Final

from ingress.model.cluster.problems import Reason
from ingress.model.reporting.reports import StatusDocument
from ingress.model.reporting.writes import StatusShape
from ingress.translate.readers.gateway.statuses.conditions import condition_of
from ingress.translate.readers.gateway.statuses.features import FEATURES
from ingress.translate.reports import ReportFacts

GATEWAY_CLASS_SHAPE: Final = StatusShape(
    frozenset({"Accepted", "SupportedVersion"}), (), ("supportedFeatures",)
)


def gateway_class_document(facts: ReportFacts) -> StatusDocument:
    """Return what the status of a GatewayClass that is ours is to say.

    Of another version of the API what can be served is served all the same, so that it breaks no more than its own condition.
    """
    accepted = condition_of("Accepted", facts.problems, {Reason.INVALID_PARAMETERS: "InvalidParameters"})
    version = condition_of(
        "SupportedVersion", facts.problems, {Reason.UNSUPPORTED_VERSION: "UnsupportedVersion"}
    )
    features = [{"name": name} for name in sorted(FEATURES)]
    return StatusDocument((accepted, version), {}, {"supportedFeatures": features})
