"""TLS to endpoints: what an Ingress demands, completed by what its Secret holds.

A Secret that is missing or cannot be used closes the backends that demand it (503), with a
``Problem``: they are never spoken to without the client certificate or the trust that was
asked for.  A Secret that was good and became bad stays at its good version in the store, so
running backends do not notice.

Whether a client certificate has expired is left to the endpoint, which asked for it.
"""

from collections.abc import Callable

from attrs import frozen

from ingress.certificates import CHAIN_KEY, PRIVATE_KEY_KEY, CertificateError, load_certificate
from ingress.model.objects import Secret
from ingress.model.problems import Problem, Reason
from ingress.model.state import ClusterState
from ingress.model.upstream_tls import TlsDemand, UpstreamTls
from ingress.policy.annotations import AnnotationReader
from ingress.translate.absent_secrets import secret_in
from ingress.translate.rules import IngressReading
from ingress.translate.trust import CA_KEY, load_authorities


@frozen
class TlsFault:
    """Why TLS as demanded cannot be spoken."""

    reason: Reason
    message: str


TlsLookup = Callable[[TlsDemand], UpstreamTls | TlsFault]
"""Completes a demand by its Secret, or says why not."""


def lookup_in(state: ClusterState) -> TlsLookup:
    """Return the lookup that reads *state* each time it is asked."""
    return lambda demand: complete(demand, state)


def complete(demand: TlsDemand, state: ClusterState) -> UpstreamTls | TlsFault:
    """Return all terms of TLS that *demand* comes to with the Secrets of *state*."""
    if demand.secret is None:
        return UpstreamTls(demand.terms)
    try:
        secret = secret_in(state, demand.secret)
        if secret is None:
            return TlsFault(Reason.SECRET_NOT_FOUND, f"there is no Secret {demand.secret}")
        return _completed(demand, secret)
    except CertificateError as error:
        return TlsFault(error.reason, f"Secret {demand.secret}: {error.message}")


def _completed(demand: TlsDemand, secret: Secret) -> UpstreamTls:
    chain = key = authorities = b""
    if CA_KEY in secret.content:
        authorities = load_authorities(secret)
    elif demand.terms.verify:
        raise CertificateError(f"{CA_KEY}: missing from the Secret, and proxy-ssl-verify is on")
    if CHAIN_KEY in secret.content or PRIVATE_KEY_KEY in secret.content:
        certificate = load_certificate(secret)
        chain, key = certificate.chain_pem, certificate.key_pem
    elif not authorities:
        raise CertificateError(f"neither {CA_KEY} nor {CHAIN_KEY} and {PRIVATE_KEY_KEY} are in the Secret")
    return UpstreamTls(demand.terms, authorities, chain, key)


def upstream_problems(
    reading: IngressReading, lookup: TlsLookup, annotations: AnnotationReader
) -> tuple[Problem, ...]:
    """Tell an Ingress why TLS to its backends cannot be spoken."""
    demand = reading.protocols.demand
    found = None if demand is None else lookup(demand)
    if not isinstance(found, TlsFault):
        return ()
    key = reading.ingress.key
    message = f"proxy-ssl-secret: {found.message}; backends that are spoken to over TLS answer 503"
    field = annotations.field("proxy-ssl-secret")
    return (Problem("Ingress", key.namespace, key.name, found.reason, message, field),)
