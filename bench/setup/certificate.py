"""The certificates of the TLS loads: P-256 and RSA, signed by themselves, made anew each time."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from attrs import frozen
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

VALID_DAYS = 30
RSA_BITS = 2048


@frozen
class KeyPair:
    """A certificate and its key: as PEM, and where their files are."""

    certificate_pem: bytes
    key_pem: bytes
    certificate_path: Path
    key_path: Path
    both_path: Path
    """Certificate and key in one file, as HAProxy reads them."""


def write_key_pair(folder: Path, names: tuple[str, ...]) -> KeyPair:
    """Make a key on P-256 and a certificate for *names*, and write both into *folder*."""
    return _write(folder, "tls", names, ec.generate_private_key(ec.SECP256R1()))


def write_rsa_pair(folder: Path, names: tuple[str, ...]) -> KeyPair:
    """Make one with an RSA key."""
    return _write(folder, "rsa", names, rsa.generate_private_key(65537, RSA_BITS))


def _write(
    folder: Path, stem: str, names: tuple[str, ...], key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
) -> KeyPair:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(one) for one in names]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pair = KeyPair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
        folder / f"{stem}.crt",
        folder / f"{stem}.key",
        folder / f"{stem}.pem",
    )
    pair.certificate_path.write_bytes(pair.certificate_pem)
    pair.key_path.write_bytes(pair.key_pem)
    pair.both_path.write_bytes(pair.certificate_pem + pair.key_pem)
    return pair
