"""What Gateways and ListenerSets ask of TLS, with the references that are permitted.

A ListenerSet asks of clients what its Gateway asks of them at that port, and names its certificates itself.

Source: ``GatewayTLSConfig`` of ``gateway.networking.k8s.io/v1``.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from ingress.annotations.contract.values import quoted
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey, Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.secrets import Needs, is_secret_name
from ingress.model.requests.client_authentication import VerifyClient
from ingress.translate.gateway.faults import Fault
from ingress.translate.gateway.handshake_requests import (
    AUTHORITY_KEYS,
    CERTIFICATE_KEYS,
    ClientValidation,
    GatewayTls,
    HandshakeRequest,
    NamedAuthorities,
    NamedCertificate,
    needs_among,
)
from ingress.translate.readers.gateway.objects.gateways import FrontendValidation, Gateway, ListenerSet
from ingress.translate.readers.gateway.objects.names import GROUP, ObjectReference
from ingress.translate.readers.gateway.topology.attachments import BackendCertificate, ListenerState

BACKEND_FIELD: Final = "spec.tls.backend.clientCertificateRef"

_OVER_HTTPS: Final = "HTTPS"
_AUTHORITY_KINDS: Final = (Kind.CONFIG_MAP, Kind.SECRET)
_MODES: Final = {mode.value: mode for mode in (VerifyClient.VALID_ONLY, VerifyClient.ANY)}


class Permitting(Protocol):
    """Who says which references are permitted: the topology."""

    def permits(
        self, group: str, kind: str, namespace: str, to_group: str, to_kind: str, to: ObjectKey
    ) -> bool:
        """Whether an object of *group*, *kind* and *namespace* may refer to *to*, of *to_group* and *to_kind*."""


def gateway_tls_of(
    listeners: Sequence[ListenerState], gateway: Gateway, permitting: Permitting
) -> GatewayTls:
    """Return what *listeners* of *gateway*, its own or those of one of its ListenerSets, ask of TLS."""
    by_port: dict[int, ClientValidation | None] = {}
    found = []
    for one in listeners:
        if one.protocol not in (_OVER_HTTPS, "TLS"):
            continue
        validation = None
        if one.protocol == _OVER_HTTPS:
            if one.port not in by_port:
                by_port[one.port] = _validation(gateway, one.port, permitting)
            validation = by_port[one.port]
        certificates = tuple(NamedCertificate(named.secret, named.field) for named in one.certificates)
        found.append(
            HandshakeRequest(one.owner, one.table, one.hostname, one.field, certificates, validation)
        )
    return GatewayTls(tuple(found))


def backend_certificate_of(
    gateway: Gateway, permitting: Permitting
) -> tuple[NamedCertificate | None, tuple[Problem, ...]]:
    """Return what *gateway* shows to endpoints that ask for a certificate, and why it does not show what it names."""
    reference = gateway.backend_certificate
    if reference is None:
        return None, ()
    secret = reference.key(gateway.key)
    refused = _refused(gateway.owner, reference, (Kind.SECRET,), permitting)
    if refused is None:
        return NamedCertificate(secret, BACKEND_FIELD), ()
    reason, message = refused
    if reason is Reason.INVALID_KIND:
        reason = Reason.INVALID_CLIENT_CERTIFICATE_REF
    return None, (gateway.owner.problem(reason, message, BACKEND_FIELD),)


def shown_to_backends(gateway: Gateway, permitting: Permitting) -> BackendCertificate | None:
    """Return what routes of *gateway* have shown to endpoints, None for nothing."""
    named, problems = backend_certificate_of(gateway, permitting)
    if named is not None:
        return BackendCertificate(named.secret)
    if not problems or gateway.backend_certificate is None:
        return None
    fault = f"{gateway.owner}: {problems[0].field}: {problems[0].message}"
    return BackendCertificate(gateway.backend_certificate.key(gateway.key), fault)


def needs_of(value: Gateway | ListenerSet, kind: Kind) -> Needs:
    """Return the Secrets or ConfigMaps that *value* refers to, permitted or not: that shows only when all objects are known."""
    return needs_among(_named(value), kind)


def _named(value: Gateway | ListenerSet) -> Iterator[tuple[ObjectId, frozenset[str]]]:
    for listener in value.listeners:
        for one in () if listener.tls is None else listener.tls.certificates:
            if _can_be(one, (Kind.SECRET,)):
                yield (Kind.SECRET, one.key(value.key)), CERTIFICATE_KEYS
    if isinstance(value, ListenerSet):
        return
    if value.backend_certificate is not None and _can_be(value.backend_certificate, (Kind.SECRET,)):
        yield (Kind.SECRET, value.backend_certificate.key(value.key)), CERTIFICATE_KEYS
    for validation in (value.frontend, *(one for _, one in value.frontend_by_port)):
        for one in () if validation is None else validation.authorities:
            if _can_be(one, _AUTHORITY_KINDS):
                yield (Kind(one.kind), one.key(value.key)), AUTHORITY_KEYS


def _can_be(reference: ObjectReference, kinds: tuple[Kind, ...]) -> bool:
    return not reference.group and reference.kind in kinds and is_secret_name(reference.name)


def _validation(gateway: Gateway, port: int, permitting: Permitting) -> ClientValidation | None:
    asked = dict(gateway.frontend_by_port).get(port, gateway.frontend)
    if asked is None:
        return None
    authorities: list[NamedAuthorities] = []
    faults: list[Fault] = []
    for at, reference in enumerate(asked.authorities):
        field = f"{asked.field}.caCertificateRefs[{at}]"
        refused = _refused(gateway.owner, reference, _AUTHORITY_KINDS, permitting)
        if refused is None:
            authorities.append(NamedAuthorities(Kind(reference.kind), reference.key(gateway.key), field))
            continue
        reason, message = refused
        if reason is Reason.INVALID_KIND:
            reason = Reason.INVALID_CA_KIND
        faults.append(Fault(reason, message, field))
    return ClientValidation(
        gateway.owner, _mode(asked, faults), tuple(authorities), tuple(faults), asked.field
    )


def _mode(asked: FrontendValidation, faults: list[Fault]) -> VerifyClient:
    mode = _MODES.get(asked.mode)
    if mode is None:
        message = f"is {quoted(asked.mode)}, which is none of {', '.join(_MODES)}; only valid certificates are let in"
        faults.append(Fault(Reason.UNSUPPORTED_VALUE, message, f"{asked.field}.mode"))
        return VerifyClient.VALID_ONLY
    return mode


def _refused(
    owner: Owner, reference: ObjectReference, kinds: tuple[Kind, ...], permitting: Permitting
) -> tuple[Reason, str] | None:
    """Say why *owner* may not use what *reference* names, which is to be of one of *kinds*; None where it may."""
    if reference.group or reference.kind not in kinds:
        return Reason.INVALID_KIND, f"{reference} is no {' and no '.join(kinds)}"
    to = reference.key(owner.key)
    if not permitting.permits(GROUP, owner.kind, owner.key.namespace, "", reference.kind, to):
        message = (
            f"no ReferenceGrant of the namespace {to.namespace} permits a reference to {reference.kind} {to}"
        )
        return Reason.REFERENCE_NOT_PERMITTED, message
    return None
