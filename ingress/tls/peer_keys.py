"""Which keys of other people's certificates are used to check a signature: those that take no time.

A visitor, or an endpoint, may show any key.  With an RSA key of 16384 bits and a large exponent one check takes
4.5 ms, with a DSA key of 10000 bits more, and a chain has up to 17 of them; nothing else is
served meanwhile.  With the keys that are taken here, it is half a millisecond at most.
"""

from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from OpenSSL import crypto

MOST_RSA_BITS: Final = 8192
MOST_EXPONENT_BITS: Final = 32
"""Nearly all keys have the exponent 65537, which has 17."""
MOST_CURVE_BITS: Final = 521


def is_taken(certificate: crypto.X509) -> bool:
    """Whether a signature is checked by the key of *certificate*."""
    try:
        key = certificate.get_pubkey().to_cryptography_key()
    except (crypto.Error, ValueError, UnsupportedAlgorithm):
        return False
    if isinstance(key, rsa.RSAPublicKey):
        return key.key_size <= MOST_RSA_BITS and key.public_numbers().e.bit_length() <= MOST_EXPONENT_BITS
    if isinstance(key, ec.EllipticCurvePublicKey):
        return key.key_size <= MOST_CURVE_BITS
    return isinstance(key, ed25519.Ed25519PublicKey | ed448.Ed448PublicKey)
