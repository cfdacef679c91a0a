"""Client certificates: what a TLS host asks of its visitors, and what a connection showed.

``ClientAuthentication`` is decided for a host by translation and enforced twice, by two
rooms that do not know each other: the handshake asks for the certificate and judges it,
and the filter of the host's routes lets no request pass that came over a connection with
other settings than its own.  A handshake with a bad certificate is not ended: as in nginx the
visitor gets an answer that says what is wrong.  Only that of a Gateway's listener is, as the Gateway API wants it.

CA certificates and revocation lists are public, but long; no repr shows them.
"""

from binascii import a2b_base64
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from attrs import field

from ingress.model.frozen import frozen

DEFAULT_DEPTH: Final = 1
"""How many certificates may stand between that of the visitor and the trusted one, as in ingress-nginx."""
MOST_DEPTH: Final = 16
"""No host may ask for more: whoever shows a chain has us check each signature of it."""
VERIFIED: Final = 0
"""OpenSSL's ``X509_V_OK``: the ``error`` of a certificate that was verified."""
UNKNOWN_ISSUER: Final = frozenset({2, 18, 19, 20, 21})
"""The errors which say that the issuer is not among the trusted ones, and nothing worse: no
issuer found (2, 20, 21), signed by itself (18), signed by a root that is not trusted (19)."""

LIST_BEGINS: Final = b"-----BEGIN X509 CRL-----"
LIST_ENDS: Final = b"-----END X509 CRL-----"
"""Around a revocation list in PEM (RFC 7468 section 7)."""
_LINE_ENDS: Final = b"\r\n"

_NO_LIST: Final = 3
"""The error which says that there is no revocation list of the issuer."""


class VerifyClient(StrEnum):
    """How much a host insists on a certificate; the first words are those of ``auth-tls-verify-client``."""

    REQUIRED = "on"
    """No request passes without a certificate that was verified."""
    OPTIONAL = "optional"
    """None is fine; one that is shown has to be verified."""
    OPTIONAL_NO_CA = "optional_no_ca"
    """None is fine, and so is one of an unknown issuer; upstream is told, and has to judge."""
    VALID_ONLY = "AllowValidOnly"
    """Of Gateways: no handshake succeeds without a certificate that was verified."""
    ANY = "AllowInsecureFallback"
    """Of Gateways: one is asked for, and none is fine, as is any other."""

    @property
    def ends_handshakes(self) -> bool:
        """Whether a handshake ends that brings no good certificate."""
        return self is VerifyClient.VALID_ONLY


@frozen(cache_hash=True)
class ClientAuthentication:
    """What the handshakes of a host ask for.  Equal settings, and no others, may stand in for each other.

    *ca_pem* holds at least one certificate, and all of them are trusted; *crl_pem* is empty or
    holds revocation lists, nothing but these, and then every certificate of a chain must have one.  Both were
    read once by whoever made the value.  *depth* is OpenSSL's verify depth.
    """

    source: str
    """Where CA certificates and revocation lists come from, in words: ``Secret shop/people``."""
    ca_pem: bytes = field(repr=False)
    crl_pem: bytes = field(default=b"", repr=False)
    mode: VerifyClient = VerifyClient.REQUIRED
    depth: int = DEFAULT_DEPTH


def octets_of_list(block: bytes) -> bytes:
    """Return the DER of *block*, a revocation list in PEM with nothing in it but its text; raises ``ValueError`` where there is more."""
    text = block.partition(LIST_BEGINS)[2].partition(LIST_ENDS)[0]
    return a2b_base64(text.translate(None, _LINE_ENDS), strict_mode=True)


def lists_of(authentication: ClientAuthentication) -> Iterator[bytes]:
    """Yield the revocation lists of *authentication* in DER."""
    for block in authentication.crl_pem.split(LIST_ENDS)[:-1]:
        yield octets_of_list(block)


@frozen
class ClientEvidence:
    """What a TLS connection proved about its visitor.

    *authentication* are the settings that its handshake had, None where it asked for nothing.
    *certificate* is the visitor's own in DER, empty where none was shown.  *error* is
    ``VERIFIED``, or else OpenSSL's number (``X509_V_ERR_...``) for what is wrong with the
    certificate, and *reason* says the same in words; neither means anything without one.
    Of several errors it is the gravest, see ``graver``.
    """

    authentication: ClientAuthentication | None = None
    certificate: bytes = field(default=b"", repr=False)
    error: int = VERIFIED
    reason: str = ""


NO_EVIDENCE: Final = ClientEvidence()
"""What a TLS connection proves that was asked for nothing."""


def lets_in(evidence: ClientEvidence) -> bool:
    """Whether a client with *evidence* may go on where nobody could tell it what is wrong: nothing of HTTP is spoken."""
    authentication = evidence.authentication
    if authentication is None:
        return True
    if not evidence.certificate:
        return authentication.mode is not VerifyClient.REQUIRED
    return evidence.error == VERIFIED or tolerates(authentication, evidence.error)


def tolerates(authentication: ClientAuthentication, error: int) -> bool:
    """Whether a certificate is good enough for *authentication* although OpenSSL found *error*."""
    return authentication.mode is VerifyClient.OPTIONAL_NO_CA and error in UNKNOWN_ISSUER


def graver(known: int, found: int) -> int:
    """Return which of two errors of one certificate to keep: that of its issuer hides no other.

    OpenSSL goes on after an error, and a certificate of an unknown issuer may be expired
    or revoked besides.  That there is no list of an issuer who is not known says nothing new.
    """
    if known == VERIFIED:
        return found
    return found if known in UNKNOWN_ISSUER and found not in (VERIFIED, _NO_LIST) else known
