"""How an answer goes downstream in HTTP/1.1: its head, and the framing of its body."""

from enum import Enum
from typing import Final

from ingress.http.body import chunk, last_chunk
from ingress.http.response_head import ResponseHead

SERVER_LINE: Final = b"Server: txingress\r\n"
"""Who we are, where upstream does not say who it is."""


class Framing(Enum):
    """How downstream finds the end of a body (RFC 9112 section 6.3)."""

    NONE = "none"
    LENGTH = "length"
    CHUNKED = "chunked"
    UNTIL_CLOSE = "until close"


def framing_of(head: ResponseHead, method: bytes, minor: int) -> Framing:
    """Choose the framing: a length stays a length; without one, chunked where it is understood."""
    if method == b"HEAD" or not head.has_body:
        return Framing.NONE
    if head.content_length >= 0:
        return Framing.LENGTH
    return Framing.CHUNKED if minor else Framing.UNTIL_CLOSE


def downstream_head(head: ResponseHead, framing: Framing, minor: int, keep_alive: bool, date: bytes) -> bytes:
    """Render the head; ``Server`` and ``Date`` are added where upstream sent none."""
    parts = [head.start]
    if not head.has_server:
        parts.append(SERVER_LINE)
    if not head.has_date:
        parts.append(b"Date: %b\r\n" % date)
    if framing is Framing.CHUNKED:
        parts.append(b"Transfer-Encoding: chunked\r\n")
    if not keep_alive:
        parts.append(b"Connection: close\r\n")
    elif not minor:
        parts.append(b"Connection: keep-alive\r\n")
    parts.append(b"\r\n")
    return b"".join(parts)


def frame(framing: Framing, piece: bytes, ended: bool, trailers: list[bytes]) -> bytes:
    """Frame a piece of the body, and its end."""
    if framing is Framing.CHUNKED:
        framed = chunk(piece) if piece else b""
        return framed + last_chunk(trailers) if ended else framed
    return b"" if framing is Framing.NONE else piece
