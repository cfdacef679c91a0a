"""The certificates of a Secret by which others are judged: its ``ca.crt``."""

from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from ingress.certificates import DAMAGED, CertificateError
from ingress.model.objects import Secret

CA_KEY: Final = "ca.crt"

_MOST_AUTHORITIES: Final = 1024
"""More than any list of public authorities has; each costs the first connection some time."""


def load_authorities(secret: Secret) -> bytes:
    """Return the certificates in ``ca.crt`` of *secret* as PEM; raise ``CertificateError`` if there are none."""
    content = secret.content.get(CA_KEY)
    if not content:
        raise CertificateError(
            f"{CA_KEY}: missing from the Secret" if content is None else f"{CA_KEY}: empty"
        )
    try:
        authorities = x509.load_pem_x509_certificates(content)
        for authority in authorities:
            # What is damaged inside shows only when it is looked at.
            authority.public_key()
    except DAMAGED:
        raise CertificateError(f"{CA_KEY}: no PEM certificates, or one that cannot be read") from None
    if len(authorities) > _MOST_AUTHORITIES:
        raise CertificateError(f"{CA_KEY}: more than {_MOST_AUTHORITIES} certificates")
    return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in authorities)
