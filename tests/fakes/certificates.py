"""
Throw-away certificates for tests: an authority, and what it issues.

Everything is made in memory when it is asked for; nothing here touches the
disk, and nothing here may be used outside tests.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from math import gcd
from typing import Literal, TypeAlias

from attrs import field, frozen
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

KeyType: TypeAlias = Literal["ec", "rsa", "ed25519"]
PrivateKey: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey

#: An authority lives this long unless told otherwise; longer than any test.
DEFAULT_LIFETIME = timedelta(days=30)

#: Certificates start a little in the past, so that skewed clocks do no harm.
DEFAULT_BACKDATE = timedelta(hours=1)


@frozen
class Authority:
    """
    A certificate authority: its certificate, its key, and its own issuers.

    ``parents`` is empty for a root. For an intermediate it holds the
    intermediates above it, nearest first, without the root.
    """

    certificate: x509.Certificate
    key: PrivateKey = field(repr=False)
    parents: tuple[x509.Certificate, ...] = ()
    is_root: bool = True

    @property
    def pem(self) -> bytes:
        """The authority's own certificate as PEM: what a peer has to trust."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)


def make_key(key_type: KeyType = "ec") -> PrivateKey:
    """Make a private key: P-256, RSA of 2048 bits, or Ed25519."""
    if key_type == "ec":
        return ec.generate_private_key(ec.SECP256R1())
    if key_type == "rsa":
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    if key_type == "ed25519":
        return ed25519.Ed25519PrivateKey.generate()
    raise ValueError(f"no such key type: {key_type!r}")


def make_rsa_key(exponent_bits: int) -> rsa.RSAPrivateKey:
    """Make an RSA key of 2048 bits with a public exponent of so many bits."""
    made = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_numbers()
    p, q = made.p, made.q
    e = (1 << exponent_bits - 1) | 1
    while gcd(e, (p - 1) * (q - 1)) != 1:
        e += 2
    d = pow(e, -1, (p - 1) * (q - 1))
    public = rsa.RSAPublicNumbers(e, p * q)
    return rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), made.iqmp, public).private_key()


def key_as_pem(key: PrivateKey) -> bytes:
    """Write a private key as unencrypted PKCS #8 PEM."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def make_authority(
    name: str = "Test Authority",
    *,
    parent: Authority | None = None,
    key_type: KeyType = "ec",
    not_before: datetime | None = None,
    not_after: datetime | None = None,
    key: PrivateKey | None = None,
) -> Authority:
    """Make a root authority, or an intermediate when ``parent`` is given; with *key*, if that is given."""
    key = make_key(key_type) if key is None else key
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = _started(subject, key, subject if parent is None else parent.certificate.subject)
    builder = _dated(builder, not_before, not_after)
    builder = (
        builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if parent is None:
        return Authority(_signed(builder, key), key)
    builder = builder.add_extension(_issued_by(parent), critical=False)
    parents = () if parent.is_root else (parent.certificate, *parent.parents)
    return Authority(_signed(builder, parent.key), key, parents, is_root=False)


def issue(
    authority: Authority,
    names: Iterable[str | x509.GeneralName],
    key_type: KeyType = "ec",
    not_before: datetime | None = None,
    not_after: datetime | None = None,
    *,
    key: PrivateKey | None = None,
    common_name: str | None = None,
    is_client: bool = False,
) -> tuple[bytes, bytes]:
    """
    Issue a certificate for a server, or a client, and return ``(chain_pem, key_pem)``.

    ``names`` become subject alternative names; IP addresses and URIs among the texts are recognized.
    With no names there is no such extension at all. The common name is empty
    unless given. The chain is the leaf and the intermediates, without the
    root. Give ``key`` to reuse a key.
    """
    key = make_key(key_type) if key is None else key
    usage = ExtendedKeyUsageOID.CLIENT_AUTH if is_client else ExtendedKeyUsageOID.SERVER_AUTH
    attributes = [] if common_name is None else [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    builder = _started(x509.Name(attributes), key, authority.certificate.subject)
    builder = _dated(builder, not_before, not_after)
    builder = (
        builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(_issued_by(authority), critical=False)
    )
    alternatives = [_alternative(name) for name in names]
    if alternatives:
        # RFC 5280 section 4.2.1.6: the extension is critical when the subject is empty.
        builder = builder.add_extension(
            x509.SubjectAlternativeName(alternatives), critical=common_name is None
        )
    chain = [_signed(builder, authority.key)]
    if not authority.is_root:
        chain += [authority.certificate, *authority.parents]
    pem = b"".join(one.public_bytes(serialization.Encoding.PEM) for one in chain)
    return pem, key_as_pem(key)


def _started(subject: x509.Name, key: PrivateKey, issuer: x509.Name) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
    )


def _dated(
    builder: x509.CertificateBuilder, not_before: datetime | None, not_after: datetime | None
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    # An expired certificate is asked for by its end alone, so the start moves with it.
    if not_before is None:
        not_before = min(now, not_after or now) - DEFAULT_BACKDATE
    if not_after is None:
        not_after = max(now, not_before) + DEFAULT_LIFETIME
    return builder.not_valid_before(not_before).not_valid_after(not_after)


def _signed(builder: x509.CertificateBuilder, key: PrivateKey) -> x509.Certificate:
    return builder.sign(key, None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256())


def _alternative(name: str | x509.GeneralName) -> x509.GeneralName:
    if isinstance(name, x509.GeneralName):
        return name
    if ":" in name and "/" in name:
        return x509.UniformResourceIdentifier(name)
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _issued_by(authority: Authority) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def revoke(authority: Authority, *chains: bytes, until: datetime | None = None) -> bytes:
    """Sign a revocation list, as PEM, that has the first certificate of each of these PEM chains."""
    now = datetime.now(UTC)
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(authority.certificate.subject)
        .last_update(now - DEFAULT_BACKDATE)
        .next_update(until or now + DEFAULT_LIFETIME)
    )
    for chain in chains:
        revoked = x509.RevokedCertificateBuilder(
            serial_number=x509.load_pem_x509_certificate(chain).serial_number, revocation_date=now
        ).build()
        builder = builder.add_revoked_certificate(revoked)
    return builder.sign(authority.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
