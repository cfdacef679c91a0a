"""The default certificate of a controller that was given none: self-signed, made at start.

It lives in memory only, and no client trusts it; it lets a handshake end in an
answer that says what is missing.
"""

from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ingress.identity.certificates import CHAIN_KEY, PRIVATE_KEY_KEY, TLS_SECRET_TYPE, Certificate
from ingress.identity.key_pairs import load_certificate
from ingress.model.cluster.objects import ObjectKey, Secret

GENERATED_NAME = "ingress.local"
GENERATED_KEY = ObjectKey("", "generated-certificate")
"""Stands where other certificates name their Secret; no Secret has an empty namespace."""

_LIFETIME = timedelta(days=365)
_CLOCK_SKEW = timedelta(hours=1)


def generate_certificate(now: datetime) -> Certificate:
    """Make a self-signed certificate for ``ingress.local``, valid for a year from *now*."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, GENERATED_NAME)])
    leaf = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(GENERATED_NAME)]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    content = {
        CHAIN_KEY: leaf.public_bytes(serialization.Encoding.PEM),
        PRIVATE_KEY_KEY: key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    }
    return load_certificate(Secret(GENERATED_KEY, TLS_SECRET_TYPE, content))
