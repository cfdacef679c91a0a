"""In which state a stream takes which frame, and which streams a client may open."""

from __future__ import annotations

from attrs import frozen

from tests.fakes.http2.client import Http2Client
from tests.fakes.http2.frames import (
    CANCEL,
    INITIAL_WINDOW_SIZE,
    MAX_CONCURRENT_STREAMS,
    PROTOCOL_ERROR,
    REFUSED_STREAM,
    RST_STREAM,
    STREAM_CLOSED,
    Frame,
    block,
    continuation,
    data,
    headers,
    priority,
    reset,
    settings,
    window_update,
)
from tests.http2.conformance.rows import (
    Outcome,
    Row,
    connection_fails,
    get,
    has_ended,
    post,
    stream_fails,
    with_block,
)

MORE = block([(b"x-more", b"yes")])


def too_many(client: Http2Client) -> bytes:
    """One request more than the server takes at a time."""
    return b"".join(client.request(2 * number + 1) for number in range(most_streams(client) + 1))


def most_streams(client: Http2Client) -> int:
    """How many streams the server takes at a time; a server that says no number gets a thousand."""
    return client.settings.get(MAX_CONCURRENT_STREAMS, 1000)


@frozen
class OneTooMany(Outcome):
    """The last stream is refused; strictly it alone, and so that it may be tried again."""

    def meets(self, frames: list[Frame], client: Http2Client, strict: bool) -> bool:
        resets = [(each.stream, each.code) for each in frames if each.kind == RST_STREAM]
        if strict:
            return resets == [(2 * most_streams(client) + 1, REFUSED_STREAM)]
        return client.closed or any(code in (PROTOCOL_ERROR, REFUSED_STREAM) for _, code in resets)


IDLE = (
    Row("5.1", "DATA on an idle stream", (data(1, b"test", ended=True),), connection_fails(PROTOCOL_ERROR)),
    Row("5.1", "RST_STREAM on an idle stream", (reset(1),), connection_fails(PROTOCOL_ERROR)),
    Row("5.1", "WINDOW_UPDATE on an idle stream", (window_update(1, 100),), connection_fails(PROTOCOL_ERROR)),
    Row(
        "5.1",
        "CONTINUATION on an idle stream",
        (with_block(lambda fields: continuation(1, fields)),),
        connection_fails(PROTOCOL_ERROR),
    ),
)

HALF_CLOSED = (
    Row(
        "5.1",
        "DATA on a half-closed (remote) stream",
        (get(), data(1, b"test", ended=True)),
        stream_fails(STREAM_CLOSED),
    ),
    Row("5.1", "HEADERS on a half-closed (remote) stream", (get(), get()), stream_fails(STREAM_CLOSED)),
    Row(
        "5.1",
        "CONTINUATION on a half-closed (remote) stream",
        (get(), with_block(lambda fields: continuation(1, fields))),
        stream_fails(STREAM_CLOSED, PROTOCOL_ERROR),
    ),
)

CLOSED = (
    Row(
        "5.1",
        "DATA after RST_STREAM",
        (post(), reset(1, CANCEL), data(1, b"test", ended=True)),
        stream_fails(STREAM_CLOSED),
    ),
    Row("5.1", "HEADERS after RST_STREAM", (post(), reset(1, CANCEL), get()), stream_fails(STREAM_CLOSED)),
    Row(
        "5.1",
        "CONTINUATION after RST_STREAM",
        (post(), reset(1, CANCEL), continuation(1, MORE)),
        stream_fails(STREAM_CLOSED, PROTOCOL_ERROR),
    ),
    Row(
        "5.1",
        "DATA after both sides ended",
        (get(), has_ended(), data(1, b"test", ended=True)),
        stream_fails(STREAM_CLOSED),
    ),
    Row(
        "5.1", "HEADERS after both sides ended", (get(), has_ended(), get()), connection_fails(STREAM_CLOSED)
    ),
    Row(
        "5.1",
        "CONTINUATION after both sides ended",
        (get(), has_ended(), continuation(1, MORE)),
        connection_fails(STREAM_CLOSED, PROTOCOL_ERROR),
    ),
)

IDENTIFIERS = (
    Row("5.1.1", "an even stream is none of a client's", (get(2),), connection_fails(PROTOCOL_ERROR)),
    Row(
        "5.1.1",
        "a stream below one that was opened is closed",
        (get(5), get(3)),
        connection_fails(PROTOCOL_ERROR, STREAM_CLOSED),
    ),
    Row(
        "5.1.2",
        "one stream too many is refused",
        (settings((INITIAL_WINDOW_SIZE, 0)), too_many),
        OneTooMany(),
    ),
)

DEPENDENCIES = (
    Row(
        "5.3.1",
        "HEADERS that depend on their own stream",
        (with_block(lambda fields: headers(1, fields, depends_on=1)),),
        stream_fails(PROTOCOL_ERROR),
    ),
    Row(
        "5.3.1",
        "PRIORITY that depends on its own stream",
        (priority(1, depends_on=1),),
        stream_fails(PROTOCOL_ERROR),
    ),
)

ROWS = IDLE + HALF_CLOSED + CLOSED + IDENTIFIERS + DEPENDENCIES
