"""The certificate and key of the webhook, read again when the files are others.

Secrets in a pod change all at once, by a link to another folder, and whoever copies files may be amid that: a pair that cannot be used
leaves the last good one in force.  So it may be missing when the process starts, too: whoever connects before it comes is turned away, and
nothing else of the controller waits for it.
"""

import os
from collections.abc import Iterable
from typing import Final

from OpenSSL import SSL
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator, IReactorTime
from twisted.logger import Logger
from twisted.protocols.tls import TLSMemoryBIOProtocol
from zope.interface import implementer

from ingress.identity.certificates import (
    CHAIN_KEY,
    PRIVATE_KEY_KEY,
    TLS_SECRET_TYPE,
    Certificate,
    CertificateError,
)
from ingress.identity.key_pairs import load_certificate
from ingress.model.cluster.objects import ObjectKey, Secret
from ingress.tls.context_building import build_context
from ingress.tls.profile import VERSIONS, new_server_context

LOOK_SECONDS: Final = 1.0
"""How often it is looked at whether the files are others, while somebody connects."""
MOST_BYTES: Final = 256 * 1024

_Signature = tuple[tuple[int, ...], ...]


class _UnusableError(Exception):
    """A pair that cannot be used; the message says why, as the end of a sentence."""


@implementer(IOpenSSLServerConnectionCreator)
class KeyFiles:
    """Begins TLS with the pair in the files *certificate* and *key*, PEM both, by the seconds of *clock*."""

    log = Logger()

    def __init__(self, certificate: str, key: str, least_version: str, clock: IReactorTime) -> None:
        self._paths = (certificate, key)
        self._least_version = VERSIONS[least_version]
        self._clock = clock
        self._context: SSL.Context | None = None
        self._signature: _Signature = ()
        self._looks_at = 0.0
        self.certificate: Certificate | None = None
        """What is in use, called after its file."""
        self.trouble = ""
        """Why the files cannot be used as they are, as a sentence; empty where they are in use."""

    def __repr__(self) -> str:
        return f"<KeyFiles {self._paths[0]}>"

    def look(self) -> None:
        """Read them if they are others, and tell of trouble once."""
        self._looks_at = self._clock.seconds() + LOOK_SECONDS
        signature = _signature(self._paths)
        if signature == self._signature:
            return
        context, pair, trouble = self._context, self.certificate, ""
        try:
            pair, context = self._read()
        except _UnusableError as error:
            trouble = str(error)
        if _signature(self._paths) != signature:
            # They are being replaced: the next look sees all of it.
            return
        self._signature = signature
        certificate, key = self._paths
        if trouble:
            instead = (
                "nobody can ask the webhook until they can"
                if context is None
                else "the last good ones stay in use"
            )
            trouble = f"--admission-certificate {certificate} and --admission-key {key} cannot be used: {trouble}; {instead}"
            self.log.error("{trouble}", trouble=trouble)
        elif self._context is not None or self.trouble:
            self.log.info("--admission-certificate {certificate} was read again", certificate=certificate)
        self._context, self.certificate, self.trouble = context, pair, trouble

    def serverConnectionForTLS(self, tlsProtocol: TLSMemoryBIOProtocol) -> SSL.Connection:
        """Begin a connection; without any pair its handshake fails."""
        if self._clock.seconds() >= self._looks_at:
            self.look()
        return SSL.Connection(self._context or new_server_context(self._least_version), None)

    def _read(self) -> tuple[Certificate, SSL.Context]:
        content = {
            name: _content(path) for name, path in zip((CHAIN_KEY, PRIVATE_KEY_KEY), self._paths, strict=True)
        }
        try:
            pair = load_certificate(Secret(ObjectKey("", self._paths[0]), TLS_SECRET_TYPE, content))
            return pair, build_context(self._least_version, (pair,))
        except CertificateError as error:
            raise _UnusableError(error.message) from None
        except (SSL.Error, ValueError) as error:
            raise _UnusableError(f"OpenSSL does not take them ({error})") from None


def _signature(paths: Iterable[str]) -> _Signature:
    """Return what is different once a file is another, or is there or not."""
    return tuple(map(_signature_of, paths))


def _signature_of(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError as error:
        return (error.errno or 0,)
    return found.st_mode, found.st_mtime_ns, found.st_size, found.st_ino, found.st_ctime_ns


def _content(path: str) -> bytes:
    try:
        # Nobody waits for a pipe that nobody writes to.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            octets = file.read(MOST_BYTES + 1) or b""
    except OSError as error:
        raise _UnusableError(f"{path}: {error.strerror}") from None
    if len(octets) > MOST_BYTES:
        raise _UnusableError(f"{path} has more than {MOST_BYTES} bytes")
    return octets
