"""Key pairs: from the content of a Secret to a certificate that can be shown, or the reason why not.

Pure: no files, no sockets, no clock of its own, no OpenSSL context.  Key
material appears in no repr and in no message.  Importing this takes a fifth of the start of a command that meets no
Secret: who can do without it until there is one imports it then.
"""

import re
from datetime import UTC, datetime

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.oid import NameOID

from ingress.identity.certificates import (
    CHAIN_KEY,
    PRIVATE_KEY_KEY,
    TLS_SECRET_TYPE,
    Certificate,
    CertificateError,
)
from ingress.model.cluster.objects import Secret
from ingress.wording import number_of

# ingress-nginx also takes untyped Secrets that hold both keys.
ACCEPTED_SECRET_TYPES = (TLS_SECRET_TYPE, "Opaque", "")

# What OpenSSL's security level 2, its default, requests of every certificate it
# sends: 112 bits of security, so RSA from 2048 bits and no SHA-1 signature.
_LEAST_RSA_BITS = 2048
_LEAST_EC_BITS = 224
# A signature of 4096 bits takes 1.7 ms and one of 8192 bits 29; nothing else is served
# meanwhile.  A large public exponent makes it slower, too: each signature is checked.
_MOST_RSA_BITS = 4096
_MOST_EXPONENT_BITS = 256
# TLS 1.3 has signatures for these alone (RFC 8446 section 4.2.3); with any other no handshake succeeds.
_CURVES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}
# OpenSSL's clients refuse a longer chain, and each handshake sends all of it.
_MOST_CHAIN_BYTES = 100 * 1024
# Each takes some time whenever a context is built, and there is no chain of more than a few.
_MOST_CHAIN = 32
_WEAK_HASHES = (hashes.MD5, hashes.SHA1)

_ServingKey = (
    rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey
)

_BLOCK_BEGINS = b"-----BEGIN "
_CERTIFICATE_BEGINS = (b"-----BEGIN CERTIFICATE-----", b"-----BEGIN X509 CERTIFICATE-----")
# A key file may begin with "EC PARAMETERS" or with comments; only what this begins counts.
_PRIVATE_KEY_BEGINS = re.compile(rb"-----BEGIN ([A-Z0-9 ]{0,32}PRIVATE KEY)-----")
# PKCS #8 in PEM has 3,300 characters with an RSA key of 4096 bits.
_MOST_KEY_CHARACTERS = 32 * 1024


# What cryptography raises for a certificate that is damaged, often only when the
# damaged part is looked at.
DAMAGED = (
    ValueError,
    UnsupportedAlgorithm,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
    # A name of a type that there is none of, before cryptography 48.
    KeyError,
)


def load_certificate(secret: Secret) -> Certificate:
    """Read and check the key pair of *secret*; raise ``CertificateError`` if it cannot serve.

    The time has no say: a certificate that has ended, or has not begun, is taken as it is.  Who
    shows one tells so (``Certificate.is_valid_at``), and clients decide what they make of it.
    """
    if secret.type not in ACCEPTED_SECRET_TYPES:
        raise CertificateError(f"the Secret's type is {secret.type!r}, not {TLS_SECRET_TYPE!r}")
    chain = _chain(_content(secret, CHAIN_KEY))
    key = _private_key(_content(secret, PRIVATE_KEY_KEY))
    leaf = chain[0]
    _check_match(chain, key)
    for number, certificate in enumerate(chain, 1):
        _check_strength(number, certificate)
    not_before, not_after = _times(leaf)
    return Certificate(
        secret=secret.key,
        chain_pem=b"".join(one.public_bytes(serialization.Encoding.PEM) for one in chain),
        key_pem=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
        names=_names(leaf),
        not_before=not_before,
        not_after=not_after,
        fingerprint=leaf.fingerprint(hashes.SHA256()).hex(),
        key_type=_key_type(key),
    )


def _content(secret: Secret, name: str) -> bytes:
    content = secret.content.get(name)
    if not content:
        raise CertificateError(f"{name}: missing from the Secret" if content is None else f"{name}: empty")
    return content


