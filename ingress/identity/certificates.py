"""Certificates as values: a checked key pair with the names it covers, and which is shown for a server name.

Pure: no files, no sockets, no clock of its own, no OpenSSL context.  Key material appears in no repr.
What makes one of a Secret is ``ingress.identity.key_pairs``.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from attrs import Factory, field

from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.model.frozen import frozen

CHAIN_KEY = "tls.crt"
PRIVATE_KEY_KEY = "tls.key"
TLS_SECRET_TYPE = "kubernetes.io/tls"
ENDS_SOON = timedelta(days=14)
"""How long before its end a certificate is to be told of; who renews by program does so long before."""


class CertificateError(Exception):
    """A Secret holds no usable certificate; *message* says why and names the key at fault."""

    def __init__(self, message: str, reason: Reason = Reason.INVALID_CERTIFICATE) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason


@frozen(cache_hash=True)
class Certificate:
    """A key pair with the names it covers.

    *chain_pem* has the leaf first.  *names* are the DNS names of the subject
    alternative name in lower case, or the common name when it lists none.
    *fingerprint* is the SHA-256 of the leaf in hexadecimal.
    """

    secret: ObjectKey
    chain_pem: bytes = field(repr=False)
    key_pem: bytes = field(repr=False)
    names: tuple[str, ...]
    not_before: datetime
    not_after: datetime
    fingerprint: str
    key_type: str
    """``RSA``, ``ECDSA``, ``Ed25519`` or ``Ed448``: which clients can do something with it."""
    _covered: frozenset[str] = field(init=False, repr=False, eq=False)

    @_covered.default
    def _names_as_set(self) -> frozenset[str]:
        # There may be thousands of names, to be compared with as many hosts.
        return frozenset(self.names)

    def is_valid_at(self, now: datetime) -> bool:
        """Tell whether *now* is within the validity period (RFC 5280 section 4.1.2.5)."""
        return self.not_before <= now < self.not_after

    def ends_soon(self, now: datetime) -> bool:
        """Tell whether it is time to renew, or past it."""
        return self.not_after - now <= ENDS_SOON

    def covers(self, host: str) -> bool:
        """Tell whether the names cover *host*, which may be a wildcard itself.

        A wildcard stands for exactly one label, the first (RFC 9525 section 6.3).
        """
        host = host.lower().removesuffix(".")
        if host in self._covered:
            return True
        dot = host.find(".")
        return dot > 0 and "*" + host[dot:] in self._covered


@frozen
class CertificateTable:
    """The certificates of one snapshot by the server name that a client asks for.

    A host has one certificate, or several with keys of different types, the most
    important first: a handshake shows the one that the client can use.
    """

    exact: Mapping[str, tuple[Certificate, ...]] = Factory(dict)
    """By host in lower case.  None at all means the default, and keeps the host from its wildcard's.  Where *covers_labels*, there
    may be several with keys of one type, of which those are shown that are for the name."""
    wildcard: Mapping[str, tuple[Certificate, ...]] = Factory(dict)
    """By what follows the asterisk, so with a leading dot: ``.example.com``."""
    default: Certificate | None = None
    covers_labels: bool = False
    """Whether a wildcard stands for several labels, too, as in the Gateway API.  Then the empty text of *wildcard* stands for
    all names, and for none, and a host without certificates is shown nothing at all."""

    def shown(self) -> Iterator[tuple[str, Certificate]]:
        """Yield each host, wildcards with their asterisk, with each of its certificates; an empty host for the default."""
        for host, certificates in self.exact.items():
            for certificate in certificates:
                yield host, certificate
        for suffix, certificates in self.wildcard.items():
            for certificate in certificates:
                yield f"*{suffix}", certificate
        if self.default is not None:
            yield "", self.default

    def shows(self, host: str, certificate: Certificate) -> bool:
        """Whether *certificate* is shown for *host*, which is written as in ``shown``."""
        if host.startswith("*"):
            return certificate in self.wildcard.get(host[1:], ())
        return certificate in self.exact.get(host, ()) or (not host and certificate == self.default)

    def find(self, server_name: str | None) -> tuple[Certificate, ...]:
        """Choose for *server_name*: those of the exact host, then of its wildcard, then the default."""
        found = self.named(server_name)
        if found is not None:
            return found
        return () if self.default is None else (self.default,)

    def named(self, server_name: str | None) -> tuple[Certificate, ...] | None:
        """Return the certificates that were brought for *server_name*, or None; the default is none of them."""
        if self.covers_labels:
            name = "" if server_name is None else server_name.lower().removesuffix(".")
            found = self._deep(name)
            return _fitting(found, name) if found and len(found) > 1 else found or None
        if not server_name:
            return None
        name = server_name.lower().removesuffix(".")
        found = self.exact.get(name)
        if found is not None:
            return found or None
        dot = name.find(".")
        return self.wildcard.get(name[dot:]) if dot > 0 else None

    def host_of(self, server_name: str | None) -> str | None:
        """Return the host by which *server_name* is named: itself, or its wildcard; None for one that nobody names."""
        if not server_name:
            return None
        name = server_name.lower().removesuffix(".")
        if name in self.exact:
            return name
        dot = name.find(".")
        return "*" + name[dot:] if dot > 0 and name[dot:] in self.wildcard else None

    def _deep(self, name: str) -> tuple[Certificate, ...] | None:
        found = self.exact.get(name)
        dot = name.find(".")
        while found is None and dot > 0:
            found = self.wildcard.get(name[dot:])
            dot = name.find(".", dot + 1)
        return self.wildcard.get("") if found is None else found


def _fitting(certificates: tuple[Certificate, ...], name: str) -> tuple[Certificate, ...]:
    """Return those of *certificates* that are for *name*, or else all, each type of key once."""
    fits = [one for one in certificates if name in one._covered]
    fits = fits or [one for one in certificates if one.covers(name)]
    chosen: dict[str, Certificate] = {}
    for one in fits or certificates:
        chosen.setdefault(one.key_type, one)
    return tuple(chosen.values())
