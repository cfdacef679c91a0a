"""Whether several replicas could resume each other's TLS sessions: ``python -m bench.connections.ticket_keys``.

Replicas would need ticket keys that somebody sets.  This prints which ways to these keys the installed wheels offer, tries the
one that is left on their private structures (in a process of its own, which may crash), and measures what is to be
had: what a handshake costs the server with a resumed session and without.
"""

import ctypes
import ssl
import subprocess
import sys
from collections.abc import Iterator
from statistics import median
from time import process_time

import cryptography
import OpenSSL
from cryptography.hazmat.bindings import _rust
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from OpenSSL import SSL
from OpenSSL._util import ffi, lib

from bench.connections.tls import host, make_secret
from ingress.identity.certificates import CertificateTable
from ingress.identity.key_pairs import load_certificate
from ingress.tls.bases import Bases
from ingress.tls.binding import is_resumed
from ingress.tls.contexts import ServerContexts
from ingress.tls.profile import new_server_context

HANDSHAKES = 300
ROUNDS = 5
REPLICAS = (1, 2, 3, 5, 10)
WAYS = {
    "keys": ("SSL_CTX_set_tlsext_ticket_keys", "SSL_CTX_get_tlsext_ticket_keys", "SSL_CTX_ctrl"),
    "a callback that encrypts tickets": ("SSL_CTX_set_tlsext_ticket_key_evp_cb", "SSL_CTX_callback_ctrl"),
    "a cache of sessions outside": (
        "SSL_CTX_sess_set_new_cb",
        "SSL_CTX_sess_set_get_cb",
        "SSL_CTX_add_session",
    ),
}
# OpenSSL's ssl.h, and ssl/ssl_local.h: the fields of ssl_method_st before ssl_ctx_ctrl, in words of 64 bits.
_SET_KEYS, _WORDS_BEFORE, _KEY_BYTES = 59, 20, 80
_PRIVATE = "--private"


def ways() -> Iterator[tuple[str, str, str]]:
    """Yield for what, by which function of OpenSSL, and where that is to be had."""
    library = ctypes.CDLL(_rust.__file__)
    for purpose, names in WAYS.items():
        for name in names:
            bound = "bound" if hasattr(lib, name) else "not bound"
            exported = "exported" if hasattr(library, name) else "hidden in the library"
            yield purpose, name, f"{bound}, {exported}"
    found = [name for name in dir(ssl.SSLContext) if "ticket" in name]
    yield (
        "the module ssl",
        "SSLContext",
        ", ".join(found) + ": their number, and nothing else" if found else "none",
    )


def pair(
    server: SSL.Connection, context: SSL.Context, name: str, session: SSL.Session | None
) -> tuple[SSL.Connection, float]:
    """Complete a handshake in memory; return the client, and the seconds of processor time that the server took."""
    client = SSL.Connection(context, None)
    client.set_tlsext_host_name(name.encode())
    if session is not None:
        client.set_session(session)
    client.set_connect_state()
    server.set_accept_state()
    spent, waiting = 0.0, [client, server]
    while waiting:
        for side in tuple(waiting):
            begun = process_time()
            try:
                side.do_handshake()
                waiting.remove(side)
            except SSL.WantReadError:
                pass
            if side is server:
                spent += process_time() - begun
            other = client if side is server else server
            try:
                while True:
                    other.bio_write(side.bio_read(65536))
            except SSL.WantReadError:
                pass
    # Tickets of TLS 1.3 come behind the handshake.
    try:
        client.recv(1)
    except SSL.WantReadError:
        pass
    return client, spent


