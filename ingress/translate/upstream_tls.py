"""TLS to endpoints: what an Ingress demands, completed by what its Secret holds.

A Secret that is missing or cannot be used closes the backends that demand it (503), with a
``Problem``: they are never spoken to without the client certificate or the trust that was
asked for.  A Secret that was good and became bad stays at its good version in the store, so
running backends do not notice.

Whether a client certificate has expired is left to the endpoint, which asked for it.
"""

from collections.abc import Callable

from ingress.annotations.annotations import AnnotationReader
from ingress.identity.certificates import CHAIN_KEY, PRIVATE_KEY_KEY, CertificateError
from ingress.model.frozen import frozen
from ingress.model.objects import ObjectKey, Secret
from ingress.model.problems import Problem, Reason
from ingress.model.state import ClusterState
from ingress.model.upstream_tls import UpstreamTls, UpstreamTlsRequest
from ingress.translate.absent_secrets import secret_in
from ingress.translate.claims import ParsedObject
from ingress.translate.protocols import NOTHING_ASKED
from ingress.translate.trust import CA_KEY, load_authorities


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
    """Return all settings of TLS that *request* comes to with the Secrets of *state*."""
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


def secrets_needed(parsed: ParsedObject | None) -> tuple[ObjectKey, ...]:
    """Return the Secret that TLS to the backends of *parsed* needs, if it needs one."""
    secret = None if parsed is None or parsed.protocols is NOTHING_ASKED else parsed.protocols.secret
    return () if secret is None else (secret,)


def upstream_problems(
    parsed: ParsedObject, lookup: TlsLookup, annotations: AnnotationReader
) -> tuple[Problem, ...]:
    """Tell an Ingress why TLS to its backends cannot be spoken."""
    request = parsed.protocols.request
    found = None if request is None else lookup(request)
    if not isinstance(found, TlsFault):
        return ()
    message = f"proxy-ssl-secret: {found.message}; backends that are spoken to over TLS answer 503"
    field = annotations.field("proxy-ssl-secret")
    return (parsed.owner.problem(found.reason, message, field),)
