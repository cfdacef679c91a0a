"""Keys, certificates and kubeconfigs of one run."""

import datetime
import json
import secrets
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Credentials:
    """Files in the folder of the run, and the token of its administrator."""

    certificate: Path
    key: Path
    account_key: Path
    tokens: Path
    admin_token: str


def make(folder: Path, addresses: list[str]) -> Credentials:
    """One self-signed certificate for the API server and the node, which clients trust by itself; a day is enough."""
    made = Credentials(
        folder / "server.crt",
        folder / "server.key",
        folder / "accounts.key",
        folder / "tokens.csv",
        secrets.token_hex(16),
    )
    certificate, key = self_signed(["localhost", *addresses])
    made.certificate.write_bytes(certificate)
    made.key.write_bytes(key)
    made.account_key.write_bytes(key_pem(rsa.generate_private_key(public_exponent=65537, key_size=2048)))
    made.tokens.write_text(f"{made.admin_token},admin,admin,system:masters\n")
    return made


def self_signed(names: list[str]) -> tuple[bytes, bytes]:
    """PEM of a certificate for names and addresses, which is its own authority for a day, and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "conformance")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([general_name(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM), key_pem(key)


def general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def key_pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, form, plain)


def write_kubeconfig(path: Path, server: str, certificate: Path, token: str) -> None:
    """As JSON, which is YAML."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "conformance", "cluster": {"server": server, "certificate-authority": str(certificate)}}
        ],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "conformance", "context": {"cluster": "conformance", "user": "user"}}],
        "current-context": "conformance",
    }
    path.write_text(json.dumps(content, indent=1))
