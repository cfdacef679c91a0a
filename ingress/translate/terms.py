"""The handshake terms of one host: what the Ingresses that name it ask for.

A handshake is begun for a host and not for a path, so each setting has one value for the
whole host: that of the oldest Ingress which says anything about it, as in ingress-nginx.
"""

from collections.abc import Sequence

from attrs import evolve

from ingress.model.client_authentication import ClientAuthentication
from ingress.server_names import PLAIN_TERMS, HandshakeTerms
from ingress.translate.rules import IngressReading


def host_terms(
    readings: Sequence[IngressReading], authentication: ClientAuthentication | None = None
) -> HandshakeTerms:
    """Return the terms of a host; *readings* are those that have a say about it, sorted oldest first.

    *authentication* is what was decided about client certificates, which needs more than readings.
    """
    suites: tuple[str, ...] = ()
    prefers_server: bool | None = None
    for reading in readings:
        ciphers = reading.settings.ciphers
        suites = suites or ciphers.suites
        if prefers_server is None:
            prefers_server = ciphers.prefers_server
    if not suites and not prefers_server and authentication is None:
        return PLAIN_TERMS
    return evolve(
        PLAIN_TERMS,
        ciphers=suites,
        prefers_server_ciphers=bool(prefers_server),
        client_authentication=authentication,
    )