def _chain(pem: bytes) -> list[x509.Certificate]:
    check_count(CHAIN_KEY, pem, _MOST_CHAIN)
    try:
        chain = x509.load_pem_x509_certificates(pem)
        size = sum(len(one.public_bytes(serialization.Encoding.DER)) for one in chain)
    except DAMAGED:
        raise CertificateError(f"{CHAIN_KEY}: no PEM certificates, or one that cannot be read") from None
    check_whole(CHAIN_KEY, pem, len(chain))
    if size > _MOST_CHAIN_BYTES:
        raise CertificateError(
            f"{CHAIN_KEY}: the {number_of(len(chain), 'certificate has', 'certificates have')} {size} bytes, more than clients take ({_MOST_CHAIN_BYTES})"
        )
    return chain


def check_count(name: str, pem: bytes, most: int) -> None:
    """Raise ``CertificateError`` if the content *pem* of the key *name* has more than *most* blocks; looks at none of them."""
    count = pem.count(_BLOCK_BEGINS)
    if count > most:
        raise CertificateError(f"{name}: {count} certificates, more than {most}")


def check_whole(name: str, pem: bytes, found: int) -> None:
    """Raise ``CertificateError`` if more certificates begin in *pem* than were *found*: the parser passes over one that is cut off."""
    begun = sum(map(pem.count, _CERTIFICATE_BEGINS))
    if begun > found:
        raise CertificateError(f"{name}: {begun} certificates begin, and only {found} end")


def _private_key(pem: bytes) -> _ServingKey:
    # Nothing of the parser's message is passed on: it saw the key.
    block = _key_block(pem)
    if block is None:
        raise CertificateError(f"{PRIVATE_KEY_KEY}: no PEM private key")
    if len(block) > _MOST_KEY_CHARACTERS:
        raise CertificateError(f"{PRIVATE_KEY_KEY}: the private key is too large")
    try:
        # Proving the primes of an RSA key takes 35 ms; _check_rsa_key does the rest.
        key = serialization.load_pem_private_key(block, password=None, unsafe_skip_rsa_key_validation=True)
    except TypeError:
        raise CertificateError(f"{PRIVATE_KEY_KEY}: the private key is encrypted") from None
    except (ValueError, UnsupportedAlgorithm):
        raise CertificateError(f"{PRIVATE_KEY_KEY}: the private key cannot be read") from None
    if not isinstance(key, _ServingKey):
        raise CertificateError(f"{PRIVATE_KEY_KEY}: a key of this kind cannot serve TLS; use RSA or ECDSA")
    if isinstance(key, rsa.RSAPrivateKey):
        _check_rsa_key(key)
    elif isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.name not in _CURVES:
        curves = ", ".join(_CURVES.values())
        raise CertificateError(
            f"{PRIVATE_KEY_KEY}: a key on the curve {key.curve.name}, which TLS does not use; use one of {curves}"
        )
    return key


def _key_block(pem: bytes) -> bytes | None:
    """Return the first private key in *pem*, with the lines around it; takes time by its length and no more."""
    begin = _PRIVATE_KEY_BEGINS.search(pem)
    if begin is None:
        return None
    end = b"-----END %b-----" % begin[1]
    at = pem.find(end, begin.end())
    return None if at < 0 else pem[begin.start() : at + len(end)]


def _key_type(key: _ServingKey) -> str:
    match key:
        case rsa.RSAPrivateKey():
            return "RSA"
        case ec.EllipticCurvePrivateKey():
            return "ECDSA"
        case ed25519.Ed25519PrivateKey():
            return "Ed25519"
        case ed448.Ed448PrivateKey():
            return "Ed448"


