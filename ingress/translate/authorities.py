"""Authorities out of several Secrets and ConfigMaps, as Gateways and BackendTLSPolicies name them.  Pure."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from ingress.identity.certificates import CertificateError
from ingress.model.objects import ConfigMap, Kind, ObjectId, ObjectKey, Secret
from ingress.model.state import ClusterState
from ingress.translate.absent_secrets import FORBIDDEN, forbidden_by
from ingress.translate.trust import MOST_AUTHORITIES, load_authorities

_PEM_BEGINS: Final = b"-----BEGIN "


class Joined(NamedTuple):
    """The authorities of several objects."""

    pem: bytes
    """Of all that can be used; empty for none."""
    used: tuple[ObjectId, ...]
    faults: dict[ObjectId, str]
    """What is wrong with the others."""


def join_authorities(named: Iterable[ObjectId], state: ClusterState) -> Joined:
    """Return the authorities in the Secrets and ConfigMaps *named*, as far as they can be used, up to a bound."""
    pem: list[bytes] = []
    used: list[ObjectId] = []
    faults: dict[ObjectId, str] = {}
    count = 0
    for one in dict.fromkeys(named):
        kind, key = one
        try:
            content = _authorities_in(kind, key, state)
        except CertificateError as error:
            faults[one] = f"{kind} {key}: {error.message}"
            continue
        count += content.count(_PEM_BEGINS)
        if count > MOST_AUTHORITIES:
            faults[one] = f"{kind} {key}: brings more than {MOST_AUTHORITIES} certificates, with those before"
            continue
        pem.append(content)
        used.append(one)
    return Joined(b"".join(pem), tuple(used), faults)


def _authorities_in(kind: Kind, key: ObjectKey, state: ClusterState) -> bytes:
    source = state.secrets.get(key) if kind is Kind.SECRET else state.of(kind).get(key)
    if not isinstance(source, Secret | ConfigMap):
        raise CertificateError(FORBIDDEN if forbidden_by(state, kind, key) else f"there is no such {kind}")
    return load_authorities(source)
