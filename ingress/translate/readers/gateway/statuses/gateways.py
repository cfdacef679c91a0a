"""The status of a Gateway.

Source: ``GatewayStatus`` of ``gateway.networking.k8s.io/v1``, with its conditions.
"""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any, Final

from ingress.model.cluster.object_meta import Address, Condition
from ingress.model.cluster.problems import ORDER, Problem, Reason
from ingress.model.reporting.reports import StatusDocument
from ingress.model.reporting.writes import ADDRESSES_FIELD, StatusShape
from ingress.translate.readers.gateway.objects.gateways import Gateway, gateways_of
from ingress.translate.readers.gateway.statuses.conditions import Words, broken, condition_of, held, is_within
from ingress.translate.readers.gateway.statuses.listener_sets import is_valid_set
from ingress.translate.readers.gateway.statuses.listeners import (
    LISTENERS,
    ClientProblems,
    ListenerOutcome,
    listener_outcomes,
)
from ingress.translate.readers.gateway.topology.topology import GatewayState
from ingress.translate.readers.gateway.topology.topology_making import last_topology
from ingress.translate.reports import ReportFacts

GATEWAY_SHAPE: Final = StatusShape(
    frozenset({"Accepted", "Programmed", "ResolvedRefs", "InsecureFrontendValidationMode"}),
    (LISTENERS,),
    (ADDRESSES_FIELD, "attachedListenerSets"),
)

_MOST_ADDRESSES: Final = 16
_ACCEPTED: Final[Words] = {
    Reason.INVALID_PARAMETERS: "InvalidParameters",
    Reason.UNSUPPORTED_ADDRESS: "UnsupportedAddress",
}
_PROGRAMMED: Final[Words] = {
    Reason.ADDRESS_NOT_USABLE: "AddressNotUsable",
    Reason.ADDRESS_NOT_ASSIGNED: "AddressNotAssigned",
}
_RESOLVED: Final[Words] = {
    Reason.REFERENCE_NOT_PERMITTED: "RefNotPermitted",
    Reason.INVALID_CLIENT_CERTIFICATE_REF: "InvalidClientCertificateRef",
    Reason.INVALID_KIND: "InvalidClientCertificateRef",
    Reason.INVALID_CERTIFICATE_REF: "InvalidClientCertificateRef",
    Reason.SECRET_NOT_FOUND: "InvalidClientCertificateRef",
    Reason.SECRET_FORBIDDEN: "InvalidClientCertificateRef",
    Reason.INVALID_CERTIFICATE: "InvalidClientCertificateRef",
}
_NO_ADDRESS: Final = "its Gateway has no address"


def gateway_document(facts: ReportFacts) -> StatusDocument:
    """Return what the status of a Gateway that is ours is to say."""
    topology = last_topology(facts.state, facts.options)
    state, gateway = topology.gateways[facts.key], gateways_of(facts.state)[facts.key]
    problems = sorted(facts.problems, key=ORDER)
    clients = ClientProblems(gateway, problems)
    waits_for = _NO_ADDRESS if state.is_accepted else "its Gateway is not accepted"
    outcomes = listener_outcomes(
        state.listeners, problems, clients, topology, facts.attached.counts, waits_for
    )
    addresses = _addresses(state, facts.addresses)
    accepted = _accepted(state, outcomes, problems)
    return StatusDocument(
        (
            accepted,
            _programmed(accepted, outcomes, problems, lacks_address=addresses == []),
            _resolved(outcomes, problems),
            *_insecure(gateway),
        ),
        {"listeners": tuple(one.entry for one in outcomes)},
        {
            ADDRESSES_FIELD: addresses or None,
            "attachedListenerSets": sum(
                is_valid_set(one, facts, clients) for one in topology.sets_of(facts.key)
            ),
        },
    )


def _accepted(
    state: GatewayState, outcomes: Sequence[ListenerOutcome], problems: Sequence[Problem]
) -> Condition:
    found = condition_of("Accepted", problems, _ACCEPTED)
    if found.status != "True":
        return found
    invalid = [str(one.entry.fields["name"]) for one in outcomes if not one.is_valid]
    if not state.is_accepted:
        named = (
            f"none of its listeners is accepted: {', '.join(invalid)}" if invalid else "it has no listener"
        )
        return broken("Accepted", "ListenersNotValid", named)
    if invalid:
        return held("Accepted", "ListenersNotValid", f"not valid: {', '.join(invalid)}")
    return found


def _programmed(
    accepted: Condition,
    outcomes: Sequence[ListenerOutcome],
    problems: Sequence[Problem],
    *,
    lacks_address: bool,
) -> Condition:
    if accepted.status != "True":
        return broken("Programmed", "Invalid", accepted.message)
    found = condition_of("Programmed", problems, _PROGRAMMED)
    if found.status != "True":
        return found
    if lacks_address:
        return broken("Programmed", "AddressNotAssigned", "no address is known at which it is reached")
    if not any(one.is_programmed for one in outcomes):
        return broken("Programmed", "Invalid", "none of its listeners is programmed")
    return found


def _resolved(outcomes: Sequence[ListenerOutcome], problems: Sequence[Problem]) -> Condition:
    of_backends = [problem for problem in problems if is_within(problem, "spec.tls.backend")]
    found = condition_of("ResolvedRefs", of_backends, _RESOLVED)
    unresolved = [str(one.entry.fields["name"]) for one in outcomes if not one.is_resolved]
    if found.status != "True" or not unresolved:
        return found
    return broken("ResolvedRefs", "ListenersNotResolved", f"not resolved: {', '.join(unresolved)}")


def _insecure(gateway: Gateway) -> tuple[Condition, ...]:
    """Return the condition that says that clients may come without a valid certificate; it is there only then."""
    asked = (gateway.frontend, *(validation for _, validation in gateway.frontend_by_port))
    fields = [one.field for one in asked if one is not None and one.mode == "AllowInsecureFallback"]
    if not fields:
        return ()
    message = f"clients without a valid certificate are let in by {', '.join(fields)}"
    return (held("InsecureFrontendValidationMode", "ConfigurationChanged", message),)


def _addresses(state: GatewayState, published: tuple[Address, ...] | None) -> list[dict[str, Any]] | None:
    """Return the addresses, None where nobody says at which ones the process is reached."""
    if not state.is_shared:
        return [{"type": "IPAddress", "value": one} for one in state.addresses[:_MOST_ADDRESSES]]
    if published is None:
        return None
    return [
        {"type": "IPAddress", "value": str(ip_address(one.ip))}
        if one.ip
        else {"type": "Hostname", "value": one.hostname}
        for one in published[:_MOST_ADDRESSES]
    ]
