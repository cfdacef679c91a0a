"""TLS to endpoints: what an Ingress or a BackendTLSPolicy demands, completed by what Secrets and ConfigMaps hold.

A Secret that is missing or cannot be used closes the backends that demand it (503), with a
``Problem``: they are never spoken to without the client certificate or the trust that was
asked for.  A Secret that was good and became bad stays at its good version in the store, so
running backends do not notice.

Whether a client certificate has expired is left to the endpoint, which asked for it.
"""

from collections.abc import Callable

from ingress.annotations.annotations import AnnotationReader
from ingress.identity.certificates import CHAIN_KEY, PRIVATE_KEY_KEY, Certificate, CertificateError
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey, Secret
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.model.upstream.upstream_tls import UpstreamTls, UpstreamTlsRequest
from ingress.translate.absent_secrets import secret_in
from ingress.translate.claims import ParsedObject
from ingress.translate.gateway.backend_policies import policy_problems, sources_of
from ingress.translate.protocols import NOTHING_ASKED
from ingress.translate.tls.authorities import CA_KEY, join_authorities, load_authorities
from ingress.translate.tls.certificates import load, refusal


@frozen
class TlsFault:
    """Why TLS as demanded cannot be spoken."""

    reason: Reason
    message: str


TlsLookup = Callable[[UpstreamTlsRequest], UpstreamTls | TlsFault]
"""Completes a demand by its Secret, or says why not."""


def lookup_in(state: ClusterState) -> TlsLookup:
    """Return the lookup that reads *state* each time it is asked."""
    return lambda request: complete(request, state)


def complete(request: UpstreamTlsRequest, state: ClusterState) -> UpstreamTls | TlsFault:
    """Return all settings of TLS that *request* comes to with the Secrets and ConfigMaps of *state*."""
    if request.authorities is not None:
        return _by_policy(request, request.authorities, state)
    if request.secret is None:
        return UpstreamTls(request.tls_settings)
    try:
        secret = secret_in(state, request.secret)
        if secret is None:
            return TlsFault(Reason.SECRET_NOT_FOUND, f"there is no Secret {request.secret}")
        return _completed(request, secret)
    except CertificateError as error:
        return TlsFault(error.reason, f"Secret {request.secret}: {error.message}")


def _completed(request: UpstreamTlsRequest, secret: Secret) -> UpstreamTls:
    chain = key = authorities = b""
    if CA_KEY in secret.content:
        authorities = load_authorities(secret)
    elif request.tls_settings.verify:
        raise CertificateError(f"{CA_KEY}: missing from the Secret, and proxy-ssl-verify is on")
    if CHAIN_KEY in secret.content or PRIVATE_KEY_KEY in secret.content:
        from ingress.identity.key_pairs import load_certificate

        certificate = load_certificate(secret)
        chain, key = certificate.chain_pem, certificate.key_pem
    elif not authorities:
        raise CertificateError(f"neither {CA_KEY} nor {CHAIN_KEY} and {PRIVATE_KEY_KEY} are in the Secret")
    return UpstreamTls(request.tls_settings, authorities, chain, key)


def _by_policy(
    request: UpstreamTlsRequest, authorities: tuple[ObjectId, ...], state: ClusterState
) -> UpstreamTls | TlsFault:
    pem = b""
    if authorities:
        joined = join_authorities(authorities, state)
        pem = joined.pem
        if not pem:
            return TlsFault(Reason.NO_VALID_CA, "; ".join(joined.faults.values()))
    if request.secret is None:
        return UpstreamTls(request.tls_settings, pem)
    shown = shown_certificate(request.secret, state)
    if not isinstance(shown, Certificate):
        return TlsFault(Reason.INVALID_CLIENT_CERTIFICATE_REF, shown)
    return UpstreamTls(request.tls_settings, pem, shown.chain_pem, shown.key_pem)


def shown_certificate(key: ObjectKey, state: ClusterState) -> Certificate | str:
    """Return the certificate in the Secret *key* that a Gateway shows to endpoints, or say why there is none."""
    try:
        found = load(secret_in(state, key))
    except CertificateError as error:
        found = error
    return found if isinstance(found, Certificate) else refusal(key, found)[1]


def tls_sources(parsed: ParsedObject | None) -> tuple[ObjectId, ...]:
    """Return the Secrets and ConfigMaps by which *parsed* has TLS spoken to endpoints."""
    if parsed is None:
        return ()
    if parsed.policy is not None:
        return sources_of(parsed.policy)
    if parsed.gateway_tls.backend_certificate is not None:
        return ((Kind.SECRET, parsed.gateway_tls.backend_certificate.secret),)
    secret = None if parsed.protocols is NOTHING_ASKED else parsed.protocols.secret
    return () if secret is None else ((Kind.SECRET, secret),)


def upstream_problems(
    parsed: ParsedObject, lookup: TlsLookup, annotations: AnnotationReader, state: ClusterState
) -> tuple[Problem, ...]:
    """Tell an Ingress, a Gateway or a policy why TLS to backends cannot be spoken as it asks."""
    if parsed.policy is not None:
        return tuple(policy_problems(parsed.policy, state))
    named = parsed.gateway_tls.backend_certificate
    if named is not None:
        shown = shown_certificate(named.secret, state)
        if isinstance(shown, Certificate):
            return ()
        message = f"{shown}; backends that are spoken to over TLS are not"
        return (parsed.owner.problem(Reason.INVALID_CLIENT_CERTIFICATE_REF, message, named.field),)
    request = parsed.protocols.request
    found = None if request is None else lookup(request)
    if not isinstance(found, TlsFault):
        return ()
    message = f"proxy-ssl-secret: {found.message}; backends that are spoken to over TLS answer 503"
    field = annotations.field("proxy-ssl-secret")
    return (parsed.owner.problem(found.reason, message, field),)
