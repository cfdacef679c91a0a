"""The key of a request: what ``upstream-hash-by`` asks for, put together from the request at hand.

A key chooses an endpoint and does nothing else: it is shown nowhere and goes nowhere.
What a request does not have is empty, so all requests without it have one endpoint.
"""

from typing import Protocol

from ingress.model.balancing import KeyPart, Variable
from ingress.model.named_values import cookie_value, query_value
from ingress.model.requested import RequestedUri


class KeyFacts(RequestedUri, Protocol):
    """What a key may be made of."""

    @property
    def method(self) -> bytes:
        """The method, as received."""

    @property
    def client(self) -> bytes:
        """The address of the client."""

    def field(self, name: bytes) -> bytes:
        """Return the value of the first field called *name*, in lower case; empty when there is none."""


def hash_key(parts: tuple[KeyPart, ...], request: KeyFacts) -> bytes:
    """Return the key of *request*."""
    return b"".join([_value(variable, name, request) for variable, name in parts])


def _value(variable: Variable, name: bytes, request: KeyFacts) -> bytes:
    match variable:
        case Variable.TEXT:
            return name
        case Variable.REQUEST_URI:
            return request.target
        case Variable.URI:
            return request.path
        case Variable.ARGS:
            return request.target.partition(b"?")[2]
        case Variable.HOST:
            return request.host
        case Variable.REMOTE_ADDR:
            return request.client
        case Variable.SCHEME:
            return request.scheme
        case Variable.REQUEST_METHOD:
            return request.method
        case Variable.HTTP:
            return request.field(name)
        case Variable.ARG:
            return query_value(request.target, name)
        case Variable.COOKIE:
            return cookie_value(request.field(b"cookie"), name)
