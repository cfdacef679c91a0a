"""Which Secrets an Ingress refers to, and which of their keys each reference needs.

This is asked before any Secret is read: what nobody refers to is not kept.  A new sort of
reference is a line in ``secret_needs``.
"""

from functools import lru_cache

from ingress.annotations import canaries
from ingress.annotations.annotations import AnnotationReader
from ingress.annotations.canaries import CANARIES
from ingress.annotations.client_certificates import CLIENT_CERTIFICATES, SECRET_ANNOTATION, secret_asked
from ingress.annotations.upstreams import UPSTREAMS
from ingress.model.objects import ObjectKey
from ingress.model.secrets import (
    CLIENT_AUTHENTICATION_KEYS,
    TLS_KEYS,
    UPSTREAM_TLS_KEYS,
    SecretNeeds,
    is_secret_name,
)
from ingress.translate.options import TranslateOptions
from ingress.translate.protocols import read_protocols
from ingress.translate.readers.ingress.objects import Ingress

_annotations_below = lru_cache(maxsize=8)(AnnotationReader)


def secret_needs(ingress: Ingress, options: TranslateOptions) -> SecretNeeds:
    """The Secrets that *ingress* refers to, should it be ours; those of its own namespace only.

    A name that no Secret can have is left out; translation reports it.
    """
    if not ingress.tls and not ingress.annotations:
        return {}
    if _is_canary(ingress, options.annotations_prefix):
        return {}
    needs: dict[ObjectKey, frozenset[str]] = {}
    for entry in ingress.tls:
        if is_secret_name(entry.secret_name):
            needs[ObjectKey(ingress.key.namespace, entry.secret_name)] = TLS_KEYS
    upstream = _upstream_secret(ingress, options.annotations_prefix)
    if upstream is not None:
        needs[upstream] = needs.get(upstream, frozenset()) | UPSTREAM_TLS_KEYS
    clients = _client_secret(ingress, options.annotations_prefix)
    if clients is not None:
        needs[clients] = needs.get(clients, frozenset()) | CLIENT_AUTHENTICATION_KEYS
    return needs


def _is_canary(ingress: Ingress, prefix: str) -> bool:
    """Say whether *ingress* is a canary by the annotation below *prefix*, and so claims nothing."""
    if f"{prefix}/{canaries.ANNOTATION}" not in ingress.annotations:
        return False
    settings, _ = _annotations_below(prefix).read(ingress)
    return settings.of(CANARIES).is_canary


def _upstream_secret(ingress: Ingress, prefix: str) -> ObjectKey | None:
    if f"{prefix}/proxy-ssl-secret" not in ingress.annotations:
        return None
    annotations = _annotations_below(prefix)
    settings, _ = annotations.read(ingress)
    return read_protocols(ingress.owner, settings.of(UPSTREAMS), annotations).secret


def _client_secret(ingress: Ingress, prefix: str) -> ObjectKey | None:
    if f"{prefix}/{SECRET_ANNOTATION}" not in ingress.annotations:
        return None
    settings, _ = _annotations_below(prefix).read(ingress)
    return secret_asked(ingress.key, settings.of(CLIENT_CERTIFICATES))
