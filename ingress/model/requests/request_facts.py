"""What a verdict on a request may look at, and nothing more; ``ingress.filters.Facts`` has all of it."""

from typing import Protocol

from ingress.model.requests.client_authentication import ClientEvidence


class RequestedUri(Protocol):
    """What a request asks for: the parts of its URI, as plain values."""

    @property
    def scheme(self) -> bytes:
        """``http`` or ``https``: how the request reached us."""

    @property
    def host(self) -> bytes:
        """The host asked for: lower case, without port, an address of IPv6 in brackets."""

    @property
    def authority(self) -> bytes:
        """The host by which the client knows us, as it was written, with its port."""

    @property
    def public_host(self) -> bytes:
        """The same without port."""

    @property
    def target(self) -> bytes:
        """The request target in origin form, as received: path and query."""

    @property
    def path(self) -> bytes:
        """The normal form of the path, the one that was matched."""


class SecuredRequest(Protocol):
    """What is known of the connection that a request came over."""

    @property
    def client_evidence(self) -> ClientEvidence | None:
        """What the handshake of the connection proved about the client; None where there was none.

        This is about our own connection, whatever a proxy before us says of the scheme.
        """
