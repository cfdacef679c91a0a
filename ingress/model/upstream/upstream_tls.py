"""What an upstream connection must be beyond TCP: the protocol asked for, and TLS in all its settings.

An Ingress asks by annotations; what it asks for stands in the ``BackendReference`` that its
routes name: None where it says nothing, a ``ProtocolAsked``, or a ``ProtocolRefused``.  Of routes of Gateways that is
``ByPolicy``: BackendTLSPolicies ask, which are found when the endpoints are.  Translation
adds what the Service says of its port, and what the Secret holds, which makes ``LinkSettings``.
These stand in each ``Endpoint``, so connections, sessions and balancers of different settings never
meet: they have different keys.

Key material shows in no repr.
"""

from collections.abc import Iterator
from enum import IntEnum, StrEnum
from typing import Final, NamedTuple

from attrs import field

from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey
from ingress.model.frozen import frozen

DEFAULT_DEPTH: Final = 1
"""Intermediate certificates between that of an endpoint and the trusted one, as in ingress-nginx."""


class TlsVersion(IntEnum):
    """The versions of TLS that are spoken, by their number in the protocol."""

    TLS_1_2 = 0x0303
    TLS_1_3 = 0x0304


class PeerNameType(StrEnum):
    """What a subject alternative name is."""

    HOSTNAME = "Hostname"
    URI = "URI"


class PeerName(NamedTuple):
    """Whom a certificate may be for: a DNS name, or a URI such as a SPIFFE identity."""

    type: PeerNameType
    value: str

    def __str__(self) -> str:
        return self.value


@frozen(cache_hash=True)
class TlsSettings:
    """The part of the settings that annotations and policies decide by themselves."""

    verify: bool = False
    """Whether the certificate of an endpoint must be trusted, and be for its name."""
    depth: int = DEFAULT_DEPTH
    """OpenSSL's verify depth: how many intermediate certificates may stand in between."""
    name: str = ""
    """The DNS name or IP address that the certificate must be for; empty: that of the endpoint itself."""
    send_name: bool | None = None
    """Whether the name goes into the handshake (SNI); None: only where the endpoint is an external name."""
    versions: tuple[TlsVersion, ...] = (TlsVersion.TLS_1_2, TlsVersion.TLS_1_3)
    """Sorted, at least one."""
    ciphers: str = ""
    """OpenSSL's list for TLS 1.2; empty: our own."""
    peer_names: tuple[PeerName, ...] = ()
    """Whom the certificate must be for, any of these, and not for *name*; none: for that."""


@frozen(cache_hash=True)
class UpstreamTlsRequest:
    """What is asked of the TLS to backends: *tls_settings*, and the objects that complete them."""

    tls_settings: TlsSettings = TlsSettings()
    secret: ObjectKey | None = None
    """Of an Ingress: what we show, and whom we trust.  Of a policy: what we show, since its Gateway says so."""
    authorities: tuple[ObjectId, ...] | None = None
    """Of a policy: the Secrets and ConfigMaps with those whom we trust; none at all stand for those that this system trusts.
    None: they are in *secret*."""

    @property
    def sources(self) -> tuple[ObjectId, ...]:
        """The Secrets and ConfigMaps that complete it."""
        secret = () if self.secret is None else ((Kind.SECRET, self.secret),)
        return (*secret, *(self.authorities or ()))

    def in_words(self) -> Iterator[str]:
        """Say what is asked beyond mere TLS, part by part."""
        if self.tls_settings.verify:
            yield f"verified as {self.tls_settings.name}" if self.tls_settings.name else "verified"
        if self.secret is not None:
            yield f"with Secret {self.secret}"


@frozen(cache_hash=True)
class ProtocolAsked:
    """The protocol that an Ingress asks for, whatever the Service says of its port."""

    tls: UpstreamTlsRequest | None = None
    """None: in the clear."""
    is_http2: bool = False
    is_fastcgi: bool = False

    def __str__(self) -> str:
        """Return the word of ``backend-protocol`` for it, and what is asked of TLS."""
        if self.is_fastcgi:
            return "FCGI"
        word = "GRPC" if self.is_http2 else "HTTP"
        return word if self.tls is None else ", ".join((f"{word}S", *self.tls.in_words()))


@frozen(cache_hash=True)
class ProtocolRefused:
    """Stands for a protocol that is asked for and cannot be had: requests are answered 503."""

    why: str

    def __str__(self) -> str:
        return "no protocol"


@frozen(cache_hash=True)
class ByPolicy:
    """Over TLS if a BackendTLSPolicy of the Service asks for that, and else as the Service says of its port."""

    is_http2: bool = False
    """Whether HTTP/2 is spoken, whatever the Service says."""
    certificate: ObjectKey | None = None
    """The Secret with what is shown over TLS to endpoints that ask for it."""
    fault: str = ""
    """Why that cannot be had, so that no TLS is spoken."""

    def __str__(self) -> str:
        """Return what is special about it, if anything is."""
        shown = "" if self.certificate is None else f"with Secret {self.certificate}"
        return ", ".join(part for part in ("GRPC" if self.is_http2 else "", shown, self.fault) if part)


BY_POLICY: Final = ByPolicy()


@frozen(cache_hash=True)
class Datagrams:
    """Datagrams of UDP, so that the port of the Service is one of UDP, too."""

    def __str__(self) -> str:
        return "UDP"


DATAGRAMS: Final = Datagrams()

UpstreamProtocol = ProtocolAsked | ProtocolRefused | ByPolicy | Datagrams | None
"""How a backend is to be spoken to; None, for most: as its Service says, which is HTTP/1.1 in the clear
unless the ``appProtocol`` of the port is another one."""


@frozen(cache_hash=True)
class UpstreamTls:
    """All settings of TLS to an endpoint.

    With *settings.verify*, an empty *ca_pem* means the authorities that this system trusts.
    *chain_pem*, leaf first, and *key_pem* are what we show when asked for a certificate;
    both are empty, or neither is.
    """

    tls_settings: TlsSettings
    ca_pem: bytes = field(default=b"", repr=False)
    chain_pem: bytes = field(default=b"", repr=False)
    key_pem: bytes = field(default=b"", repr=False)


@frozen(cache_hash=True)
class LinkSettings:
    """What a connection to an endpoint must be, where TCP to its address is not all."""

    tls: UpstreamTls | None = None
    is_external: bool = False
    """Whether a tenant named the address: then it must not be one of ours, which shows when it is resolved."""
    is_http2: bool = False
    """Whether HTTP/2 is spoken, and nothing else: in the clear by prior knowledge (RFC 9113 section 3.3),
    over TLS by ALPN (section 3.2)."""
    within: tuple[str, ...] = ()
    """Networks that an external address must be in, as texts; none: it may be in any."""
    is_fastcgi: bool = False
    """Whether FastCGI is spoken, always in the clear."""
