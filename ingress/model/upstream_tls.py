"""What an upstream connection must be beyond TCP: the protocol asked for, and TLS in all its settings.

An Ingress asks by annotations; what it asks for stands in the ``BackendReference`` that its
routes name: None where it says nothing, a ``ProtocolAsked``, or a ``ProtocolRefused``.  Translation
adds what the Service says of its port, and what the Secret holds, which makes ``LinkSettings``.
These stand in each ``Endpoint``, so connections, sessions and balancers of different settings never
meet: they have different keys.

Key material shows in no repr.
"""

from collections.abc import Iterator
from enum import IntEnum
from typing import Final

from attrs import field

from ingress.model.frozen import frozen
from ingress.model.objects import ObjectKey

DEFAULT_DEPTH: Final = 1
"""Intermediate certificates between that of an endpoint and the trusted one, as in ingress-nginx."""


class TlsVersion(IntEnum):
    """The versions of TLS that are spoken, by their number in the protocol."""

    TLS_1_2 = 0x0303
    TLS_1_3 = 0x0304


@frozen(cache_hash=True)
class TlsSettings:
    """The part of the settings that annotations decide by themselves."""

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


@frozen(cache_hash=True)
class UpstreamTlsRequest:
    """What an Ingress asks of the TLS to its backends: *tls_settings*, and the Secret that completes them."""

    tls_settings: TlsSettings = TlsSettings()
    secret: ObjectKey | None = None

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

    def __str__(self) -> str:
        """Return the word of ``backend-protocol`` for it, and what is asked of TLS."""
        word = "GRPC" if self.is_http2 else "HTTP"
        return word if self.tls is None else ", ".join((f"{word}S", *self.tls.in_words()))


@frozen(cache_hash=True)
class ProtocolRefused:
    """Stands for a protocol that is asked for and cannot be had: requests are answered 503."""

    why: str

    def __str__(self) -> str:
        return "no protocol"


UpstreamProtocol = ProtocolAsked | ProtocolRefused | None
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
