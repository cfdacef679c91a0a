"""Conversations with a proxy whose routes have filters, told alike over HTTP/1.1 and HTTP/2."""

from __future__ import annotations

from typing import ClassVar, Protocol

from attrs import frozen

from ingress.filters import Filter, FilterSpec, Phase
from ingress.proxy.dispatch.site import SessionRules
from ingress.proxy.downstream.h2_session import DownstreamSession
from tests.fakes.http2.client import Http2Client, MemoryWire
from tests.fakes.http2.frames import RST_STREAM, data, frame
from tests.fakes.specs import SpecOf
from tests.proxy.playing import ONE, ProxyCase

Fields = tuple[tuple[bytes, bytes], ...]


@frozen
class Heard:
    """An answer as far as it came."""

    status: int
    """0 as long as there is none."""
    fields: tuple[tuple[bytes, bytes], ...] = ()
    """Names in lower case."""
    body: bytes = b""
    is_whole: bool = False
    is_cut: bool = False
    """Whether the client can see that it will never be whole."""
    interim: tuple[int, ...] = ()

    def all(self, name: bytes) -> list[bytes]:
        """Return the values of all fields called *name*."""
        return [value for called, value in self.fields if called == name]


class Asking(Protocol):
    """A client with one request."""

    def ask(
        self, method: bytes = b"GET", target: bytes = b"/", fields: Fields = (), length: int | None = None
    ) -> None:
        """Send the head; *length* is that of the body, None for no body, -1 for one without a length."""

    def send(self, piece: bytes, ended: bool = False) -> None:
        """Send some of the body."""

    def leave(self) -> None:
        """Go away."""

    def heard(self) -> Heard:
        """Return what came."""


class AskingHttp1:
    """One over HTTP/1.1."""

    def __init__(self, case: ProxyCase, secure: bool, window: int | None) -> None:
        self.peer = case.stage.open(secure, window)
        self._method = b""
        self._is_chunked = False

    def ask(
        self, method: bytes = b"GET", target: bytes = b"/", fields: Fields = (), length: int | None = None
    ) -> None:
        """Send the head."""
        self._method = method
        lines = [b"%b %b HTTP/1.1" % (method, target), b"Host: shop.test"]
        lines += [b"%b: %b" % field for field in fields]
        self._is_chunked = length == -1
        if self._is_chunked:
            lines.append(b"Transfer-Encoding: chunked")
        elif length is not None:
            lines.append(b"Content-Length: %d" % length)
        self.peer.say(b"\r\n".join([*lines, b"", b""]))

    def send(self, piece: bytes, ended: bool = False) -> None:
        """Send some of the body."""
        if self._is_chunked:
            piece = (b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b"") + (
                b"0\r\n\r\n" if ended else b""
            )
        self.peer.say(piece)

    def leave(self) -> None:
        """Go away."""
        self.peer.reset()

    def heard(self) -> Heard:
        """Return what came."""
        rest = self.peer.received
        interim: list[int] = []
        while True:
            head, end, rest = rest.partition(b"\r\n\r\n")
            if not end:
                return Heard(0, interim=tuple(interim), is_cut=self.peer.closed)
            status = int(head[9:12])
            if status >= 200 or status == 101:
                break
            interim.append(status)
        pairs = [line.partition(b": ") for line in head.split(b"\r\n")[1:]]
        fields = tuple((name.lower(), value) for name, _, value in pairs)
        known = dict(fields)
        if known.get(b"transfer-encoding") == b"chunked":
            body, is_whole = _unchunked(rest)
        else:
            body, is_whole = rest, len(rest) == int(known.get(b"content-length", b"0"))
        is_whole = is_whole or self._method == b"HEAD"
        return Heard(status, fields, body, is_whole, not is_whole and self.peer.closed, tuple(interim))


def _unchunked(octets: bytes) -> tuple[bytes, bool]:
    body = b""
    while octets:
        size, end, octets = octets.partition(b"\r\n")
        if not end:
            break
        length = int(size, 16)
        if not length:
            return body, octets == b"\r\n"
        body, octets = body + octets[:length], octets[length + 2 :]
    return body, False


class AskingHttp2:
    """One over a stream of HTTP/2."""

    def __init__(self, case: ProxyCase, secure: bool, window: int | None) -> None:
        case.stage.site.sessions = SessionRules(DownstreamSession, by_prior_knowledge=True)
        self.client = Http2Client(MemoryWire(case.reactor, case.stage.open(secure)))
        self.client.begin(*(() if window is None else ((4, window),)))

    def ask(
        self, method: bytes = b"GET", target: bytes = b"/", fields: Fields = (), length: int | None = None
    ) -> None:
        """Send the head."""
        more = list(fields)
        if length is not None and length >= 0:
            more.append((b"content-length", b"%d" % length))
        ended = length is None or length == 0
        self.client.send(self.client.request(1, ended=ended, method=method, path=target, more=more))

    def send(self, piece: bytes, ended: bool = False) -> None:
        """Send some of the body; whoever says its length ends it there."""
        self.client.send(data(1, piece, ended))

    def leave(self) -> None:
        """Reset the stream."""
        self.client.send(frame(RST_STREAM, b"\0\0\0\x08", 0, 1))

    def heard(self) -> Heard:
        """Return what came."""
        self.client.look()
        heads = self.client.heads(1)
        interim = [int(dict(head)[b":status"]) for head in heads]
        interim = [status for status in interim if status < 200]
        is_cut = any(each.stream == 1 for each in self.client.of(RST_STREAM))
        if len(heads) == len(interim):
            return Heard(0, interim=tuple(interim), is_cut=is_cut)
        head = heads[len(interim)]
        is_whole = any(each.stream == 1 and each.ends_stream for each in self.client.frames)
        fields = tuple(pair for pair in head if pair[0] != b":status")
        status = int(dict(head)[b":status"])
        return Heard(status, fields, self.client.body(1), is_whole, is_cut and not is_whole, tuple(interim))


class FilterCase(ProxyCase):
    """A stage whose route has filters; everything here holds in both protocols."""

    is_http2: ClassVar[bool] = False

    def client(self, secure: bool = False, window: int | None = None) -> Asking:
        """Open a connection."""
        return (AskingHttp2 if self.is_http2 else AskingHttp1)(self, secure, window)

    def filter_by(self, *filters: Filter, **more: object) -> None:
        """Have these before the only route, from the outermost to the innermost."""
        specs = tuple(SpecOf(each, f"f{number}") for number, each in enumerate(filters))
        self.stage.publish((ONE,), filters=specs, **more)  # type: ignore[arg-type]

    def get(self, **asked: object) -> Asking:
        """Send a GET."""
        client = self.client()
        client.ask(**asked)  # type: ignore[arg-type]
        return client

    def failures(self, name: str = "f0") -> float:
        """Return how often filter *name* failed."""
        return self.metrics.value("ingress_filter_failures_total", filter=name)

    @staticmethod
    def spec(live: Filter, name: str = "test", phase: Phase = Phase.ACCESS) -> FilterSpec:
        """Return a spec of *live*."""
        return SpecOf(live, name, phase)
