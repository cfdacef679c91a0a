"""The certificates by which others are judged: those in ``ca.crt`` of a Secret or of a ConfigMap."""

from functools import lru_cache
from typing import Final

from ingress.identity.certificates import CertificateError
from ingress.model.objects import ConfigMap, Secret

CA_KEY: Final = "ca.crt"

MOST_AUTHORITIES: Final = 160
"""As many as lists of all public authorities have, and some; building a context of them takes 5 ms."""

MOST_AUTHORITY_BYTES: Final = 16 * 1024
"""Of one of them, in DER."""

_KEPT: Final = 32
"""Many objects refer to the same authorities, and reading 160 of them takes milliseconds."""


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

    from ingress.identity.key_pairs import DAMAGED, check_count

    try:
        check_count(CA_KEY, content, MOST_AUTHORITIES)
        authorities = x509.load_pem_x509_certificates(content)
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
