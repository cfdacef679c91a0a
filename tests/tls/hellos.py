"""ClientHellos, byte by byte: whole ones and broken ones."""

from collections.abc import Iterable

from OpenSSL import SSL

from ingress.tls.binding import restrict_groups

GREASE = b"\x0a\x0a"


def vector(size: int, content: bytes) -> bytes:
    """Put the length of *content* before it, in *size* bytes."""
    return len(content).to_bytes(size) + content


def extension(kind: int, content: bytes) -> bytes:
    """Make an extension."""
    return kind.to_bytes(2) + vector(2, content)


def server_name(name: bytes) -> bytes:
    """Make the extension that names a server."""
    return extension(0, vector(2, b"\x00" + vector(2, name)))


def message(extensions: Iterable[bytes] | None, session: bytes = b"") -> bytes:
    """Make a ClientHello, without records around it; None leaves the extensions out altogether."""
    body = b"\x03\x03" + bytes(range(32)) + vector(1, session)
    body += vector(2, GREASE + b"\x13\x01\x13\x02\xc0\x2f") + vector(1, b"\x00")
    if extensions is not None:
        body += vector(2, b"".join(extensions))
    return b"\x01" + vector(3, body)


def records(octets: bytes, size: int = 16384) -> bytes:
    """Put *octets* into handshake records of *size* bytes each."""
    pieces = [octets[at : at + size] for at in range(0, len(octets), size)]
    return b"".join(b"\x16\x03\x01" + vector(2, piece) for piece in pieces)


def hello(name: bytes, *others: bytes) -> bytes:
    """Make a ClientHello that names a server, in one record."""
    return records(message([extension(0x0A0A, b""), server_name(name), *others]))


def openssl_hello(name: bytes | None, groups: bytes | None = None) -> bytes:
    """Return the ClientHello that OpenSSL sends, with its own groups or these."""
    context = SSL.Context(SSL.TLS_METHOD)
    if groups is not None:
        restrict_groups(context, groups)
    connection = SSL.Connection(context, None)
    connection.set_connect_state()
    if name is not None:
        connection.set_tlsext_host_name(name)
    try:
        connection.do_handshake()
    except SSL.WantReadError:
        pass  # The ClientHello is written, and its answer is what OpenSSL waits for.
    return connection.bio_read(65536)
