"""A plain HTTP request at a TLS listener: what to tell whoever forgot the ``s`` of ``https``.  Pure.

OpenSSL answers it with nothing at all.  ingress-nginx says 400, and so do both networks of ours.
Nothing of the request is acted on, and it reaches nobody.
"""

from http import HTTPStatus
from typing import Final

_BODY: Final = b"400 Bad Request\nThe plain HTTP request was sent to HTTPS port\n"

ANSWER: Final = b"".join(
    (
        b"HTTP/1.1 400 %b\r\n" % HTTPStatus.BAD_REQUEST.phrase.encode(),
        b"Server: txingress\r\n",
        b"Content-Type: text/plain; charset=utf-8\r\n",
        b"Content-Length: %d\r\n" % len(_BODY),
        b"Connection: close\r\n\r\n",
        _BODY,
    )
)

_MAX_LINE: Final = 8192


def is_plain_request(received: bytes) -> bool:
    """Whether *received*, the first bytes of a connection, begin with the line of a request.

    The first five may be missing: OpenSSL takes them for the header of a record, and they are gone.
    """
    line, found, _ = received[:_MAX_LINE].partition(b"\n")
    line = line.removesuffix(b"\r")
    # The header of a record has a byte that no line has.
    return bool(found) and line[:-1].endswith(b" HTTP/1.") and min(line) >= 0x20
