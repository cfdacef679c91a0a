"""The handshake settings of one host: what the Ingresses that name it ask for.

A handshake is begun for a host and not for a path, so each setting has one value for the
whole host: that of the oldest Ingress which says anything about it, as in ingress-nginx, of those
of the namespace that the host belongs to (``ingress.translate.ownership``).
"""

from collections.abc import Sequence

from ingress.annotations.annotations import AnnotationReader
from ingress.annotations.hosts.ciphers import CIPHERS
from ingress.identity.server_names import PLAIN_HANDSHAKE, HandshakeSettings
from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Problem
from ingress.model.requests.client_authentication import ClientAuthentication
from ingress.translate.claims import ParsedObject
from ingress.translate.ownership import is_stranger, told


def host_handshake_settings(
    all_parsed: Sequence[ParsedObject],
    authentication: ClientAuthentication | None = None,
    owner: Owner | None = None,
    usual: tuple[str, ...] = (),
) -> HandshakeSettings:
    """Return the settings of a host; *all_parsed* are those that have a say about it, sorted oldest first.

    *authentication* is what was decided about client certificates, which needs more than readings;
    *owner* to whom the host belongs, None where all may speak for it; *usual* are the operator's suites.
    """
    suites = usual
    for parsed in all_parsed:
        said = parsed.settings.of(CIPHERS).chosen.kept
        if said and not is_stranger(parsed.owner, owner):
            suites = said
            break
    if not suites and authentication is None:
        return PLAIN_HANDSHAKE
    return HandshakeSettings(suites, authentication)


def handshake_settings_problems(
    host: str, all_parsed: Sequence[ParsedObject], owner: Owner | None, annotations: AnnotationReader
) -> tuple[Problem, ...]:
    """Tell those of *all_parsed* that ask in vain for settings of *host*, since it belongs to another namespace."""
    if owner is None or len(all_parsed) < 2:
        return ()
    field, what = annotations.field("ssl-ciphers"), "ssl-ciphers of other namespaces has no effect there"
    return tuple(
        told(parsed.owner, field, what, host, owner)
        for parsed in all_parsed
        if parsed.settings.of(CIPHERS).chosen.kept and is_stranger(parsed.owner, owner)
    )
