"""Floods: what a hostile client sends, and how soon it must be over; and busy clients that must not be taken for one.

A flood is a stream of *pieces*, each a handful of frames; ``within`` is how many pieces a
server may take before it ends the connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from attrs import frozen

from tests.fakes.http2.client import Http2Client
from tests.fakes.http2.frames import (
    ACK,
    COMPRESSION_ERROR,
    ENHANCE_YOUR_CALM,
    INITIAL_WINDOW_SIZE,
    LARGEST_WINDOW,
    PRIORITY,
    SETTINGS,
    block,
    continuation,
    data,
    frame,
    headers,
    literal,
    ping,
    priority,
    request_fields,
    reset,
    settings,
    table_size,
    window_update,
)

Pieces = Callable[[Http2Client], Iterator[bytes]]
PAGE = b"/large"
"""Answered with more than any window of a client here takes."""


@frozen
class Flood:
    """What is sent, and within how many pieces the connection must end."""

    name: str
    pieces: Pieces
    within: int
    codes: tuple[int, ...] = (ENHANCE_YOUR_CALM,)


def request_ids() -> Iterator[int]:
    """The streams of a client."""
    return count(1, 2)


def on_each_request(*make: Callable[[int], bytes], count: int = 5000, ended: bool = True) -> Pieces:
    """Begin a request, and send these frames behind it, again and again."""

    def pieces(client: Http2Client) -> Iterator[bytes]:
        for stream, _ in zip(request_ids(), range(count), strict=False):
            yield client.request(stream, ended=ended) + b"".join(each(stream) for each in make)

    return pieces


def again(octets: bytes, count: int = 20_000) -> Pieces:
    """The same frames again and again."""
    return lambda client: (octets for _ in range(count))


def after_request(octets: bytes, count: int = 20_000, ended: bool = True, path: bytes = PAGE) -> Pieces:
    """Begin one request; then the same frames again and again."""

    def pieces(client: Http2Client) -> Iterator[bytes]:
        yield client.request(1, ended=ended, path=path, method=b"GET" if ended else b"POST")
        yield from again(octets, count)(client)

    return pieces


def endless_block(fragment: bytes) -> Pieces:
    """A field block that goes on and on."""

    def pieces(client: Http2Client) -> Iterator[bytes]:
        fields = block(request_fields(authority=client.authority, scheme=client.scheme))
        yield headers(1, fields, whole=False)
        for _ in range(20_000):
            yield continuation(1, fragment, whole=False)

    return pieces


def bomb(client: Http2Client) -> Iterator[bytes]:
    """One large entry of the table, named thousands of times by an octet each."""
    fields = block(request_fields(authority=client.authority, scheme=client.scheme))
    for stream in request_ids():
        yield headers(stream, fields + literal(b"x-large", b"x" * 3900, 0x40) + b"\xbe" * 12_000)


def empty_fields(client: Http2Client) -> Iterator[bytes]:
    """Requests with thousands of fields that are nothing."""
    fields = block(request_fields(authority=client.authority, scheme=client.scheme))
    for stream in request_ids():
        yield headers(stream, fields + literal(b"", b"") * 4000)


def swings(client: Http2Client) -> Iterator[bytes]:
    """Let the windows of a hundred blocked streams go up and down."""
    yield settings((INITIAL_WINDOW_SIZE, 0))
    yield b"".join(client.request(2 * number + 1, path=PAGE) for number in range(100))
    for number in range(4000):
        yield settings((INITIAL_WINDOW_SIZE, number % 2))


def dribble(client: Http2Client) -> Iterator[bytes]:
    """Take an answer byte by byte."""
    yield settings((INITIAL_WINDOW_SIZE, 0)) + client.request(1, path=PAGE)
    yield from again(window_update(1, 1), 10_000)(client)


def refused(client: Http2Client) -> Iterator[bytes]:
    """Keep all streams busy, and begin more."""
    yield settings((INITIAL_WINDOW_SIZE, 0))
    for stream, _ in zip(request_ids(), range(5000), strict=False):
        yield client.request(stream, path=PAGE)


MADE_YOU_RESET = (
    Flood(
        "streams reset for an empty window update", on_each_request(lambda id_: window_update(id_, 0)), 1500
    ),
    Flood(
        "streams reset for a window too large",
        on_each_request(lambda id_: window_update(id_, LARGEST_WINDOW)),
        1500,
    ),
    Flood(
        "streams reset for a second head",
        on_each_request(lambda id_: headers(id_, block([(b"x", b"y")]))),
        1500,
    ),
    Flood("streams reset for a body after the end", on_each_request(lambda id_: data(id_, b"x")), 1500),
    Flood(
        "streams reset for a priority of another size",
        on_each_request(lambda id_: frame(PRIORITY, bytes(4), 0, id_)),
        1500,
    ),
    Flood(
        "streams reset for depending on themselves",
        on_each_request(lambda id_: priority(id_, depends_on=id_)),
        1500,
    ),
)
"""The server resets, so that nobody counts what the client resets."""

FLOODS = (
    Flood("requests that are reset at once", on_each_request(reset), 1500),
    Flood("uploads that are reset at once", on_each_request(reset, ended=False), 1500),
    *MADE_YOU_RESET,
    Flood("more requests than there are streams", refused, 1500),
    Flood("a field block in full frames", endless_block(block([(b"x-filler", b"x" * 16_000)])), 64),
    Flood("a field block in small frames", endless_block(block([(b"x", b"y")])), 64),
    Flood("a field block in empty frames", endless_block(b""), 64),
    Flood("SETTINGS", again(settings((INITIAL_WINDOW_SIZE, 65535))), 1000),
    Flood("empty SETTINGS", again(settings()), 1000),
    Flood("SETTINGS with a thousand values", again(settings(*[(INITIAL_WINDOW_SIZE, 65535)] * 1000)), 1000),
    Flood("acknowledgments of no SETTINGS", again(frame(SETTINGS, b"", ACK)), 1000),
    Flood("PING", again(ping()), 1000),
    Flood("answers to no PING", again(ping(ack=True)), 1000),
    Flood("empty DATA", after_request(data(1), ended=False, path=b"/"), 1000),
    Flood("DATA of padding alone", after_request(data(1, b"", padding=255), ended=False, path=b"/"), 1000),
    Flood(
        "DATA of padding and an octet", after_request(data(1, b"x", padding=255), 200_000, False, b"/"), 5000
    ),
    Flood("PRIORITY", again(priority(1, depends_on=3)), 10_000),
    Flood("frames of an unknown type", again(frame(0x16, bytes(8))), 1000),
    Flood("RST_STREAM of closed streams", after_request(reset(1), path=b"/"), 1000),
    Flood("WINDOW_UPDATE of the connection", again(window_update(0, 1)), 10_000),
    Flood("WINDOW_UPDATE of closed streams", after_request(reset(1) + window_update(1, 1)), 10_000),
    Flood("an answer taken byte by byte", dribble, 10_000),
    Flood("windows that go up and down", swings, 4000),
    Flood("a bomb of fields", bomb, 3),
    Flood("fields that are nothing", empty_fields, 1000),
    Flood(
        "updates of the size of the table",
        lambda client: (headers(id_, table_size(0) * 1000) for id_ in request_ids()),
        1,
        (COMPRESSION_ERROR, ENHANCE_YOUR_CALM),
    ),
)
