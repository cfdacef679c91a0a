"""Let sslyze judge the TLS of a running ``twistd ingress`` by Mozilla's "intermediate" configuration.

Three hosts are looked at: one with an ECDSA certificate, one with an RSA certificate, and one with
both.  sslyze lives in an environment of its own, because it wants another ``cryptography`` than
pyOpenSSL does; the first argument is the interpreter of that environment.  At the end stands by which version
of the guidelines it judges: 5.7, as of sslyze 6.  What version 5.8 adds, and sslyze cannot speak, is looked
at here: a client that brings a key for X25519MLKEM768 agrees on that.  The status is 0 when every host
is compliant, and does so.
"""

import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from OpenSSL import SSL

REPOSITORY = Path(__file__).resolve().parent.parent
HOSTS = {"ecdsa.test": ("ecdsa",), "rsa.test": ("rsa",), "both.test": ("ecdsa", "rsa")}
HYBRID_GROUP = "X25519MLKEM768"
OPENSSL = SSL.OpenSSL_version(SSL.OPENSSL_VERSION).decode("ascii", "replace")
GUIDELINES = (
    "import json, sslyze.mozilla_tls_profile as profile; from pathlib import Path;"
    "print(', '.join(str(json.loads(one.read_text())['version'])"
    " for one in Path(profile.__file__).parent.glob('*.json')))"
)
"""A program for the environment of sslyze."""
VALID_DAYS = 90
"""Mozilla asks for at most 366."""
USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)
START_SECONDS = 30.0
SSLYZE_SECONDS = 300.0


class Authority:
    """Signs the certificates, and is trusted by sslyze."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Authority of the check")])
        usage = dict.fromkeys(USAGES, False) | {"key_cert_sign": True, "crl_sign": True}
        self._certificate = (
            self._begun(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(x509.KeyUsage(**usage), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def pem(self) -> bytes:
        """Its certificate."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def key_pair(self, key_type: str, name: str) -> dict[str, str]:
        """Make a key and a certificate of it for *name*, as the content of a Secret."""
        key: Any = ec.generate_private_key(ec.SECP256R1())
        if key_type == "rsa":
            key = rsa.generate_private_key(65537, 2048)
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        usage = dict.fromkeys(USAGES, False) | {"digital_signature": True}
        certificate = (
            self._begun(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(identifier, critical=False)
            .add_extension(x509.KeyUsage(**usage), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        plain = serialization.NoEncryption()
        pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        chain = certificate.public_bytes(serialization.Encoding.PEM)
        return {"tls.crt": chain.decode(), "tls.key": pem.decode()}

    def _begun(self, subject: x509.Name, key: Any) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=VALID_DAYS))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        )


def objects(authority: Authority) -> Iterator[dict[str, Any]]:
    """The Ingress and the Secrets of all hosts."""
    tls = [
        {"hosts": [host], "secretName": f"{host}-{one}"}
        for host, key_types in HOSTS.items()
        for one in key_types
    ]
    backend = {"service": {"name": "none", "port": {"number": 80}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    yield {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "hosts", "namespace": "default"},
        "spec": {
            "ingressClassName": "nginx",
            "tls": tls,
            "rules": [{"host": host, "http": {"paths": [path]}} for host in HOSTS],
        },
    }
    for host, key_types in HOSTS.items():
        for one in key_types:
            yield {
                "apiVersion": "v1",
                "kind": "Secret",
                "type": "kubernetes.io/tls",
                "metadata": {"name": f"{host}-{one}", "namespace": "default"},
                "stringData": authority.key_pair(one, host),
            }


def free_port() -> int:
    """Find a port of the loopback interface that nobody uses."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextmanager
def running(folder: Path, port: int) -> Iterator[None]:
    """Run the controller on the manifests in *folder*, with HTTPS on *port*."""
    admin = free_port()
    listeners = (("http", free_port()), ("https", port), ("admin", admin))
    command = [str(Path(sys.executable).with_name("twistd")), "-n", "--pidfile=", "ingress"]
    command += [f"--{name}=tcp:{number}:interface=127.0.0.1" for name, number in listeners]
    command += [f"--manifests={folder}", "--shutdown-delay=0", "--access-log=/dev/null"]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + START_SECONDS
            while not is_ready(admin):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit("the controller does not start")
                time.sleep(0.1)  # noqa: TID251 - a script that waits for a process
            yield
        finally:
            process.terminate()


def is_ready(admin: int) -> bool:
    """Whether the controller serves."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{admin}/readyz", timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


def agreed_group(host: str, port: int) -> str | None:
    """Make a handshake for *host* as OpenSSL does of itself; return what the keys were agreed on by."""
    with socket.create_connection(("127.0.0.1", port), START_SECONDS) as sock:
        # pyOpenSSL wants to know nothing of timeouts.
        sock.settimeout(None)
        connection = SSL.Connection(SSL.Context(SSL.TLS_CLIENT_METHOD), sock)
        connection.set_tlsext_host_name(host.encode())
        connection.set_connect_state()
        connection.do_handshake()
        return connection.get_group_name()


def main() -> int:
    """Run the controller and sslyze; return the status of sslyze."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python scripts/sslyze_check.py INTERPRETER_WITH_SSLYZE")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        authority = Authority()
        trusted = folder / "authority.pem"
        trusted.write_bytes(authority.pem)
        (folder / "hosts.yaml").write_text(yaml.safe_dump_all(objects(authority)))
        port = free_port()
        with running(folder, port):
            targets = [f"{host}:{port}{{127.0.0.1}}" for host in HOSTS]
            command = [sys.argv[1], "-m", "sslyze", "--mozilla_config", "intermediate"]
            command += ["--certinfo_ca_file", str(trusted), *targets]
            status = subprocess.run(command, timeout=SSLYZE_SECONDS).returncode
            groups = {host: agreed_group(host, port) for host in HOSTS}
        version = subprocess.run([sys.argv[1], "-c", GUIDELINES], capture_output=True, text=True, check=True)
        print(f"    sslyze judged by version {version.stdout.strip()} of the guidelines.\n")
        print(f"    Version 5.8 adds {HYBRID_GROUP}, and wants it first. Agreed on with {OPENSSL}:\n")
        for host, group in groups.items():
            print(f"    {host}:{port}: {'OK' if group == HYBRID_GROUP else 'FAILED'} - {group}\n")
        return status or int(set(groups.values()) != {HYBRID_GROUP})


if __name__ == "__main__":
    raise SystemExit(main())
