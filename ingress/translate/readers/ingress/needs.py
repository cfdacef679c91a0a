"""Which Secrets and ConfigMaps an Ingress refers to, and which of their keys each reference needs.

This is asked before any of them is read: what nobody refers to is not kept.  What annotations name is for their
families to say (``Family.references``).
"""

from typing import Final

from ingress.annotations.annotations import AnnotationReader, AnnotationSettings
from ingress.annotations.client_certificates.family import (
    CLIENT_CERTIFICATES,
    SECRET_ANNOTATION,
    secret_asked,
)
from ingress.annotations.upstream import canaries
from ingress.annotations.upstream.backend_protocols import UPSTREAMS
from ingress.annotations.upstream.canaries import CANARIES
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.secrets import (
    CLIENT_AUTHENTICATION_KEYS,
    TLS_KEYS,
    UPSTREAM_TLS_KEYS,
    Needs,
    is_secret_name,
)
from ingress.model.stepwise import Stepwise, finished
from ingress.translate.protocols import read_protocols
from ingress.translate.readers.ingress.objects import Ingress

_NAMING: Final = (SECRET_ANNOTATION, "proxy-ssl-secret", canaries.ANNOTATION)


NAMES_AT_ONCE: Final = 50
"""Entries of ``tls`` that are looked at in a step."""


def needs_of(ingress: Ingress, kind: Kind, annotations: AnnotationReader) -> Needs:
    """Return the objects of *kind* that *ingress* refers to, should it be ours; those of its own namespace only.

    A name that no object can have is left out; translation reports it.
    """
    return finished(needing(ingress, kind, annotations))


def may_need(ingress: Ingress, kind: Kind, annotations: AnnotationReader) -> bool:
    """Whether *ingress* has what may name an object of *kind*; no annotation is read for that."""
    return (kind is Kind.SECRET and bool(ingress.tls)) or _may_name(ingress, annotations)


def needing(ingress: Ingress, kind: Kind, annotations: AnnotationReader) -> Stepwise[Needs]:
    """Return what ``needs_of`` does, in steps: some entries of ``tls``, or some annotations, which take as long."""
    if not _may_name(ingress, annotations):
        return (yield from _of_tls(ingress, kind))
    settings, _ = yield from annotations.reading(ingress, tells_unknown=False)
    yield
    if settings.of(CANARIES).is_canary:
        # It claims nothing.
        return {}
    needs = yield from _of_tls(ingress, kind)
    if kind is Kind.SECRET:
        for secret, keys in _of_tls_settings(ingress, settings, annotations):
            needs[secret] = needs.get(secret, frozenset()) | keys
    for reference in annotations.references(settings, ingress.key):
        if reference.kind is kind and reference.is_in_reach(ingress.key):
            needs[reference.key] = needs.get(reference.key, frozenset()) | reference.keys
    return needs


def _may_name(ingress: Ingress, annotations: AnnotationReader) -> bool:
    """Whether any annotation of *ingress* may name an object, or make it a canary."""
    if not ingress.annotations:
        return False
    return annotations.names_objects(ingress.annotations) or any(
        annotations.full_name(name) in ingress.annotations for name in _NAMING
    )


def _of_tls(ingress: Ingress, kind: Kind) -> Stepwise[dict[ObjectKey, frozenset[str]]]:
    needs: dict[ObjectKey, frozenset[str]] = {}
    for number, entry in enumerate(ingress.tls if kind is Kind.SECRET else (), 1):
        if not number % NAMES_AT_ONCE:
            yield
        if is_secret_name(entry.secret_name):
            needs[ObjectKey(ingress.key.namespace, entry.secret_name)] = TLS_KEYS
    return needs


def _of_tls_settings(
    ingress: Ingress, settings: AnnotationSettings, annotations: AnnotationReader
) -> list[tuple[ObjectKey, frozenset[str]]]:
    """Return the Secrets of TLS to endpoints and of client certificates."""
    upstream = read_protocols(ingress.owner, settings.of(UPSTREAMS), annotations).secret
    clients = secret_asked(ingress.key, settings.of(CLIENT_CERTIFICATES))
    found = ((upstream, UPSTREAM_TLS_KEYS), (clients, CLIENT_AUTHENTICATION_KEYS))
    return [(secret, keys) for secret, keys in found if secret is not None]
