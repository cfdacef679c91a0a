"""The request, or the stream, that is asked about; and how the proxy reads a request: its own reader does."""

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

from ingress.explain.urls import AskedUrl, StreamUrl, UrlRefused, is_of_stream, read_stream_url, read_url
from ingress.http.grammar import TOKEN
from ingress.http.request_head import RequestHead
from ingress.model.frozen import frozen
from ingress.proxy.downstream.request_reader import RefusedError, RequestReader

USUAL_CLIENT: Final = "192.0.2.1"
"""An address that belongs to nobody (RFC 5737)."""
MAX_FIELDS: Final = 200
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_is_token = re.compile(TOKEN).fullmatch


@frozen
class Asked:
    """A request, as a client sends it."""

    url: AskedUrl
    method: bytes = b"GET"
    fields: tuple[tuple[bytes, bytes], ...] = ()
    """Without ``Host``, unless it is another one than that of the URL."""
    client: str = USUAL_CLIENT
    """The address that the connection comes from."""

    @property
    def head(self) -> bytes:
        """The head as it comes, with the empty line that ends it."""
        named = [name.lower() for name, _ in self.fields]
        lines = [b"%b %b HTTP/1.1" % (self.method, self.url.target)]
        if b"host" not in named:
            lines.append(b"Host: " + self.url.authority)
        lines += [b"%b: %b" % field for field in self.fields]
        if self.url.credentials and b"authorization" not in named:
            lines.append(b"Authorization: " + self.url.credentials)
        return b"\r\n".join((*lines, b"", b""))


@frozen
class AskedStream:
    """A connection, or a datagram of UDP, to a port of streams."""

    url: StreamUrl
    client: str = USUAL_CLIENT
    """The address that it comes from."""


@frozen
class ReadRequest:
    """What the proxy reads in it."""

    head: RequestHead
    host: bytes
    """In normal form."""
    path: bytes
    """In normal form."""


@frozen
class Refused:
    """The proxy answers with *status* before it looks for a route."""

    status: int
    why: str
    head: RequestHead


def read_asked(url: str, method: str, headers: Iterable[str], client: str) -> Asked:
    """Return the request that people write so, *headers* as ``Name: value``; raises ``UrlRefused`` for what is none."""
    if not method.isascii() or not _is_token(method.encode()):
        raise UrlRefused(f"{method[:32]!r} is no method; write it like GET or POST")
    fields = tuple(map(_field, headers))
    if len(fields) > MAX_FIELDS:
        raise UrlRefused(f"{len(fields)} header fields are more than {MAX_FIELDS}")
    return Asked(read_url(url), method.encode(), fields, _address(client))


def read_asked_of_any(url: str, method: str, headers: Iterable[str], client: str) -> Asked | AskedStream:
    """Return what is asked about, be it a request or a stream, which has no *method* but ``GET`` and no *headers*; raises ``UrlRefused``."""
    if not is_of_stream(url):
        return read_asked(url, method, headers, client)
    if method != "GET" or list(headers):
        raise UrlRefused("a stream has no method and no header fields; leave them out")
    return AskedStream(read_stream_url(url), _address(client))


def _address(client: str) -> str:
    try:
        address = str(ip_address(client.strip().removeprefix("[").removesuffix("]")))
    except ValueError:
        raise UrlRefused(f"the client {client[:64]!r} is no IP address") from None
    if "%" in address:
        raise UrlRefused("the client is an IP address without a zone")
    return address


def _field(text: str) -> tuple[bytes, bytes]:
    name, colon, value = text.partition(":")
    name, value = name.strip(), value.strip(" \t")
    if not colon or not name.isascii() or not _is_token(name.encode()):
        raise UrlRefused(f"the header {text[:32]!r} is none; write it like 'X-Name: value'")
    if _CONTROL.search(value):
        raise UrlRefused(f"the header {name[:64]} holds a control character")
    try:
        return name.encode(), value.encode("utf-8")
    except UnicodeEncodeError:
        raise UrlRefused(f"the header {name[:64]} is no valid Unicode text") from None


def read_as_proxy(asked: Asked, *, takes_underscores: bool) -> ReadRequest | Refused:
    """Read *asked* as a channel does; *takes_underscores* is ``ServingSettings.underscores_in_headers``."""
    reader = RequestReader()
    reader.ahead += asked.head
    try:
        block = reader.next_block()
        assert block is not None
        head, (host, path) = reader.read(block)
    except RefusedError as error:
        return Refused(error.status, str(error), error.head)
    if head.underscored and takes_underscores:
        head = head.with_line(head.underscored)
    return ReadRequest(head, host, path)
