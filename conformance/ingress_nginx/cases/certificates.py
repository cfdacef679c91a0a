"""Authorities and certificates of the cases, made anew in each process; a day is enough."""

import datetime
from base64 import b64encode

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from conformance import credentials
from conformance.cluster import Object


class Authority:
    """One that signs certificates of clients."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.pem = self._sign(self._name, self._key.public_key(), True)

    def client(self, name: str) -> tuple[bytes, bytes]:
        """PEM of a certificate and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Parity, Inc."),
                x509.NameAttribute(NameOID.COMMON_NAME, name),
            ]
        )
        return self._sign(subject, key.public_key(), False), credentials.key_pem(key)

    def _sign(self, subject: x509.Name, key: ec.EllipticCurvePublicKey, is_authority: bool) -> bytes:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        return builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM)


TRUSTED, STRANGE = Authority("trusted"), Authority("strange")
CLIENTS = {"ann": TRUSTED.client("ann"), "bob": TRUSTED.client("bob"), "eve": STRANGE.client("eve")}
"""PEM of certificates and keys that clients of the cases may have."""


def certificate(name: str, *hosts: str) -> Object:
    """A Secret of a certificate for names; those of a case stand for themselves only where they are written out."""
    pem, key = credentials.self_signed(list(hosts))
    return secret_of(name, "kubernetes.io/tls", {"tls.crt": pem, "tls.key": key})


def authority(name: str) -> Object:
    """A Secret of the trusted authority."""
    return secret_of(name, "Opaque", {"ca.crt": TRUSTED.pem})


def secret_of(name: str, kind: str, data: dict[str, bytes]) -> Object:
    encoded = {key: b64encode(value).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": {"name": name}, "data": encoded}
