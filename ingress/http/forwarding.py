"""The head that goes upstream: the request's own fields, and what a proxy adds.

ingress-nginx sends the same names; what the peer itself said under them was
dropped when its head was read, except for its ``X-Forwarded-For``, which goes
on as ``X-Original-Forwarded-For``.
"""

from ingress.http.request_head import RequestHead


def peer_fields(peer: bytes, scheme: bytes, port: int) -> bytes:
    """Render the fields that are the same for every request of a downstream connection.

    *peer* is the downstream address, *scheme* and *port* those of the listener
    that took the connection.
    """
    return (
        b"X-Real-IP: %b\r\nX-Forwarded-For: %b\r\nX-Forwarded-Port: %d\r\n"
        b"X-Forwarded-Proto: %b\r\nX-Forwarded-Scheme: %b\r\nX-Scheme: %b\r\n"
    ) % (peer, peer, port, scheme, scheme, scheme)


def upstream_head(head: RequestHead, request_id: bytes, peer: bytes) -> bytes:
    """Render the head for upstream; *peer* is what ``peer_fields`` made."""
    parts = [
        head.method,
        b" ",
        head.target,
        b" HTTP/1.1\r\nHost: ",
        head.authority,
        b"\r\n",
        head.forward,
        b"X-Request-ID: ",
        request_id,
        b"\r\nX-Forwarded-Host: ",
        head.authority,
        b"\r\n",
        peer,
    ]
    if head.forwarded_for:
        parts += (b"X-Original-Forwarded-For: ", head.forwarded_for, b"\r\n")
    if head.content_length >= 0:
        parts.append(b"Content-Length: %d\r\n" % head.content_length)
    elif head.chunked:
        parts.append(b"Transfer-Encoding: chunked\r\n")
    if head.expect_continue:
        parts.append(b"Expect: 100-continue\r\n")
    if head.upgrade:
        parts += (b"Connection: Upgrade\r\nUpgrade: ", head.upgrade, b"\r\n")
    parts.append(b"\r\n")
    return b"".join(parts)
