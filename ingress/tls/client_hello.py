"""The server name in a ClientHello, read without terminating TLS (RFC 8446 section 4.1.2, RFC 6066 section 3).

Pure: bytes in, a value out; no OpenSSL, no socket.  The reader decides nothing but which
name is asked for, and it is strict: whatever another reader could take in another way is
no ClientHello to it.  Who asks then leaves the connection to OpenSSL, which knows how to refuse.

A ClientHello may be spread over many records, and a record over many segments, at any byte.
The reader is shown all that has come each time, and goes on where it stopped; so the work
is bounded by the bytes, however small the pieces.
"""

from typing import Final

from ingress.model.frozen import frozen

MAX_HELLO_BYTES: Final = 16 * 1024 + 5
"""From the first byte of the first record to the last of the ClientHello: one whole record.  Those of
browsers have about 2 KiB, with keys that withstand quantum computers; nginx reads 16 KiB ahead."""

_RECORD_HEADER: Final = 5
_MESSAGE_HEADER: Final = 4
_MAX_FRAGMENT: Final = 16 * 1024
_HANDSHAKE: Final = 22
_CLIENT_HELLO: Final = 1
_VERSION_AND_RANDOM: Final = 34
_MAX_SESSION_ID: Final = 32
_SERVER_NAME: Final = 0
_HOST_NAME: Final = 0
_MAX_NAME: Final = 255


class HelloError(ValueError):
    """These bytes begin no ClientHello that can be read in exactly one way, or none within the bound."""


@frozen
class ClientHello:
    """What was asked for: the server name in lower case and without its trailing dot, or None."""

    server_name: bytes | None


class ClientHelloReader:
    """Reads one ClientHello as it comes."""

    __slots__ = ("_at", "_message")

    def __init__(self) -> None:
        self._at = 0
        """Where the next record begins."""
        self._message = bytearray()
        """What the whole records so far hold."""

    def __repr__(self) -> str:
        return f"<ClientHelloReader at byte {self._at}>"

    def read(self, received: bytes) -> ClientHello | None:
        """Read *received*, all bytes from the first one on; None when more are needed.

        Raises ``HelloError`` as soon as no byte that may follow can make it a ClientHello.
        """
        while True:
            size = self._record_size(received)
            if size is None or len(received) < self._at + _RECORD_HEADER + size:
                break
            begin = self._at + _RECORD_HEADER
            self._at = begin + size
            self._message += received[begin : self._at]
            whole = self._message_size()
            if whole is not None and len(self._message) >= whole:
                if len(self._message) > whole:
                    raise HelloError("something follows the ClientHello in its record")
                return ClientHello(_server_name(_Fields(bytes(self._message[_MESSAGE_HEADER:]))))
        if len(received) >= MAX_HELLO_BYTES:
            raise HelloError("the ClientHello is too large")
        return None

    def _record_size(self, received: bytes) -> int | None:
        """Check the header of the next record as far as it has come; return its length once that is known."""
        header = received[self._at : self._at + _RECORD_HEADER]
        if header and header[0] != _HANDSHAKE:
            raise HelloError("not a TLS handshake")
        if len(header) > 1 and header[1] != 3:
            raise HelloError("not a version of TLS")
        if len(header) < _RECORD_HEADER:
            return None
        size = int.from_bytes(header[3:])
        if not 0 < size <= _MAX_FRAGMENT:
            raise HelloError("the length of a record is out of bounds")
        if self._at + _RECORD_HEADER + size > MAX_HELLO_BYTES:
            raise HelloError("the ClientHello is too large")
        return size

    def _message_size(self) -> int | None:
        message = self._message
        if message[0] != _CLIENT_HELLO:
            raise HelloError("not a ClientHello")
        if len(message) < _MESSAGE_HEADER:
            return None
        size = _MESSAGE_HEADER + int.from_bytes(message[1:_MESSAGE_HEADER])
        if size + _RECORD_HEADER > MAX_HELLO_BYTES:
            raise HelloError("the ClientHello is too large")
        return size


class _Fields:
    """Takes fields off the front of some bytes; a field that is not there whole is an error."""

    def __init__(self, octets: bytes) -> None:
        self._octets = octets
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._octets) - self._at

    def take(self, size: int) -> bytes:
        if size > self.left:
            raise HelloError("a field is longer than what holds it")
        self._at += size
        return self._octets[self._at - size : self._at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def vector(self, length_bytes: int, least: int, most: int) -> bytes:
        size = self.number(length_bytes)
        if not least <= size <= most:
            raise HelloError("the length of a field is out of bounds")
        return self.take(size)


def _server_name(hello: _Fields) -> bytes | None:
    hello.take(_VERSION_AND_RANDOM)
    hello.vector(1, 0, _MAX_SESSION_ID)
    if len(hello.vector(2, 2, 0xFFFE)) % 2:
        raise HelloError("half a cipher suite")
    hello.vector(1, 1, 0xFF)
    if not hello.left:
        # TLS 1.2 lets a ClientHello have no extensions at all (RFC 5246 section 7.4.1.2).
        return None
    extensions = _Fields(hello.vector(2, 0, 0xFFFF))
    if hello.left:
        raise HelloError("something follows the extensions")
    name: bytes | None = None
    seen: set[int] = set()
    while extensions.left:
        kind = extensions.number(2)
        content = extensions.vector(2, 0, 0xFFFF)
        # "There MUST NOT be more than one extension of the same type in a given extension block."
        if kind in seen:
            raise HelloError("an extension stands there twice")
        seen.add(kind)
        if kind == _SERVER_NAME:
            name = _host_name(_Fields(content))
    return name


def _host_name(extension: _Fields) -> bytes:
    names = _Fields(extension.vector(2, 1, 0xFFFF))
    if extension.left:
        raise HelloError("something follows the server names")
    if names.number(1) != _HOST_NAME:
        raise HelloError("a server name of a type that does not exist")
    name = names.vector(2, 1, _MAX_NAME).lower().removesuffix(b".")
    # "The ServerNameList MUST NOT contain more than one name of the same name_type."
    if names.left:
        raise HelloError("more than one server name")
    if not name or not all(0x21 <= byte <= 0x7E for byte in name):
        raise HelloError("the server name is no ASCII name")
    return name
