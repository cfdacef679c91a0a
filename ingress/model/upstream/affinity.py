"""Affinity: the cookie by which a client stays at one endpoint, and what its value says.

A value is ``k`` with a key, which consistent hashing makes an endpoint of, or ``e`` with the mark of an endpoint; behind a
dot there may be the mark of a backend.  Marks are made of names and addresses alone, so every replica and worker reads the
same in a value, also after a restart, and a forged one chooses among the endpoints of the Service, and its canaries that keep
their clients, and does nothing else.
They have no key, so whoever has one can guess what it is made of.
"""

import re
from enum import StrEnum
from hashlib import blake2b
from typing import Protocol

from ingress.model.frozen import frozen
from ingress.model.text.named_values import cookie_value
from ingress.model.upstream.backends import BackendReference, Endpoint

_is_value = re.compile(rb"([ke][0-9a-f]{16})(?:\.([0-9a-f]{8}))?").fullmatch


class AffinityMode(StrEnum):
    """What becomes of clients when endpoints come."""

    BALANCED = "balanced"
    """Some move to the new ones."""
    PERSISTENT = "persistent"
    """Each stays as long as its endpoint does."""


class CookieFacts(Protocol):
    """What of a request says where it belongs."""

    @property
    def id(self) -> bytes:
        """What the request is called."""

    def field(self, name: bytes) -> bytes:
        """Return the value of the field called *name*, in lower case; of several, that of all as one; empty when there is none."""


@frozen(cache_hash=True)
class Affinity:
    """How clients of a route stay at an endpoint."""

    cookie: bytes
    """Its name."""
    mode: AffinityMode = AffinityMode.BALANCED

    def told(self, facts: CookieFacts) -> tuple[bytes, bytes]:
        """Return key and mark of the backend that the client's cookie says; empty for what it does not say."""
        match = _is_value(cookie_value(facts.field(b"cookie"), self.cookie))
        return (b"", b"") if match is None else (match[1], match[2] or b"")

    def key(self, facts: CookieFacts) -> bytes:
        """Return what the endpoint is chosen by; empty where any will do, since its mark becomes the cookie."""
        key, _ = self.told(facts)
        return key or self.first_key(facts)

    def first_key(self, facts: CookieFacts) -> bytes:
        """Return the key of a client without cookie: a new one for each request, however often it is asked."""
        if self.mode is AffinityMode.PERSISTENT:
            return b""
        return b"k" + blake2b(facts.id, digest_size=8).hexdigest().encode()


def mark_of_endpoint(endpoint: Endpoint) -> bytes:
    """Return the key that means *endpoint*."""
    text = f"{endpoint.address} {endpoint.port}".encode()
    return b"e" + blake2b(text, digest_size=8, person=b"endpoint").hexdigest().encode()


def mark_of_backend(backend: BackendReference) -> bytes:
    """Return what stands for *backend* in a cookie."""
    text = f"{backend.namespace}/{backend.name}:{backend.port}".encode()
    return blake2b(text, digest_size=4, person=b"backend").hexdigest().encode()
