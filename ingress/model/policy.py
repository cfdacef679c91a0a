"""What a policy is to the proxy: something that may answer a request itself.

Policies are chosen when a route is built (``ingress.translate``) and obeyed when
a request matched it (``ingress.proxy``).  A route without policies runs no
policy code at all.
"""

from typing import Protocol

from ingress.model.client_authentication import ClientEvidence
from ingress.model.reply import Reply as Reply


class RequestedUri(Protocol):
    """What a request asks for: the parts of its URI, as plain values."""

    @property
    def scheme(self) -> bytes:
        """``http`` or ``https``: how the request reached us."""

    @property
    def host(self) -> bytes:
        """The host asked for: lower case, without port."""

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


class RequestFacts(RequestedUri, SecuredRequest, Protocol):
    """What a policy may look at."""


class Policy(Protocol):
    """A frozen verdict-giver; equal settings make equal policies."""

    def judge(self, request: RequestFacts) -> Reply | None:
        """Answer *request*, or let it pass by returning None."""


class SecureFields(Protocol):
    """What a route adds to its answers over TLS; equal settings make equal values."""

    def line_for(self, host: bytes) -> bytes:
        """Return the field line for an answer of *host*, with its CRLF; empty for none."""


class UpstreamFields(Protocol):
    """What a route tells upstream in fields of its own; equal settings make equal values."""

    def render(self, request: RequestFacts) -> bytes:
        """Return the field lines for *request*, each with its CRLF."""
