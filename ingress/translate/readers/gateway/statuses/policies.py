"""The status of a BackendTLSPolicy: an entry for each Gateway from which routes lead to a Service that it is about.

Source: ``PolicyStatus`` and ``PolicyAncestorStatus`` of ``gateway.networking.k8s.io/v1``, with the conditions of ``BackendTLSPolicy``.
"""

from collections.abc import Iterable
from typing import Final

from ingress.model.cluster.objects import ObjectKey, Owner
from ingress.model.cluster.problems import Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.reporting.reports import StatusDocument, StatusEntry
from ingress.model.reporting.writes import ListShape, StatusShape
from ingress.translate.gateway.backend_policies import claims_of, services_of
from ingress.translate.readers.gateway.objects.names import BACKEND_TLS_POLICY
from ingress.translate.readers.gateway.objects.policies import BackendTLSPolicy, policies_of
from ingress.translate.readers.gateway.statuses.conditions import Words, condition_of, reference_to
from ingress.translate.reports import ReportFacts

_MOST_ANCESTORS: Final = 16

POLICY_SHAPE: Final = StatusShape(
    lists=(
        ListShape(
            "ancestors",
            ("controllerName", "ancestorRef"),
            frozenset({"Accepted", "ResolvedRefs"}),
            _MOST_ANCESTORS,
            is_shared=True,
        ),
    )
)

_ACCEPTED: Final[Words] = {
    Reason.POLICY_CONFLICTED: "Conflicted",
    Reason.TARGET_NOT_FOUND: "TargetNotFound",
    Reason.NO_VALID_CA: "NoValidCACertificate",
    Reason.INVALID_HOST: "Invalid",
    Reason.UNSUPPORTED_VALUE: "Invalid",
    Reason.MALFORMED_OBJECT: "Invalid",
}
_RESOLVED: Final[Words] = {
    Reason.REFERENCE_NOT_PERMITTED: "RefNotPermitted",
    Reason.INVALID_CA_KIND: "InvalidKind",
    Reason.INVALID_KIND: "InvalidKind",
    Reason.INVALID_CA_REF: "InvalidCACertificateRef",
    Reason.CONFIG_MAP_NOT_FOUND: "InvalidCACertificateRef",
    Reason.CONFIG_MAP_FORBIDDEN: "InvalidCACertificateRef",
}


def policy_document(facts: ReportFacts) -> StatusDocument:
    """Return what the status of a policy is to say, which is the same for all its ancestors."""
    controller = facts.options.gateway.controller_name
    conditions = (
        condition_of("Accepted", facts.problems, _ACCEPTED),
        condition_of("ResolvedRefs", facts.problems, _RESOLVED),
    )
    entries = tuple(
        StatusEntry({"ancestorRef": reference_to(one), "controllerName": controller}, conditions)
        for one in _ancestors(policies_of(facts.state)[facts.key], facts)
    )
    return StatusDocument(lists={"ancestors": entries}, controller=controller)


def targeting(service: ObjectKey, state: ClusterState) -> Iterable[ObjectKey]:
    """Return the policies that are about *service*."""
    if not state.of(BACKEND_TLS_POLICY):
        return ()
    return claims_of(state).about(service)


def _ancestors(policy: BackendTLSPolicy, facts: ReportFacts) -> list[Owner]:
    """Return the Gateways of the Services that *policy* is about, oldest first."""
    found = {one: None for service in services_of(policy) for one in facts.attached.gateways_of(service)}
    return sorted(found, key=lambda one: (one.created, one.key))[:_MOST_ANCESTORS]
