"""From certificates and settings to an OpenSSL context, all in memory but for what is public anyway."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final
from weakref import WeakKeyDictionary, WeakValueDictionary

from attrs import define
from cryptography import x509
from OpenSSL import SSL, crypto

from ingress.identity.certificates import Certificate
from ingress.model.requests.client_authentication import ClientAuthentication, lists_of
from ingress.tls.binding import add_list, name_authority, share_store
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


@define(eq=False)
class _Trust:
    """What certificates of clients are judged by, and whose names clients are told."""

    store: crypto.X509Store
    authorities: tuple[crypto.X509, ...]


# A revocation list of the size that a Secret can have takes ten milliseconds to read, and six megabytes: all contexts share one.
_trusts: Final[WeakValueDictionary[tuple[bytes, bytes], _Trust]] = WeakValueDictionary()
_in_use: Final[WeakKeyDictionary[SSL.Context, _Trust]] = WeakKeyDictionary()


def _trust(context: SSL.Context, authentication: ClientAuthentication) -> None:
    """Have clients' certificates judged by the authorities of *authentication*, and name these to clients."""
    key = authentication.ca_pem, authentication.crl_pem
    trust = _trusts.get(key)
    if trust is None:
        trust = _trusts[key] = _read_trust(authentication)
    _in_use[context] = trust
    share_store(context, trust.store)
    for authority in trust.authorities:
        name_authority(context, authority)


def _read_trust(authentication: ClientAuthentication) -> _Trust:
    store = crypto.X509Store()
    authorities = tuple(
        map(crypto.X509.from_cryptography, x509.load_pem_x509_certificates(authentication.ca_pem))
    )
    for authority in authorities:
        store.add_cert(authority)
    for octets in lists_of(authentication):
        add_list(store, octets)
    if authentication.crl_pem:
        store.set_flags(_CHECK_LISTS)
    return _Trust(store, authorities)
