"""Whether a Secret that comes is as good as the one that it would replace, part by part.  Pure.

A Secret may hold a key pair, certificates to judge others by, and lists of revoked ones; each
is a part.  One that nobody asks for is not looked at, for it was not even read.  The time has no say,
for replicas look at different times and must come to the same: an expired certificate is a good one here.
"""

from collections.abc import Callable

from ingress.identity.certificates import CHAIN_KEY, PRIVATE_KEY_KEY, CertificateError
from ingress.model.cluster.objects import Secret
from ingress.translate.tls.authorities import CA_KEY, load_authorities
from ingress.translate.tls.client_authentication import CRL_KEY, load_revocations

_Check = Callable[[Secret], object]


def _key_pair(secret: Secret) -> object:
    from ingress.identity.key_pairs import load_certificate

    return load_certificate(secret)


_PARTS: tuple[tuple[frozenset[str], _Check], ...] = (
    (frozenset({CHAIN_KEY, PRIVATE_KEY_KEY}), _key_pair),
    (frozenset({CA_KEY}), load_authorities),
)
# These may be absent, so they make no Secret good by themselves.
_REVOCATIONS: tuple[frozenset[str], _Check] = (frozenset({CRL_KEY}), load_revocations)


def refusal(kept: Secret, coming: Secret) -> CertificateError | None:
    """Return why *coming* must not replace *kept*: a part of it cannot be used, and that of *kept* can."""
    for keys, check in (*_PARTS, _REVOCATIONS):
        if not keys <= coming.asked and keys.isdisjoint(coming.content):
            continue
        fault = _fault(check, coming)
        if fault is not None and _fault(check, kept) is None:
            return fault
    return None


def has_good_part(secret: Secret) -> bool:
    """Whether any part of *secret* can be used."""
    return any(_fault(check, secret) is None for _, check in _PARTS)


def _fault(check: _Check, secret: Secret) -> CertificateError | None:
    try:
        check(secret)
    except CertificateError as error:
        return error
    return None
