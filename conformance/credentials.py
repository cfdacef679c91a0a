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
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "conformance")])
    names = [x509.DNSName("localhost"), *(x509.IPAddress(ip_address(address)) for address in addresses)]
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    made.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    write_key(made.key, key)
    write_key(made.account_key, rsa.generate_private_key(public_exponent=65537, key_size=2048))
    made.tokens.write_text(f"{made.admin_token},admin,admin,system:masters\n")
    return made


def write_key(path: Path, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))


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
