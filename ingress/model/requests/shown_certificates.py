"""What a client's certificate says: whose it is, by whom, its number, and its text as nginx writes it into fields."""

from functools import lru_cache
from typing import Final
from urllib.parse import quote

from attrs import field

from ingress.model.frozen import frozen

MAX_CERTIFICATE_BYTES: Final = 16 * 1024
"""Of the visitor's own certificate in DER; it is parsed, and may become a header field of twice the size."""


@frozen
class ShownCertificate:
    """What is read out of a client's certificate; ``read_certificate`` makes it."""

    subject: bytes
    issuer: bytes
    common_names: tuple[str, ...]
    serial: bytes
    """Its number, in whole octets as hexadecimal digits, the letters in upper case."""
    fingerprint: bytes
    """SHA-1 of it, as nginx has it, in hexadecimal digits."""
    escaped_pem: bytes = field(repr=False)


@lru_cache(maxsize=256)
def read_certificate(der: bytes) -> ShownCertificate | None:
    """Read the certificate *der*; None for one that is too long, or that cannot be read."""
    if len(der) > MAX_CERTIFICATE_BYTES:
        return None
    # Nobody shows a certificate to a command, and this takes long to import.
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA1
    from cryptography.hazmat.primitives.serialization import Encoding

    from ingress.model.requests.distinguished_names import common_names, line_of

    try:
        certificate = x509.load_der_x509_certificate(der)
        return ShownCertificate(
            line_of(certificate.subject),
            line_of(certificate.issuer),
            common_names(certificate.subject),
            _digits(certificate.serial_number),
            certificate.fingerprint(SHA1()).hex().encode("ascii"),
            quote(certificate.public_bytes(Encoding.PEM), safe="").encode("ascii"),
        )
    except (ValueError, x509.InvalidVersion):
        return None


def _digits(serial: int) -> bytes:
    digits = f"{abs(serial):X}"
    return f"{'-' if serial < 0 else ''}{'0' * (len(digits) % 2)}{digits}".encode("ascii")
