"""From certificates and settings to an OpenSSL context, all in memory but for what is public anyway."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cryptography import x509
from OpenSSL import SSL, crypto

from ingress.identity.certificates import Certificate
from ingress.model.requests.client_authentication import ClientAuthentication
from ingress.tls.binding import name_authority
from ingress.tls.profile import GROUPS, HTTP_1_1, TLS_1_2_SUITES, new_server_context

# OpenSSL's X509_V_FLAG_CRL_CHECK and _CRL_CHECK_ALL: every certificate of the chain, not the first alone.
_CHECK_LISTS = crypto.X509StoreFlags.CRL_CHECK | crypto.X509StoreFlags.CRL_CHECK_ALL


def build_context(
    least_version: int,
    certificates: Sequence[Certificate],
    suites: Sequence[str] = (),
    authentication: ClientAuthentication | None = None,
    protocols: tuple[bytes, ...] = (HTTP_1_1,),
    groups: bytes = GROUPS,
) -> SSL.Context:
    """Build the context that shows one of *certificates*; raises what OpenSSL says against any of them.

    OpenSSL keeps one certificate for each type of key, and chooses by what the client can do.  Connections are switched to the
    context and do not begin on it, so nothing is said of sessions.
    """
    context = new_server_context(least_version, suites or TLS_1_2_SUITES, protocols, groups)
    for certificate in certificates:
        _load(context, certificate, is_alone=len(certificates) == 1)
    if authentication is not None:
        _trust(context, authentication)
    return context


def _load(context: SSL.Context, certificate: Certificate, *, is_alone: bool) -> None:
    if is_alone:
        leaf, *issuers = x509.load_pem_x509_certificates(certificate.chain_pem)
        context.use_certificate(leaf)
        for issuer in issuers:
            context.add_extra_chain_cert(issuer)
    else:
        # Only what is read from a file has a chain of its own beside the others'.
        with _as_file(certificate.chain_pem) as path:
            context.use_certificate_chain_file(path)
    context.use_privatekey(crypto.load_privatekey(crypto.FILETYPE_PEM, certificate.key_pem))
    context.check_privatekey()


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Give *content*, which is public, the path of a file; in memory where the system can do that."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("chain", os.MFD_CLOEXEC)
        path = f"/proc/self/fd/{descriptor}"
    else:
        descriptor, path = tempfile.mkstemp()
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            yield path
    finally:
        if not path.startswith("/proc/"):
            os.unlink(path)


def _trust(context: SSL.Context, authentication: ClientAuthentication) -> None:
    """Have clients' certificates judged by the authorities of *authentication*, and name these to clients."""
    store = context.get_cert_store()
    assert store is not None
    for authority in x509.load_pem_x509_certificates(authentication.ca_pem):
        converted = crypto.X509.from_cryptography(authority)
        store.add_cert(converted)
        name_authority(context, converted)
    if authentication.crl_pem:
        # OpenSSL reads a file in half the time that pyOpenSSL takes for the lists one by one.
        with _as_file(authentication.crl_pem) as path:
            store.load_locations(path)
        store.set_flags(_CHECK_LISTS)
