"""The TLS profile: what every context of ours allows, whatever certificate it shows.

Mozilla's "intermediate" configuration, narrowed to ephemeral elliptic curves with
authenticated encryption.
"""

from collections.abc import Sequence
from functools import cache

from OpenSSL import SSL

from ingress.model.requests.client_authentication import MOST_DEPTH
from ingress.tls.binding import restrict_groups, speak

HTTP_1_1 = b"http/1.1"
HTTP_2 = b"h2"
"""Protocols by their names in handshakes (RFC 7301 section 6, RFC 9113 section 3.2)."""

_PRIORITIZE_CHACHA = 1 << 21
"""``SSL_OP_PRIORITIZE_CHACHA``, which pyOpenSSL has no name for: who prefers ChaCha20, since its processor knows no AES, gets it."""

VERSIONS = {"1.2": SSL.TLS1_2_VERSION, "1.3": SSL.TLS1_3_VERSION}
"""The values of ``--tls-min-version``."""

TLS_1_3_SUITES = b"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
"""Those of TLS 1.3, in our order, which decides, as with those of TLS 1.2.  With the second one a handshake takes up to a tenth more of the processor's time, for its hash."""
TLS_1_2_SUITES = (
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
)
GROUPS = b"X25519MLKEM768:X25519:P-256:P-384"
"""What keys are agreed on by, the first ones preferred: version 5.8 of Mozilla's guidelines.  Whoever
records a connection now cannot read it with a quantum computer later, if the first one was used."""


def new_server_context(
    least_version: int = SSL.TLS1_2_VERSION,
    suites: Sequence[str] = TLS_1_2_SUITES,
    protocols: tuple[bytes, ...] = (HTTP_1_1,),
    groups: bytes = GROUPS,
) -> SSL.Context:
    """Make a context of this profile, as yet without certificate; of *protocols* and *groups*, the first ones are preferred.

    Without *protocols* none is agreed on, whatever a client offers.

    A context must not be changed once it served a connection; make a new one.
    """
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    settle_profile(context, least_version, suites, protocols, groups)
    return context


def settle_profile(
    context: SSL.Context,
    least_version: int,
    suites: Sequence[str] = TLS_1_2_SUITES,
    protocols: tuple[bytes, ...] = (HTTP_1_1,),
    groups: bytes = GROUPS,
) -> None:
    """Have *context*, on which no connection has begun, be one of this profile, as ``new_server_context`` makes them."""
    context.set_min_proto_version(least_version)
    # What is asked of clients is decided by host, and its depth with it; but OpenSSL checks the
    # signatures of a whole chain first, a hundred of them if it may.
    context.set_verify_depth(MOST_DEPTH)
    context.set_options(SSL.OP_NO_COMPRESSION | SSL.OP_NO_RENEGOTIATION)
    context.set_options(SSL.OP_CIPHER_SERVER_PREFERENCE | _PRIORITIZE_CHACHA)
    # Idle connections give their read and write buffers back.
    context.set_mode(SSL.MODE_RELEASE_BUFFERS)
    # Tickets resume sessions without memory of ours; a cache would hold thousands.
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    context.set_tls13_ciphersuites(TLS_1_3_SUITES)
    context.set_cipher_list(":".join(suites).encode("ascii"))
    restrict_groups(context, known_groups(groups))
    if protocols:
        speak(context, protocols, protocols if all(map(suits_http_2, suites)) else _without_http_2(protocols))


@cache
def known_groups(groups: bytes) -> bytes:
    """Return those of *groups* that this OpenSSL has; it has ML-KEM since 3.5.  ``ValueError`` if it has none."""
    scratch = SSL.Context(SSL.TLS_METHOD)
    known: list[bytes] = []
    for group in groups.split(b":"):
        try:
            restrict_groups(scratch, group)
        except ValueError:
            continue
        known.append(group)
    if not known:
        raise ValueError(f"OpenSSL has none of the groups {groups.decode('ascii', 'replace')}")
    return b":".join(known)


def offer_groups(context: SSL.Context, groups: bytes) -> None:
    """Have a client offer *groups*, with a key for the first one and for the first that all servers know.

    A server that lacks the first one would have to ask for another key otherwise, which takes a round trip.
    """
    known = known_groups(groups).split(b":")
    first_usual = [group for group in known if b"MLKEM" not in group][:1]
    with_keys = {known[0], *first_usual}
    try:
        restrict_groups(context, b":".join(b"*" + one if one in with_keys else one for one in known))
    except ValueError:
        # Before OpenSSL 3.5 there is one key, that of the first.
        restrict_groups(context, b":".join(known))


def suits_http_2(suite: str) -> bool:
    """Whether HTTP/2 may be spoken with *suite* of TLS 1.2: ephemeral keys and authenticated encryption.

    RFC 9113 section 9.2.2 lets peers treat the suites of its appendix A, which have not both, as an error.
    OpenSSL does not tell which one it has chosen when the protocol is agreed on; so one that
    does not suit keeps HTTP/2 out of all handshakes of TLS 1.2 that could choose it.
    """
    return suite.startswith("ECDHE-") and any(mode in suite for mode in ("-GCM-", "-CCM", "-CHACHA20-"))


def _without_http_2(protocols: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return tuple(protocol for protocol in protocols if protocol != HTTP_2)
