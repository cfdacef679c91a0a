"""A second opinion: a reader of HTTP/1.1 messages that shares no code with the proxy.

Written from RFC 9110 and 9112 alone, without any leniency.  Tests show with it that
what the proxy sends can be read in one way.
"""

from dataclasses import dataclass

TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
VISIBLE = frozenset(range(0x21, 0x7F))
TEXT = VISIBLE | frozenset(range(0x80, 0x100)) | frozenset(b" \t")
DIGITS = frozenset(b"0123456789")
HEXADECIMAL = frozenset(b"0123456789abcdefABCDEF")
SINGULAR = (b"host", b"content-length", b"transfer-encoding", b"connection", b"upgrade", b"expect")


class StrictError(Exception):
    """A message that is not exactly what the grammar says, or not whole."""


@dataclass
class Message:
    """A message: first line in three parts, fields in order, body without framing."""

    start: tuple[bytes, bytes, bytes]
    fields: list[tuple[bytes, bytes]]
    body: bytes = b""
    trailers: list[tuple[bytes, bytes]] | None = None

    def values(self, name: bytes) -> list[bytes]:
        """The values of the fields with this lower-case name."""
        return [value for found, value in self.fields if found.lower() == name]


def need(condition: object, why: str) -> None:
    """Refuse the message unless *condition* holds."""
    if not condition:
        raise StrictError(why)


def read_line(octets: bytes, at: int) -> tuple[bytes, int]:
    """The line that begins *at*, and where the next one does."""
    end = octets.find(b"\r\n", at)
    need(end >= 0, "line ending")
    line = octets[at:end]
    need(b"\r" not in line and b"\n" not in line, "line ending")
    return line, end + 2


def read_fields(octets: bytes, at: int) -> tuple[list[tuple[bytes, bytes]], int]:
    """The field lines up to the empty line."""
    fields: list[tuple[bytes, bytes]] = []
    while True:
        line, at = read_line(octets, at)
        if not line:
            return fields, at
        colon = line.find(b":")
        need(colon > 0, "colon")
        name, value = line[:colon], line[colon + 1 :]
        need(TOKEN.issuperset(name), "field name")
        need(TEXT.issuperset(value), "field value")
        fields.append((name, value.strip(b" \t")))


def read_chunked(octets: bytes, at: int) -> tuple[bytes, list[tuple[bytes, bytes]], int]:
    """A chunked body in canonical form: no extensions."""
    body = b""
    while True:
        line, at = read_line(octets, at)
        need(line and HEXADECIMAL.issuperset(line), "chunk size")
        size = int(line, 16)
        if not size:
            trailers, at = read_fields(octets, at)
            return body, trailers, at
        need(len(octets) >= at + size + 2, "chunk data")
        body += octets[at : at + size]
        at += size
        need(octets[at : at + 2] == b"\r\n", "chunk ending")
        at += 2


def read_body(octets: bytes, at: int, message: Message) -> int:
    """The body of *message*, whose head ends *at*, by what its fields say."""
    names = [name.lower() for name, _ in message.fields]
    for name in SINGULAR:
        if names.count(name) > 1:
            raise StrictError(f"one {name!r}")
    lengths, codings = message.values(b"content-length"), message.values(b"transfer-encoding")
    need(not (lengths and codings), "one framing field")
    if codings:
        need(codings == [b"chunked"], "chunked")
        message.body, message.trailers, at = read_chunked(octets, at)
    elif lengths:
        need(lengths[0] and DIGITS.issuperset(lengths[0]), "digits")
        size = int(lengths[0])
        need(len(octets) >= at + size, "whole body")
        message.body = octets[at : at + size]
        at += size
    return at


def read_request(octets: bytes) -> tuple[Message, bytes]:
    """One request from the beginning of *octets*, and what follows it."""
    line, at = read_line(octets, 0)
    parts = line.split(b" ")
    need(len(parts) == 3, "three parts")
    method, target, version = parts
    need(method and TOKEN.issuperset(method), "method")
    need(target[:1] == b"/" or (target == b"*" and method == b"OPTIONS"), "origin form")
    need(VISIBLE.issuperset(target) and b"#" not in target, "target")
    need(version == b"HTTP/1.1", "version")
    fields, at = read_fields(octets, at)
    message = Message((method, target, version), fields)
    need(len(message.values(b"host")) == 1, "one Host")
    at = read_body(octets, at, message)
    return message, octets[at:]


def read_answer(octets: bytes, method: bytes = b"GET", closed: bool = False) -> tuple[Message, bytes]:
    """One answer to *method*, and what follows it; *closed* says that the connection ended regularly."""
    line, at = read_line(octets, 0)
    need(line[:9] == b"HTTP/1.1 " and line[12:13] == b" ", "status line")
    status, reason = line[9:12], line[13:]
    need(DIGITS.issuperset(status), "status")
    need(TEXT.issuperset(reason), "reason")
    fields, at = read_fields(octets, at)
    message = Message((b"HTTP/1.1", status, reason), fields)
    if method == b"HEAD" or status in (b"204", b"304") or status[:1] == b"1":
        need(not message.values(b"transfer-encoding"), "no coding without a body")
        return message, octets[at:]
    if not message.values(b"content-length") and not message.values(b"transfer-encoding"):
        need(closed, "an end")
        message.body = octets[at:]
        return message, b""
    at = read_body(octets, at, message)
    return message, octets[at:]


def read_requests(octets: bytes) -> list[Message]:
    """All the requests in *octets*, which must hold nothing else."""
    found = []
    while octets:
        message, octets = read_request(octets)
        found.append(message)
    return found


def read_answers(octets: bytes, methods: list[bytes], closed: bool = False) -> list[Message]:
    """All the answers in *octets* to requests with *methods*; 1xx answers come besides."""
    found = []
    waiting = list(methods)
    while octets:
        need(waiting, "as many answers as requests")
        message, octets = read_answer(octets, waiting[0], closed)
        found.append(message)
        if message.start[1][:1] != b"1":
            del waiting[0]
    return found
