"""What a row of the table is: what a client sends, and what a server may do about it.

A row is played on a connection of its own, after the handshake unless it says otherwise.
Its *steps* are octets, or functions of the client that make them from what the server
has set, or waits.  Its *outcome* looks at what came after the last wait.

An outcome is judged in two ways.  By default it grants what the RFC grants: any connection
error may also be the end of the connection, and a stream error a connection error.
*Strictly*, which is how the proxy is judged, a connection error is GOAWAY with the code
**and** the end of the connection, and a request that must be answered gets a 200.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import frozen

from tests.fakes.http2.client import Http2Client
from tests.fakes.http2.frames import (
    ACK,
    DATA,
    GOAWAY,
    HEADERS,
    PING,
    RST_STREAM,
    SETTINGS,
    Fields,
    Frame,
    block,
    headers,
    request_fields,
)

Octets = Callable[[Http2Client], bytes]


class WrongError(Exception):
    """A server did something else than a row asks for."""


@frozen
class Wait:
    """Go on once frames that came satisfy *condition*; what came until then is past."""

    what: str
    condition: Callable[[list[Frame]], object]


Step = bytes | Octets | Wait


@frozen
class Outcome:
    """What may be seen; ``meets`` is asked with the frames since the last wait."""

    def meets(self, frames: list[Frame], client: Http2Client, strict: bool) -> bool:
        """Return whether this is seen by now."""
        raise NotImplementedError


@frozen
class ConnectionFails(Outcome):
    """GOAWAY with one of *codes*, and the end of the connection."""

    codes: tuple[int, ...]

    def meets(self, frames: list[Frame], client: Http2Client, strict: bool) -> bool:
        told = any(each.kind == GOAWAY and each.code in self.codes for each in frames)
        return told and client.closed if strict else told or client.closed


@frozen
class StreamFails(Outcome):
    """RST_STREAM with one of *codes* on *stream*, or GOAWAY with one of them and the end."""

    codes: tuple[int, ...]
    stream: int = 1

    def meets(self, frames: list[Frame], client: Http2Client, strict: bool) -> bool:
        resets = [each for each in frames if each.kind == RST_STREAM and each.code in self.codes]
        if strict:
            return any(each.stream == self.stream for each in resets) or ConnectionFails(self.codes).meets(
                frames, client, True
            )
        return bool(resets) or ConnectionFails(self.codes).meets(frames, client, False)


@frozen
class Closes(Outcome):
    """The end of the connection, in whatever way."""

    def meets(self, frames: list[Frame], client: Http2Client, strict: bool) -> bool:
        return client.closed


@frozen
class Answers(Outcome):
    """The head of an answer on *stream*; strictly its status is *status*, and nothing was reset."""

    stream: int = 1
    status: int = 200

    def meets(self, frames: list[Frame], client: Http2Client, strict: bool) -> bool:
        found = any(each.kind == HEADERS and each.stream == self.stream for each in frames)
        if not strict or not found:
            return found
        return client.statuses(self.stream)[-1:] == [self.status] and not client.of(RST_STREAM, self.stream)


@frozen
class Pongs(Outcome):
    """PING with ACK and exactly this payload, and none with another."""

    payload: bytes = bytes(8)

    def meets(self, frames: list[Frame], client: Http2Client, strict: bool) -> bool:
        return [each.payload for each in frames if each.kind == PING and each.flags & ACK] == [self.payload]


@frozen
class PongsOrCloses(Pongs):
    """An answer to PING, or the end of the connection; strictly the first."""

    def meets(self, frames: list[Frame], client: Http2Client, strict: bool) -> bool:
        return super().meets(frames, client, strict) or (client.closed and not strict)


@frozen
class Acknowledges(Outcome):
    """SETTINGS with ACK."""

    def meets(self, frames: list[Frame], client: Http2Client, strict: bool) -> bool:
        return any(each.kind == SETTINGS and each.flags & ACK for each in frames)


@frozen
class SetsFirst(Outcome):
    """SETTINGS without ACK comes, strictly before anything else."""

    def meets(self, frames: list[Frame], client: Http2Client, strict: bool) -> bool:
        first = frames[:1] if strict else frames
        return any(each.kind == SETTINGS and not each.flags & ACK for each in first)


@frozen
class SendsData(Outcome):
    """A DATA frame comes; the first one has so many octets, if that is said."""

    length: int | None = None

    def meets(self, frames: list[Frame], client: Http2Client, strict: bool) -> bool:
        found = [len(each.payload) for each in frames if each.kind == DATA and each.payload]
        return bool(found) and self.length in (None, sum(found) if strict else found[0])


@frozen
class Row:
    """One rule: its section of RFC 9113 (or 7541), a sentence, what is sent, and what must follow."""

    section: str
    what: str
    steps: tuple[Step, ...]
    outcome: Outcome
    shakes_hands: bool = True
    values: tuple[tuple[int, int], ...] = ()
    """The settings of the client's preface."""

    @property
    def name(self) -> str:
        """Section and sentence as a name of Python."""
        words = "".join(letter if letter.isalnum() else " " for letter in f"{self.section} {self.what}")
        return "_".join(words.lower().split())


# Words to write rows with


def connection_fails(*codes: int) -> Outcome:
    """A connection error with one of *codes*."""
    return ConnectionFails(codes)


def stream_fails(*codes: int, stream: int = 1) -> Outcome:
    """A stream error with one of *codes*."""
    return StreamFails(codes, stream)


def get(stream: int = 1, more: Fields = (), suffix: bytes = b"", prefix: bytes = b"") -> Octets:
    """A whole GET request; *prefix* and *suffix* are octets around its field block."""
    return lambda client: headers(stream, prefix + _block(client, b"GET", more) + suffix)


def post(stream: int = 1, more: Fields = ()) -> Octets:
    """The head of a POST request whose body follows."""
    return lambda client: headers(stream, _block(client, b"POST", more), ended=False)


def of_method(method: bytes, stream: int = 1) -> Octets:
    """A whole request with this method."""
    return lambda client: headers(stream, _block(client, method))


def with_block(make: Callable[[bytes], bytes], method: bytes = b"GET", more: Fields = ()) -> Octets:
    """Whatever *make* makes of the field block of a plain request."""
    return lambda client: make(_block(client, method, more))


def changed(changes: Mapping[bytes, tuple[bytes, ...]], more: Fields = ()) -> Octets:
    """A GET request in which the pseudo-header fields in *changes* have other values, or none."""

    def render(client: Http2Client) -> bytes:
        plain = request_fields(authority=client.authority, scheme=client.scheme)
        fields = [(name, other) for name, value in plain for other in changes.get(name, (value,))]
        return headers(1, block([*fields, *more]))

    return render


def has_ended(stream: int = 1) -> Wait:
    """Wait for the end of an answer."""
    return Wait(
        f"the end of stream {stream}",
        lambda frames: any(each.stream == stream and each.ends_stream for each in frames),
    )


ACKNOWLEDGED = Wait(
    "an acknowledgment of settings",
    lambda frames: any(each.kind == SETTINGS and each.flags & ACK for each in frames),
)
GOT_DATA = Wait("a DATA frame", lambda frames: any(each.kind == DATA and each.payload for each in frames))


def _block(client: Http2Client, method: bytes, more: Fields = ()) -> bytes:
    return block(request_fields(method, authority=client.authority, scheme=client.scheme, more=more))
