"""Authorities: the certificates by which others are judged, in ``ca.crt`` of Secrets and ConfigMaps.  Pure."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from ingress.identity.certificates import CertificateError
from ingress.model.cluster.objects import ConfigMap, Kind, ObjectId, ObjectKey, Secret
from ingress.model.cluster.state import ClusterState
from ingress.translate.absent_secrets import FORBIDDEN, forbidden_by

CA_KEY: Final = "ca.crt"

MOST_AUTHORITIES: Final = 160
"""As many as lists of all public authorities have, and some; building a context of them takes 5 ms."""

MOST_AUTHORITY_BYTES: Final = 16 * 1024
"""Of one of them, in DER."""

_KEPT: Final = 32
"""Many objects refer to the same authorities, and reading 160 of them takes milliseconds."""
_PEM_BEGINS: Final = b"-----BEGIN "


def load_authorities(source: Secret | ConfigMap) -> bytes:
    """Return the certificates in ``ca.crt`` of *source* as PEM; raise ``CertificateError`` if there are none."""
    content = source.content.get(CA_KEY)
    if not content:
        what = "Secret" if isinstance(source, Secret) else "ConfigMap"
        raise CertificateError(
            f"{CA_KEY}: missing from the {what}" if content is None else f"{CA_KEY}: empty"
        )
    # What stands beside PEM may be anything; PEM itself is ASCII.
    found = _read(content.encode("utf-8", "replace") if isinstance(content, str) else content)
    if isinstance(found, str):
        raise CertificateError(found)
    return found


@lru_cache(maxsize=_KEPT)
def _read(content: bytes) -> bytes | str:
    """Return the certificates in *content*, or say what is wrong with it."""
    # Most starts of a command meet no Secret, and this takes long to import.
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    from ingress.identity.key_pairs import DAMAGED, check_count, check_whole

    try:
        check_count(CA_KEY, content, MOST_AUTHORITIES)
        authorities = x509.load_pem_x509_certificates(content)
        check_whole(CA_KEY, content, len(authorities))
        for authority in authorities:
            # What is damaged inside shows only when it is looked at.
            authority.public_key()
    except CertificateError as error:
        return error.message
    except DAMAGED:
        return f"{CA_KEY}: no PEM certificates, or one that cannot be read"
    for number, authority in enumerate(authorities, 1):
        size = len(authority.public_bytes(serialization.Encoding.DER))
        if size > MOST_AUTHORITY_BYTES:
            return f"{CA_KEY}: certificate {number} has {size} bytes, more than {MOST_AUTHORITY_BYTES}"
    return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in authorities)


class Joined(NamedTuple):
    """The authorities of several objects."""

    pem: bytes
    """Of all that can be used; empty for none."""
    used: tuple[ObjectId, ...]
    faults: dict[ObjectId, str]
    """What is wrong with the others."""


def join_authorities(named: Iterable[ObjectId], state: ClusterState) -> Joined:
    """Return the authorities in the Secrets and ConfigMaps *named*, as far as they can be used, up to a bound."""
    pem: list[bytes] = []
    used: list[ObjectId] = []
    faults: dict[ObjectId, str] = {}
    count = 0
    for one in dict.fromkeys(named):
        kind, key = one
        try:
            content = _authorities_in(kind, key, state)
        except CertificateError as error:
            faults[one] = f"{kind} {key}: {error.message}"
            continue
        count += content.count(_PEM_BEGINS)
        if count > MOST_AUTHORITIES:
            faults[one] = f"{kind} {key}: brings more than {MOST_AUTHORITIES} certificates, with those before"
            continue
        pem.append(content)
        used.append(one)
    return Joined(b"".join(pem), tuple(used), faults)


def _authorities_in(kind: Kind, key: ObjectKey, state: ClusterState) -> bytes:
    source = state.secrets.get(key) if kind is Kind.SECRET else state.of(kind).get(key)
    if not isinstance(source, Secret | ConfigMap):
        raise CertificateError(FORBIDDEN if forbidden_by(state, kind, key) else f"there is no such {kind}")
    return load_authorities(source)
