"""The handshake terms of one host: what the Ingresses that name it ask for.

A handshake is begun for a host and not for a path, so each setting has one value for the
whole host: that of the oldest Ingress which says anything about it, as in ingress-nginx, of those
of the namespace that the host belongs to (``ingress.translate.ownership``).
"""

from collections.abc import Sequence

from attrs import evolve

from ingress.model.client_authentication import ClientAuthentication
from ingress.model.objects import ObjectKey
from ingress.model.problems import Problem
from ingress.policy.annotations import AnnotationReader
from ingress.policy.ciphers import CIPHERS, CipherSettings
from ingress.server_names import PLAIN_TERMS, HandshakeTerms
from ingress.translate.ownership import is_stranger, told
from ingress.translate.rules import IngressReading


def host_terms(
    readings: Sequence[IngressReading],
    authentication: ClientAuthentication | None = None,
    owner: ObjectKey | None = None,
) -> HandshakeTerms:
    """Return the terms of a host; *readings* are those that have a say about it, sorted oldest first.

    *authentication* is what was decided about client certificates, which needs more than readings;
    *owner* to whom the host belongs, None where all may speak for it.
    """
    suites: tuple[str, ...] = ()
    prefers_server: bool | None = None
    for reading in readings:
        if is_stranger(reading.ingress, owner):
            continue
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


def terms_problems(
    host: str, readings: Sequence[IngressReading], owner: ObjectKey | None, annotations: AnnotationReader
) -> tuple[Problem, ...]:
    """Tell those of *readings* that ask in vain for terms of *host*, since it belongs to another namespace."""
    if owner is None or len(readings) < 2:
        return ()
    problems: list[Problem] = []
    for reading in readings:
        if reading.settings.ciphers == _NOTHING or not is_stranger(reading.ingress, owner):
            continue
        for name, annotation in CIPHERS.annotations.items():
            if getattr(reading.settings.ciphers, annotation.setting) != getattr(_NOTHING, annotation.setting):
                what = f"{name} of other namespaces has no effect there"
                problems.append(told(reading.ingress, annotations.field(name), what, host, owner))
    return tuple(problems)


_NOTHING = CipherSettings()
