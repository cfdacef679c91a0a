"""The entries of ``status.listeners``, of Gateways and of ListenerSets.

Source: ``ListenerStatus`` and ``ListenerEntryStatus`` of ``gateway.networking.k8s.io/v1``, with their conditions.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ingress.model.cluster.object_meta import Condition
from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.model.reporting.reports import StatusEntry
from ingress.model.reporting.writes import ListShape
from ingress.translate.readers.gateway.objects.gateways import FrontendValidation, Gateway
from ingress.translate.readers.gateway.objects.names import GROUP
from ingress.translate.readers.gateway.statuses.conditions import Words, broken, condition_of, held, is_within
from ingress.translate.readers.gateway.topology.attachments import ListenerState
from ingress.translate.readers.gateway.topology.topology import Topology
from ingress.translate.reports import told

_CONFLICTS: Final[Words] = {
    Reason.PROTOCOL_CONFLICT: "ProtocolConflict",
    Reason.HOSTNAME_CONFLICT: "HostnameConflict",
}
_RESOLVED: Final[Words] = {
    Reason.REFERENCE_NOT_PERMITTED: "RefNotPermitted",
    Reason.INVALID_CERTIFICATE_REF: "InvalidCertificateRef",
    Reason.SECRET_NOT_FOUND: "InvalidCertificateRef",
    Reason.SECRET_FORBIDDEN: "InvalidCertificateRef",
    Reason.INVALID_CERTIFICATE: "InvalidCertificateRef",
    Reason.INVALID_CA_KIND: "InvalidCACertificateKind",
    Reason.INVALID_CA_REF: "InvalidCACertificateRef",
    Reason.CONFIG_MAP_NOT_FOUND: "InvalidCACertificateRef",
    Reason.CONFIG_MAP_FORBIDDEN: "InvalidCACertificateRef",
    Reason.INVALID_ROUTE_KINDS: "InvalidRouteKinds",
}
_ACCEPTED: Final[Words] = {
    **_CONFLICTS,
    Reason.UNSUPPORTED_PROTOCOL: "UnsupportedProtocol",
    Reason.PORT_UNAVAILABLE: "PortUnavailable",
    Reason.LISTENER_CONFLICT: "PortUnavailable",
    Reason.NO_VALID_CA: "NoValidCACertificate",
    Reason.UNSUPPORTED_VALUE: "UnsupportedValue",
    Reason.INVALID_HOST: "UnsupportedValue",
    Reason.MALFORMED_OBJECT: "UnsupportedValue",
}
_CERTIFICATES: Final = frozenset(
    {
        Reason.REFERENCE_NOT_PERMITTED,
        Reason.INVALID_CERTIFICATE_REF,
        Reason.SECRET_NOT_FOUND,
        Reason.SECRET_FORBIDDEN,
        Reason.INVALID_CERTIFICATE,
    }
)

_FRONTEND: Final = "spec.tls.frontend"

LISTENERS: Final = ListShape(
    "listeners",
    ("name",),
    frozenset({"Accepted", "Programmed", "ResolvedRefs", "Conflicted", "OverlappingTLSConfig"}),
    64,
)


@frozen
class ListenerOutcome:
    """The entry of a listener, and what of it counts for the object that has it."""

    entry: StatusEntry
    is_valid: bool
    """Whether it is accepted, and has what it needs to be served."""
    is_resolved: bool
    is_programmed: bool


class ClientProblems:
    """What is wrong with the authorities by which listeners of *gateway* check their clients; *problems* are all that it has."""

    def __init__(self, gateway: Gateway | None, problems: Iterable[Problem]) -> None:
        self._gateway = gateway
        self._problems = [one for one in problems if is_within(one, _FRONTEND)]
        self._found: dict[str, list[Problem]] = {}

    def __bool__(self) -> bool:
        return bool(self._problems)

    def of(self, one: ListenerState) -> Sequence[Problem]:
        """Return what of it concerns *one*."""
        if not self._problems or self._gateway is None or one.protocol != "HTTPS":
            return ()
        validation = _validation(self._gateway, one.port)
        if validation is None:
            return ()
        field = validation.field
        if field not in self._found:
            self._found[field] = [problem for problem in self._problems if is_within(problem, field)]
        return self._found[field]


def listener_outcomes(
    listeners: Sequence[ListenerState],
    problems: Sequence[Problem],
    clients: ClientProblems,
    topology: Topology,
    attached: Mapping[tuple[Owner, str], int],
    waits_for: str,
) -> tuple[ListenerOutcome, ...]:
    """Return what became of *listeners*, all of one object, which has these *problems*.

    *clients* are of their Gateway.  *waits_for* is why listeners that are fine are not served.
    """
    by_listener = _by_field(problems, [one.field for one in listeners])
    return tuple(
        _outcome(
            one,
            [*by_listener[one.field], *clients.of(one)],
            attached.get((one.owner, one.name), 0),
            waits_for,
            is_overlapping=one.is_served
            and one.tls is not None
            and one.hostname in topology.hostnames_of(one.table).overlapping,
        )
        for one in listeners
    )


def is_any_valid(
    listeners: Sequence[ListenerState], problems: Iterable[Problem], clients: ClientProblems
) -> bool:
    """Whether one of *listeners* at least is accepted and has what it needs, without working out what is told of them."""
    by_listener = _by_field(problems, [one.field for one in listeners])
    return any(_is_valid(one, [*by_listener[one.field], *clients.of(one)]) for one in listeners)


def _is_valid(one: ListenerState, problems: Sequence[Problem]) -> bool:
    is_accepted = one.is_accepted and not any(problem.reason in _ACCEPTED for problem in problems)
    return is_accepted and not _missing(one, problems)


def _outcome(
    one: ListenerState, problems: Sequence[Problem], count: int, waits_for: str, *, is_overlapping: bool
) -> ListenerOutcome:
    accepted = condition_of("Accepted", problems, _ACCEPTED)
    if accepted.status == "True" and not one.is_accepted:
        accepted = broken("Accepted", "Invalid", waits_for)
    resolved = condition_of("ResolvedRefs", problems, _RESOLVED)
    missing = _missing(one, problems)
    programmed = _programmed(one, accepted, missing, waits_for)
    conflicts = [problem for problem in problems if problem.reason in _CONFLICTS]
    conflicted = (
        Condition("Conflicted", "True", _CONFLICTS[conflicts[0].reason], told(conflicts))
        if conflicts
        else Condition("Conflicted", "False", "NoConflicts")
    )
    overlapping = (
        (
            held(
                "OverlappingTLSConfig", "OverlappingHostnames", "another listener of the port has hosts of it"
            ),
        )
        if is_overlapping
        else ()
    )
    fields = {
        "name": one.name,
        "supportedKinds": [{"group": GROUP, "kind": str(kind)} for kind in one.kinds],
        "attachedRoutes": count,
    }
    return ListenerOutcome(
        StatusEntry(fields, (accepted, programmed, resolved, conflicted, *overlapping)),
        _is_valid(one, problems),
        resolved.status == "True",
        programmed.status == "True",
    )


def _programmed(
    one: ListenerState, accepted: Condition, missing: Sequence[Problem], waits_for: str
) -> Condition:
    if accepted.status != "True":
        reason = accepted.reason if accepted.reason in _CONFLICTS.values() else "Invalid"
        return broken("Programmed", reason, accepted.message)
    if missing:
        return broken("Programmed", "Invalid", told(missing))
    if not one.is_served:
        return broken("Programmed", "Pending", waits_for)
    return held("Programmed")


def _missing(one: ListenerState, problems: Sequence[Problem]) -> list[Problem]:
    """Return why *one* has no certificate at all to show, none where it needs none or has one."""
    field = f"{one.field}.tls"
    found = [problem for problem in problems if problem.reason in _CERTIFICATES and is_within(problem, field)]
    named = () if one.tls is None else one.tls.certificates
    places = {problem.field for problem in found}
    return found if len(places) >= len(named) else []


def _validation(gateway: Gateway, port: int) -> FrontendValidation | None:
    for of_port, validation in gateway.frontend_by_port:
        if of_port == port:
            return validation
    return gateway.frontend


def _by_field(problems: Iterable[Problem], fields: Sequence[str]) -> dict[str, list[Problem]]:
    """Return the problems of each of *fields*, ``spec.listeners[0]`` and the like; of thousands none is compared with all."""
    found: dict[str, list[Problem]] = {field: [] for field in fields}
    for problem in problems:
        end = problem.field.find("]")
        known = found.get(problem.field[: end + 1])
        if known is not None:
            known.append(problem)
    return found
