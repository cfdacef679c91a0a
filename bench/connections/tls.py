"""What 10,000 certificates cost: ``python -m bench.connections.tls`` prints it as a table.

In this process, without any network: reading the Secrets, memory, and handshakes against contexts
that are kept, that have to be built, and of sessions that are resumed.  A handshake is both sides of
it, client and server, in one thread; the server's part is about half.
"""

import gc
import itertools
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID
from OpenSSL import SSL

from ingress.identity.certificates import CHAIN_KEY, PRIVATE_KEY_KEY, TLS_SECRET_TYPE, CertificateTable
from ingress.identity.key_pairs import load_certificate
from ingress.model.cluster.objects import ObjectKey, Secret
from ingress.model.requests.client_authentication import ClientAuthentication
from ingress.model.shared_map import SharedMap
from ingress.tls.context_building import build_context
from ingress.tls.contexts import MAX_CONTEXTS, ServerContexts
from ingress.translate.tls.authorities import MOST_AUTHORITIES

CERTIFICATES = 10_000
HANDSHAKES = 1_000
REVOKED = 28_000
SEED = 1
_PAGE_KIB = 4


def host(number: int) -> str:
    """The name of host *number*."""
    return f"shop-{number:05}.customers.example.com"


def make_secret(number: int, key: Any) -> Secret:
    """Make a Secret with a certificate of *key* for host *number*, signed by itself."""
    now = datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host(number))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host(number))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    content = {
        CHAIN_KEY: certificate.public_bytes(serialization.Encoding.PEM),
        PRIVATE_KEY_KEY: key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain
        ),
    }
    return Secret(ObjectKey("bench", f"cert-{number}"), TLS_SECRET_TYPE, content)


def resident_kib() -> int:
    """The memory of this process."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_KIB


class Visitor:
    """Makes handshakes in memory."""

    def __init__(self, contexts: ServerContexts, version: int = SSL.TLS1_3_VERSION) -> None:
        self._contexts = contexts
        self._context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        self._context.set_max_proto_version(version)

    def shake(self, name: str, session: SSL.Session | None = None) -> SSL.Connection:
        """Complete a handshake for *name*, tickets included; return the client's side."""
        client = SSL.Connection(self._context, None)
        client.set_tlsext_host_name(name.encode())
        if session is not None:
            client.set_session(session)
        client.set_connect_state()
        server = self._contexts.serverConnectionForTLS(None)
        server.set_accept_state()
        for _ in range(2):
            for side, other in ((client, server), (server, client)):
                try:
                    side.do_handshake()
                except SSL.WantReadError:
                    pass
                try:
                    other.bio_write(side.bio_read(65536))
                except SSL.WantReadError:
                    pass
        try:
            client.recv(1)
        except SSL.WantReadError:
            pass
        return client


def microseconds(action: Callable[[], object], count: int = HANDSHAKES) -> float:
    """The median time of *action* in microseconds."""
    times = []
    for _ in range(count):
        begin = perf_counter()
        action()
        times.append(perf_counter() - begin)
    return median(times) * 1e6


def rows() -> Iterator[tuple[str, str]]:
    """Measure; yield what was measured, and what it was."""
    secrets = [make_secret(number, ec.generate_private_key(ec.SECP256R1())) for number in range(CERTIFICATES)]
    before, begin, _now = resident_kib(), perf_counter(), datetime.now(UTC)
    loaded = {host(number): (load_certificate(secret),) for number, secret in enumerate(secrets)}
    seconds = perf_counter() - begin
    yield "Secrets with a certificate (ECDSA P-256)", f"{CERTIFICATES:,}"
    yield "reading and checking one", f"{seconds / CERTIFICATES * 1e6:.0f} µs"
    yield "memory of one that was read", f"{(resident_kib() - before) / CERTIFICATES:.1f} KiB"

    shared = rsa.generate_private_key(65537, 2048)
    own = load_certificate(make_secret(CERTIFICATES, shared))
    contexts = ServerContexts(own)
    begin = perf_counter()
    contexts.publish(CertificateTable(SharedMap(loaded), SharedMap()))
    yield "publishing all of them", f"{(perf_counter() - begin) * 1e3:.1f} ms"

    visitor, generator = Visitor(contexts), random.Random(SEED)
    before = resident_kib()
    names = itertools.cycle(generator.sample(sorted(loaded), CERTIFICATES))
    building = microseconds(lambda: visitor.shake(next(names)), MAX_CONTEXTS)
    yield (
        f"memory of the {MAX_CONTEXTS:,} contexts that are kept",
        f"{(resident_kib() - before) / 1024:.0f} MiB",
    )
    before = resident_kib()
    microseconds(lambda: visitor.shake(next(names)), CERTIFICATES - MAX_CONTEXTS)
    yield "more memory, after a handshake with each of all", f"{(resident_kib() - before) / 1024:.0f} MiB"

    one = host(0)
    yield "handshake, ECDSA, context kept", f"{microseconds(lambda: visitor.shake(one)):.0f} µs"
    yield "handshake, ECDSA, context to be built", f"{building:.0f} µs"
    older = Visitor(contexts, SSL.TLS1_2_VERSION)
    yield "handshake, ECDSA, TLS 1.2", f"{microseconds(lambda: older.shake(one)):.0f} µs"
    first = visitor.shake(one)
    session = first.get_session()
    yield "handshake, resumed", f"{microseconds(lambda: visitor.shake(one, session)):.0f} µs"
    yield (
        "handshake, RSA 2048 (the default certificate)",
        f"{microseconds(lambda: visitor.shake('x.test')):.0f} µs",
    )
    large = ServerContexts(load_certificate(make_secret(0, rsa.generate_private_key(65537, 4096))))
    slow = Visitor(large)
    yield "handshake, RSA 4096 (the largest key)", f"{microseconds(lambda: slow.shake('x.test'), 100):.0f} µs"
    authorities = b"".join(secret.content[CHAIN_KEY] for secret in secrets[:MOST_AUTHORITIES])
    for what, link_settings in (
        (f"building a context with {MOST_AUTHORITIES} client authorities", authentication(authorities)),
        (f"the same with {REVOKED:,} revoked certificates", authentication(authorities, revocations(shared))),
    ):
        built = microseconds(lambda: build_context(SSL.TLS1_2_VERSION, (own,), (), link_settings), 10)  # noqa: B023
        yield what, f"{built:.0f} µs"


def authentication(ca_pem: bytes, crl_pem: bytes = b"") -> ClientAuthentication:
    """Return the settings of a host with these authorities and revocation lists."""
    return ClientAuthentication("Secret bench/people", ca_pem, crl_pem)


def revocations(key: rsa.RSAPrivateKey) -> bytes:
    """Make a revocation list as large as a Secret holds."""
    now = datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host(0))])
    builder = x509.CertificateRevocationListBuilder().issuer_name(name)
    builder = builder.last_update(now).next_update(now + timedelta(days=1))
    for number in range(1, REVOKED + 1):
        one = x509.RevokedCertificateBuilder().serial_number(number).revocation_date(now).build()
        builder = builder.add_revoked_certificate(one)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def main() -> None:
    """Print the table."""
    for what, value in rows():
        print(f"{what:<52} {value:>10}", flush=True)


if __name__ == "__main__":
    main()