def _check_rsa_key(key: rsa.RSAPrivateKey) -> None:
    # Without this a key whose parts do not belong together would first fail,
    # or worse, leak its factors, when it signs.  That the factors are primes is
    # left to whoever made the key; if they are not, only its own hosts suffer.
    if key.key_size > _MOST_RSA_BITS:
        raise CertificateError(
            f"{PRIVATE_KEY_KEY}: an RSA key of {key.key_size} bits, more than {_MOST_RSA_BITS}"
        )
    parts = key.private_numbers()
    exponent_bits = parts.public_numbers.e.bit_length()
    if exponent_bits > _MOST_EXPONENT_BITS:
        raise CertificateError(
            f"{PRIVATE_KEY_KEY}: a public exponent of {exponent_bits} bits, more than {_MOST_EXPONENT_BITS}"
        )
    p, q, d = parts.p, parts.q, parts.d
    is_sound = (
        p > 2
        and q > 2
        and p * q == parts.public_numbers.n
        and p % 2 == q % 2 == 1
        and d * parts.public_numbers.e % (p - 1) == 1
        and d * parts.public_numbers.e % (q - 1) == 1
        and parts.dmp1 == d % (p - 1)
        and parts.dmq1 == d % (q - 1)
        and parts.iqmp * q % p == 1
    )
    if not is_sound:
        raise CertificateError(f"{PRIVATE_KEY_KEY}: the parts of the RSA key do not belong together")


def _check_match(chain: list[x509.Certificate], key: _ServingKey) -> None:
    wanted = _public_bytes(key.public_key())
    for number, certificate in enumerate(chain, 1):
        if _public_bytes(_public_key(number, certificate)) != wanted:
            continue
        if number > 1:
            raise CertificateError(
                f"{CHAIN_KEY}: {PRIVATE_KEY_KEY} belongs to certificate {number}; the leaf must come first"
            )
        return
    raise CertificateError(
        f"{PRIVATE_KEY_KEY}: the private key does not belong to the certificate in {CHAIN_KEY}"
    )


def _public_key(number: int, certificate: x509.Certificate) -> CertificatePublicKeyTypes:
    try:
        return certificate.public_key()
    except DAMAGED:
        raise CertificateError(
            f"{CHAIN_KEY}: the public key of certificate {number} cannot be read"
        ) from None


def _public_bytes(key: CertificatePublicKeyTypes) -> bytes:
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def _check_strength(number: int, certificate: x509.Certificate) -> None:
    key = _public_key(number, certificate)
    least = _LEAST_RSA_BITS if isinstance(key, rsa.RSAPublicKey) else _LEAST_EC_BITS
    if isinstance(key, rsa.RSAPublicKey | ec.EllipticCurvePublicKey) and key.key_size < least:
        raise CertificateError(
            f"{CHAIN_KEY}: certificate {number} has a key of {key.key_size} bits, fewer than {least}"
        )
    try:
        is_root = certificate.issuer == certificate.subject
        signature_hash = certificate.signature_hash_algorithm
    except DAMAGED:
        raise CertificateError(
            f"{CHAIN_KEY}: issuer, subject or signature of certificate {number} cannot be read"
        ) from None
    # A root's signature of itself proves nothing and is not looked at.
    if isinstance(signature_hash, _WEAK_HASHES) and not is_root:
        raise CertificateError(f"{CHAIN_KEY}: certificate {number} is signed with a broken hash")


def _names(leaf: x509.Certificate) -> tuple[str, ...]:
    try:
        names: list[str] = []
        try:
            extension = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
            names = extension.value.get_values_for_type(x509.DNSName)
        except x509.ExtensionNotFound:
            pass
        if not names:
            names = [str(one.value) for one in leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    except DAMAGED:
        raise CertificateError(f"{CHAIN_KEY}: the names of the certificate cannot be read") from None
    return tuple(dict.fromkeys(name.lower().removesuffix(".") for name in names))


def _times(leaf: x509.Certificate) -> tuple[datetime, datetime]:
    try:
        return leaf.not_valid_before_utc.astimezone(UTC), leaf.not_valid_after_utc.astimezone(UTC)
    except DAMAGED:
        # A year 0, which DER can say and no calendar here knows.
        raise CertificateError(f"{CHAIN_KEY}: the dates of the certificate cannot be read") from None