def microseconds(key: object, version: int, *, resumes: bool) -> float:
    """Return how long the server computes for one handshake."""
    certificate = load_certificate(make_secret(0, key))
    contexts = ServerContexts(certificate, bases=Bases())
    contexts.publish(CertificateTable({host(0): (certificate,)}))
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_max_proto_version(version)
    kept, session = [], None
    rounds = []
    for _ in range(ROUNDS):
        total = 0.0
        for _ in range(HANDSHAKES):
            client, spent = pair(contexts.connection_on(None), context, host(0), session)
            if is_resumed(client) is not (session is not None):
                raise AssertionError("resumed what it was not to resume, or the other way round")
            total += spent
            if resumes:
                # Who is freed without a goodbye takes its session along.
                kept.append(client)
                session = client.get_session()
        rounds.append(total / HANDSHAKES)
    return median(rounds[1:]) * 1e6


def private() -> None:
    """Have two contexts use the same keys by a pointer of OpenSSL's private structures; print whether they resume sessions."""
    methods = ffi.cast("uintptr_t *", lib.TLS_server_method())
    control = ffi.cast("long (*)(SSL_CTX *, int, long, void *)", methods[_WORDS_BEFORE])
    certificate = load_certificate(make_secret(0, ec.generate_private_key(ec.SECP256R1())))
    replicas = []
    for _ in range(2):
        context = new_server_context()
        if control(context._context, _SET_KEYS, 0, ffi.NULL) != _KEY_BYTES:
            print("no: that pointer is another function")
            return
        control(context._context, _SET_KEYS, _KEY_BYTES, ffi.new("char[]", b"k" * _KEY_BYTES))
        context.set_session_id(b"replicas")
        context.use_certificate(OpenSSL.crypto.load_certificate(1, certificate.chain_pem))
        context.use_privatekey(OpenSSL.crypto.load_privatekey(1, certificate.key_pem))
        replicas.append(context)
    asking = SSL.Context(SSL.TLS_CLIENT_METHOD)
    first, _ = pair(SSL.Connection(replicas[0], None), asking, host(0), None)
    second, _ = pair(SSL.Connection(replicas[1], None), asking, host(0), first.get_session())
    print("yes" if is_resumed(second) else "no: the session was not resumed")


def main() -> None:
    """Print all of it."""
    if _PRIVATE in sys.argv[1:]:
        private()
        return
    versions = SSL.SSLeay_version(SSL.SSLEAY_VERSION).decode()
    print(f"pyOpenSSL {OpenSSL.__version__}, cryptography {cryptography.__version__} with {versions}")
    print(f"Python {sys.version.split()[0]} with {ssl.OPENSSL_VERSION}\n")
    for purpose, name, found in ways():
        print(f"{purpose:<33} {name:<38} {found}")
    run = subprocess.run(
        [sys.executable, "-m", "bench.connections.ticket_keys", _PRIVATE],
        capture_output=True,
        text=True,
        check=False,
    )
    outcome = run.stdout.strip() or f"no: the process ended with status {run.returncode}"
    print(f"{'by a pointer at a private offset':<33} {'ssl_method_st.ssl_ctx_ctrl':<38} {outcome}\n")

    print("CPU-us of the server, handshake        full   resumed   saved")
    saved = {}
    for kind, key in (
        ("ECDSA P-256", ec.generate_private_key(ec.SECP256R1())),
        ("RSA 2048", rsa.generate_private_key(65537, 2048)),
    ):
        for title, version in (("TLS 1.2", SSL.TLS1_2_VERSION), ("TLS 1.3", SSL.TLS1_3_VERSION)):
            full, resumed = (microseconds(key, version, resumes=resumes) for resumes in (False, True))
            saved[kind, title] = full - resumed
            print(f"{kind + ', ' + title:<35} {full:>7.0f} {resumed:>9.0f} {full - resumed:>7.0f}")

    print("\nreplicas                          " + "".join(f"{count:>8}" for count in REPLICAS))
    print(f"{'resumed of returning clients':<34}" + "".join(f"{1 / count:>8.0%}" for count in REPLICAS))
    for (kind, title), each in saved.items():
        lost = "".join(f"{each * (1 - 1 / count):>8.0f}" for count in REPLICAS)
        print(f"{'lost, CPU-us, ' + kind + ', ' + title:<34}{lost}")


if __name__ == "__main__":
    main()
