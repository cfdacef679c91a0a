"""What BackendTLSPolicies ask of TLS to the endpoints of Services.  Pure.

- A policy is about Services of its namespace, or about one port of them by its name; for that port it comes before one
  about the whole Service.  Of several about the same the oldest counts, valid or not, and the others are told.
- Requests to a backend with a policy that makes no sense, or none of whose authorities can be used, are answered with an error:
  nothing is ever sent in the clear, or to somebody who was not checked as the policy wants.
- ``hostname`` goes into the handshake, and the certificate must be for it, unless ``subjectAltNames`` say for whom instead.

They hold for routes of Gateways, and not for those of Ingresses, which have annotations for that.

Source: ``BackendTLSPolicy`` of ``gateway.networking.k8s.io/v1``.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import Final

from ingress.annotations.contract.values import quoted
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey, ServicePort
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise, finished
from ingress.model.upstream.upstream_tls import (
    ByPolicy,
    PeerName,
    PeerNameType,
    ProtocolAsked,
    ProtocolRefused,
    TlsSettings,
    UpstreamTlsRequest,
)
from ingress.routing.hosts import check_rule_host
from ingress.translate.age import by_age, why_first
from ingress.translate.gateway.faults import Fault
from ingress.translate.readers.gateway.objects.names import BACKEND_TLS_POLICY, UNREADABLE
from ingress.translate.readers.gateway.objects.policies import BackendTLSPolicy, policies_of
from ingress.translate.tls.authorities import join_authorities

AT_ONCE: Final = 10
"""Policies that are looked at in one step."""

MOST_INTERMEDIATES: Final = 4
"""Certificates between that of an endpoint and the trusted one; the API leaves it to who implements it."""

_VALIDATION: Final = "spec.validation"
_AUTHORITIES: Final = f"{_VALIDATION}.caCertificateRefs"
_SYSTEM: Final = "System"
_AUTHORITY_KINDS: Final = (Kind.CONFIG_MAP, Kind.SECRET)
_MOST_NAMES: Final = 16
_MOST_AUTHORITIES: Final = 16

_Target = tuple[ObjectKey, str]
"""A Service, and the name of one of its ports; empty for all."""


@frozen
class PolicyReading:
    """A policy, read by itself."""

    tls_settings: TlsSettings
    authorities: tuple[ObjectId, ...]
    """None at all stand for those that this system trusts."""
    fields: tuple[str, ...]
    """Where each of *authorities* is named."""
    faults: tuple[Fault, ...]
    refusal: str
    """Why nothing may be sent by it; empty where it may."""


def read_policy(policy: BackendTLSPolicy) -> PolicyReading:
    """Return what *policy* asks for, and what makes no sense of it."""
    faults: list[Fault] = []
    grave: list[Fault] = [*_faults_of_validation(policy)]
    peer_names: list[PeerName] = []
    for at, one in enumerate(policy.names[:_MOST_NAMES]):
        fault = _fault_of_name(one.type, one.value)
        if fault:
            # To leave it out would be to check less, if it is the only one.
            grave.append(Fault(Reason.UNSUPPORTED_VALUE, fault, f"{_VALIDATION}.subjectAltNames[{at}]"))
        else:
            peer_names.append(PeerName(PeerNameType(one.type), one.value))
    for what, count, most in (
        ("subjectAltNames", len(policy.names), _MOST_NAMES),
        ("caCertificateRefs", len(policy.authorities), _MOST_AUTHORITIES),
    ):
        if count > most:
            message = f"has {count} entries, more than {most}"
            grave.append(Fault(Reason.UNSUPPORTED_VALUE, message, f"{_VALIDATION}.{what}"))
    authorities: list[ObjectId] = []
    fields: list[str] = []
    for at, reference in enumerate(policy.authorities[:_MOST_AUTHORITIES]):
        field = f"{_AUTHORITIES}[{at}]"
        if not reference.group and reference.kind in _AUTHORITY_KINDS:
            authorities.append((Kind(reference.kind), reference.key(policy.key)))
            fields.append(field)
        elif reference != UNREADABLE:
            message = f"{reference} is no {' and no '.join(_AUTHORITY_KINDS)}"
            faults.append(Fault(Reason.INVALID_KIND, message, field))
    if policy.authorities and not authorities:
        grave.append(Fault(Reason.NO_VALID_CA, "names no authority that can be used", _AUTHORITIES))
    settings = TlsSettings(
        verify=True,
        depth=MOST_INTERMEDIATES,
        name=policy.hostname.lower(),
        send_name=True,
        peer_names=tuple(peer_names),
    )
    refusal = f"{policy.owner}: {grave[0].field} {grave[0].message}" if grave else ""
    return PolicyReading(settings, tuple(authorities), tuple(fields), (*faults, *grave), refusal)


def _faults_of_validation(policy: BackendTLSPolicy) -> Iterator[Fault]:
    fault = check_rule_host(policy.hostname) if policy.hostname else "is missing"
    if fault is None and policy.hostname.startswith("*"):
        fault = "is a wildcard, which is no name of a server"
    if fault is not None:
        shown = f"{quoted(policy.hostname)} {fault}" if policy.hostname else fault
        yield Fault(Reason.UNSUPPORTED_VALUE, shown, f"{_VALIDATION}.hostname")
    well_known = f"{_VALIDATION}.wellKnownCACertificates"
    if policy.well_known and policy.well_known != _SYSTEM:
        message = f"{quoted(policy.well_known)} is not known; {_SYSTEM} is"
        yield Fault(Reason.UNSUPPORTED_VALUE, message, well_known)
    elif policy.well_known and policy.authorities:
        yield Fault(Reason.UNSUPPORTED_VALUE, "cannot stand beside caCertificateRefs", well_known)
    elif not policy.well_known and not policy.authorities:
        yield Fault(Reason.UNSUPPORTED_VALUE, "names no authorities", _VALIDATION)
    if policy.options:
        names = ", ".join(quoted(name) for name, _ in policy.options[:_MOST_NAMES])
        yield Fault(Reason.UNSUPPORTED_VALUE, f"nothing is known of {names}", "spec.options")


def _fault_of_name(of_type: str, value: str) -> str:
    """Say what is wrong with a subject alternative name; nothing for none."""
    if of_type == PeerNameType.HOSTNAME:
        fault = check_rule_host(value) if value else "is missing"
        return "" if fault is None else f"{quoted(value)} {fault}"
    if of_type == PeerNameType.URI:
        scheme, _, rest = value.partition(":")
        return "" if scheme and rest and value.isascii() else f"{quoted(value)} is no absolute URI"
    return f"is of the type {quoted(of_type)}, which is none of {', '.join(PeerNameType)}"


def targets_of(policy: BackendTLSPolicy) -> Iterator[tuple[str, _Target]]:
    """Yield what *policy* is about, with the fields that say so."""
    for at, one in enumerate(policy.targets):
        if not one.target.group and one.target.kind == Kind.SERVICE:
            yield f"spec.targetRefs[{at}]", (one.target.key(policy.key), one.section)


def services_of(policy: BackendTLSPolicy) -> dict[ObjectKey, None]:
    """Return the Services that *policy* is about, each once."""
    return {service: None for _, (service, _) in targets_of(policy)}


class PolicyClaims:
    """By what policies are about those that claim it, the one that counts first; kept up to date policy by policy."""

    def __init__(self) -> None:
        self._known: dict[ObjectKey, BackendTLSPolicy] = {}
        self._by_target: dict[_Target, list[BackendTLSPolicy]] = {}
        self._by_service: dict[ObjectKey, dict[ObjectKey, None]] = {}
        self._stale: dict[ObjectKey, None] = {}
        self._are_all_stale = True

    def changed(self, key: ObjectKey | None) -> None:
        """Note that a policy is another; None for all of them."""
        if key is None:
            self._are_all_stale = True
        else:
            self._stale[key] = None

    def catching_up(self, state: ClusterState) -> Stepwise[None]:
        """Look at what changed, in steps; whoever asks meanwhile has the rest looked at."""
        now = policies_of(state)
        if self._are_all_stale:
            for number, key in enumerate((*now, *self._known), 1):
                if self._known.get(key) is not now.get(key):
                    self._stale[key] = None
                if not number % AT_ONCE:
                    yield
            self._are_all_stale = False
        number = 0
        while self._stale:
            key, _ = self._stale.popitem()
            self._replace(key, self._known.get(key), now.get(key))
            number += 1
            if not number % AT_ONCE:
                yield

    def winner(self, target: _Target) -> BackendTLSPolicy | None:
        """Return the policy that counts for *target*, None where there is none."""
        claiming = self._by_target.get(target)
        return None if claiming is None else claiming[0]

    def about(self, service: ObjectKey) -> Iterable[ObjectKey]:
        """Return the policies that are about *service*, or about a port of it."""
        return self._by_service.get(service, ())

    def _replace(
        self, key: ObjectKey, before: BackendTLSPolicy | None, after: BackendTLSPolicy | None
    ) -> None:
        if before is after:
            return
        if before is not None:
            del self._known[key]
            for target in _different_targets(before):
                claiming = self._by_target[target]
                del claiming[bisect_left(claiming, _age(before), key=_age)]
                if not claiming:
                    del self._by_target[target]
            for service in services_of(before):
                self._by_service[service].pop(key)
                if not self._by_service[service]:
                    del self._by_service[service]
        if after is not None:
            self._known[key] = after
            for target in _different_targets(after):
                insort(self._by_target.setdefault(target, []), after, key=_age)
            for service in services_of(after):
                self._by_service.setdefault(service, {})[key] = None


def _different_targets(policy: BackendTLSPolicy) -> dict[_Target, None]:
    return {target: None for _, target in targets_of(policy)}


def _age(policy: BackendTLSPolicy) -> tuple[str, str, str, str]:
    return by_age(policy.owner)


def _following(state: ClusterState) -> PolicyClaims:
    return state.derived.following("claims of policies", BACKEND_TLS_POLICY, PolicyClaims)


def catch_up(state: ClusterState) -> Stepwise[None]:
    """Look at the policies that changed, in steps, so that nobody has to do so who asks for one."""
    return _following(state).catching_up(state)


def claims_of(state: ClusterState) -> PolicyClaims:
    """Return who claims what."""
    claims = _following(state)
    finished(claims.catching_up(state))
    return claims


def policy_for(service: ObjectKey, port: str, state: ClusterState) -> BackendTLSPolicy | None:
    """Return the policy for the port of that name of *service*, None where it has none."""
    if not state.of(BACKEND_TLS_POLICY):
        return None
    claimed = claims_of(state)
    found = claimed.winner((service, port)) if port else None
    return found or claimed.winner((service, ""))


def protocol_by_policy(
    asked: ByPolicy, service: ObjectKey, port: ServicePort | None, state: ClusterState, *, is_http2: bool
) -> ProtocolAsked | ProtocolRefused:
    """Return how *port* of *service* is spoken to, to which a route of a Gateway leads; *is_http2* says that it is by HTTP/2."""
    policy = policy_for(service, "" if port is None else port.name, state)
    if policy is None:
        return ProtocolAsked(is_http2=is_http2)
    reading = read_policy(policy)
    if reading.refusal or asked.fault:
        return ProtocolRefused(reading.refusal or asked.fault)
    request = UpstreamTlsRequest(reading.tls_settings, asked.certificate, reading.authorities)
    return ProtocolAsked(request, is_http2)


def sources_of(policy: BackendTLSPolicy) -> tuple[ObjectId, ...]:
    """Return the Secrets and ConfigMaps that *policy* names."""
    return read_policy(policy).authorities


def policy_problems(policy: BackendTLSPolicy, state: ClusterState) -> Iterator[Problem]:
    """Tell *policy* what is wrong with it, with what it is about, and with its authorities."""
    owner = policy.owner
    yield from _problems_of_targets(policy, state)
    reading = read_policy(policy)
    for fault in reading.faults:
        yield owner.problem(*fault)
    if not reading.authorities:
        return
    joined = join_authorities(reading.authorities, state)
    for one, field in zip(reading.authorities, reading.fields, strict=True):
        if one in joined.faults:
            yield owner.problem(Reason.INVALID_CA_REF, joined.faults[one], field)
    if not joined.pem:
        message = "names no authority that can be used, so that requests are answered with an error"
        yield owner.problem(Reason.NO_VALID_CA, message, _AUTHORITIES)


def _problems_of_targets(policy: BackendTLSPolicy, state: ClusterState) -> Iterator[Problem]:
    owner = policy.owner
    for at, one in enumerate(policy.targets):
        if (one.target.group or one.target.kind != Kind.SERVICE) and one.target != UNREADABLE:
            message = f"{one.target} is no Service, which is the only kind that policies are about here"
            yield owner.problem(Reason.TARGET_NOT_FOUND, message, f"spec.targetRefs[{at}]")
    claimed = claims_of(state)
    for field, target in targets_of(policy):
        key, section = target
        service = state.services.get(key)
        winner = claimed.winner(target)
        if service is None:
            yield owner.problem(Reason.TARGET_NOT_FOUND, f"there is no Service {key}", field)
        elif section and not any(port.name == section for port in service.ports):
            message = f"Service {key} has no port {quoted(section)}"
            yield owner.problem(Reason.TARGET_NOT_FOUND, message, f"{field}.sectionName")
        if winner is not None and winner.key != policy.key:
            message = f"is the target of {winner.owner}, {why_first(winner.owner, owner)}"
            yield owner.problem(Reason.POLICY_CONFLICTED, message, field)
