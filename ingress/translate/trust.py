"""The certificates of a Secret by which others are judged: its ``ca.crt``."""

from typing import Final

from ingress.identity.certificates import CertificateError
from ingress.model.objects import Secret

CA_KEY: Final = "ca.crt"

MOST_AUTHORITIES: Final = 160
"""As many as lists of all public authorities have, and some; building a context of them takes 5 ms."""

MOST_AUTHORITY_BYTES: Final = 16 * 1024
"""Of one of them, in DER."""


def load_authorities(secret: Secret) -> bytes:
    """Return the certificates in ``ca.crt`` of *secret* as PEM; raise ``CertificateError`` if there are none."""
    content = secret.content.get(CA_KEY)
    if not content:
        raise CertificateError(
            f"{CA_KEY}: missing from the Secret" if content is None else f"{CA_KEY}: empty"
        )
    # Most starts of a command meet no Secret, and this takes long to import.
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    from ingress.identity.key_pairs import DAMAGED, check_count

    check_count(CA_KEY, content, MOST_AUTHORITIES)
    try:
        authorities = x509.load_pem_x509_certificates(content)
        for authority in authorities:
            # What is damaged inside shows only when it is looked at.
            authority.public_key()
    except DAMAGED:
        raise CertificateError(f"{CA_KEY}: no PEM certificates, or one that cannot be read") from None
    for number, authority in enumerate(authorities, 1):
        size = len(authority.public_bytes(serialization.Encoding.DER))
        if size > MOST_AUTHORITY_BYTES:
            raise CertificateError(
                f"{CA_KEY}: certificate {number} has {size} bytes, more than {MOST_AUTHORITY_BYTES}"
            )
    return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in authorities)
