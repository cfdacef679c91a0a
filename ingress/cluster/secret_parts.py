"""Whether a Secret that comes is as good as the one that it would replace, part by part.  Pure.

A Secret may hold a key pair, certificates to judge others by, and lists of revoked ones; each
is a part.  One that nobody asks for is not looked at, for it was not even read.
"""

from collections.abc import Callable
from datetime import datetime

from ingress.certificates import CHAIN_KEY, PRIVATE_KEY_KEY, CertificateError, load_certificate
from ingress.model.objects import Secret
from ingress.translate.client_authentication import CRL_KEY, load_revocations
from ingress.translate.trust import CA_KEY, load_authorities

_Check = Callable[[Secret, datetime], object]


def _load_authorities(secret: Secret, now: datetime) -> bytes:
    return load_authorities(secret)


def _load_revocations(secret: Secret, now: datetime) -> bytes:
    return load_revocations(secret)


_PARTS: tuple[tuple[frozenset[str], _Check], ...] = (
    (frozenset({CHAIN_KEY, PRIVATE_KEY_KEY}), load_certificate),
    (frozenset({CA_KEY}), _load_authorities),
)
# These may be absent, so they make no Secret good by themselves.
_REVOCATIONS: tuple[frozenset[str], _Check] = (frozenset({CRL_KEY}), _load_revocations)


def refusal(kept: Secret, coming: Secret, now: datetime) -> CertificateError | None:
    """Return why *coming* must not replace *kept*: a part of it cannot be used, and that of *kept* can."""
    for keys, check in (*_PARTS, _REVOCATIONS):
        if not keys <= coming.asked and keys.isdisjoint(coming.content):
            continue
        fault = _fault(check, coming, now)
        if fault is not None and _fault(check, kept, now) is None:
            return fault
    return None


def has_good_part(secret: Secret, now: datetime) -> bool:
    """Whether any part of *secret* can be used."""
    return any(_fault(check, secret, now) is None for _, check in _PARTS)


def _fault(check: _Check, secret: Secret, now: datetime) -> CertificateError | None:
    try:
        check(secret, now)
    except CertificateError as error:
        return error
    return None
