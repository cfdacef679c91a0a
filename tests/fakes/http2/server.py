"""The other end of connections of ours that speak HTTP/2: it answers what it is told, in whatever order of frames.

Like the raw client, whose eyes it has, it shares no code with the proxy.
"""

from __future__ import annotations

from tests.fakes.http2.client import Http2Client, Wire
from tests.fakes.http2.frames import HEADERS, PREFACE, Fields, Frame, block, data, headers, settings


class Http2Server(Http2Client):
    """The server's end of one connection."""

    def __init__(self, wire: Wire) -> None:
        super().__init__(wire)
        self._preface = PREFACE

    def greet(self, *values: tuple[int, int]) -> None:
        """Send what a server says first, and acknowledge what the client said."""
        self.send(settings(*values))
        self.acknowledge()

    def requests(self) -> list[Frame]:
        """Return the HEADERS frames that came, one for each request."""
        self.look()
        return self.of(HEADERS)

    def fields(self, stream: int) -> dict[bytes, bytes]:
        """Return the fields of a request, of which each must come once."""
        self.look()
        (head,) = self.heads(stream)
        found = dict(head)
        assert len(found) == len(head), head
        return found

    def answer(
        self,
        stream: int,
        body: bytes = b"ok",
        status: bytes = b"200",
        more: Fields = (),
        trailers: Fields | None = None,
    ) -> None:
        """Send a whole answer in one piece."""
        self.send(answer(stream, body, status, more, trailers))

    def _feed(self, octets: bytes) -> None:
        if self._preface and octets:
            said = octets[: len(self._preface)]
            assert self._preface.startswith(said), octets
            self._preface = self._preface[len(said) :]
            octets = octets[len(said) :]
        super()._feed(octets)


def answer(
    stream: int,
    body: bytes = b"ok",
    status: bytes = b"200",
    more: Fields = (),
    trailers: Fields | None = None,
) -> bytes:
    """Return the frames of a whole answer."""
    octets = headers(stream, block([(b":status", status), *more]), ended=not body and trailers is None)
    if body:
        octets += data(stream, body, ended=trailers is None)
    if trailers is not None:
        octets += headers(stream, block(trailers))
    return octets
