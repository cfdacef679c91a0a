"""How a connection starts, what a frame is, and how field blocks are made of frames."""

from __future__ import annotations

from tests.fakes.http2.client import Http2Client
from tests.fakes.http2.frames import (
    COMPRESSION_ERROR,
    FRAME_SIZE_ERROR,
    INITIAL_WINDOW_SIZE,
    MAX_FRAME_SIZE,
    PING,
    PREFACE,
    PROTOCOL_ERROR,
    block,
    continuation,
    data,
    frame,
    goaway,
    headers,
    ping,
    priority,
    reset,
    settings,
)
from tests.http2.conformance.rows import (
    Answers,
    Closes,
    Pongs,
    Row,
    SetsFirst,
    WrongError,
    connection_fails,
    get,
    post,
    stream_fails,
    with_block,
)

UNKNOWN = 0x16
MOST = (1 << 24) - 1
"""The longest payload that a frame can have."""
LONG = [(b"x-long", b"x" * 4000)]
FILLER = [(b"x-filler-%d" % number, b"x" * 4000) for number in range(5)]
MORE = block([(b"x-more", b"yes")])


def largest_frame(client: Http2Client) -> int:
    """The longest payload that the server takes."""
    return client.settings.get(MAX_FRAME_SIZE, 16384)


def too_large(client: Http2Client) -> bytes:
    """A DATA frame that is too long; whoever takes all that can be written has none."""
    size = largest_frame(client)
    if size == MOST:
        raise WrongError("no frame is too large for it")
    return data(1, b"x" * (size + 1), ended=True)


STARTING = (
    Row(
        "3.4",
        "the server answers the preface with SETTINGS of its own",
        (PREFACE + settings((INITIAL_WINDOW_SIZE, 65535)),),
        SetsFirst(),
        shakes_hands=False,
    ),
    Row(
        "3.4",
        "another preface ends the connection",
        (b"INVALID CONNECTION PREFACE\r\n\r\n",),
        Closes(),
        shakes_hands=False,
    ),
)

FRAMES = (
    Row("4.1", "a frame of an unknown type is ignored", (frame(UNKNOWN, bytes(8)), ping()), Pongs()),
    Row("4.1", "flags without a meaning are ignored", (frame(PING, bytes(8), 0x16),), Pongs()),
    Row("4.1", "the reserved bit is ignored", (frame(PING, bytes(8), 0x16, 1 << 31),), Pongs()),
    Row(
        "4.2",
        "a DATA frame of the greatest size is taken",
        (post(), lambda client: data(1, b"x" * largest_frame(client), ended=True)),
        Answers(),
    ),
    Row(
        "4.2",
        "a DATA frame beyond the greatest size is an error of its size",
        (post(), too_large),
        stream_fails(FRAME_SIZE_ERROR),
    ),
    Row(
        "4.2",
        "a HEADERS frame beyond the greatest size ends the connection",
        (get(more=FILLER),),
        connection_fails(FRAME_SIZE_ERROR),
    ),
    Row(
        "5.4.1",
        "a connection error ends the connection",
        (frame(PING, bytes(8), 0, 3),),
        Closes(),
    ),
    Row("5.5", "a frame of an unknown extension is ignored", (frame(UNKNOWN, bytes(8)), ping()), Pongs()),
    Row(
        "5.5",
        "a frame of an unknown extension within a field block ends the connection",
        (with_block(lambda fields: headers(1, fields, whole=False)), frame(UNKNOWN, bytes(8))),
        connection_fails(PROTOCOL_ERROR),
    ),
    Row("7", "GOAWAY with an unknown code is like any other", (goaway(code=0xFF),), Closes()),
    Row("7", "RST_STREAM with an unknown code is like any other", (post(), reset(1, 0xFF), ping()), Pongs()),
)

BLOCKS = (
    Row(
        "4.3",
        "a field block that breaks off ends the connection",
        (headers(1, b"\x40"),),
        connection_fails(COMPRESSION_ERROR),
    ),
    Row(
        "4.3",
        "PRIORITY within a field block ends the connection",
        (
            with_block(lambda fields: headers(1, fields, ended=False, whole=False)),
            priority(1),
            continuation(1, MORE),
        ),
        connection_fails(PROTOCOL_ERROR),
    ),
    Row(
        "4.3",
        "HEADERS of another stream within a field block end the connection",
        (
            with_block(lambda fields: headers(1, fields, ended=False, whole=False)),
            get(3),
            continuation(1, MORE),
        ),
        connection_fails(PROTOCOL_ERROR),
    ),
    Row(
        "6.10",
        "long CONTINUATION frames go on with a field block",
        (
            with_block(lambda fields: headers(1, fields, whole=False)),
            continuation(1, block(LONG), whole=False),
            continuation(1, block(LONG)),
        ),
        Answers(),
    ),
    Row(
        "6.10",
        "DATA after an unfinished CONTINUATION ends the connection",
        (
            with_block(lambda fields: headers(1, fields, ended=False, whole=False), b"POST"),
            continuation(1, block(LONG), whole=False),
            data(1, b"test", ended=True),
        ),
        connection_fails(PROTOCOL_ERROR),
    ),
    Row(
        "6.10",
        "CONTINUATION on stream 0 ends the connection",
        (with_block(lambda fields: headers(1, fields, whole=False)), continuation(0, MORE)),
        connection_fails(PROTOCOL_ERROR),
    ),
    Row(
        "6.10",
        "CONTINUATION after whole HEADERS ends the connection",
        (get(), continuation(1, MORE)),
        connection_fails(PROTOCOL_ERROR),
    ),
    Row(
        "6.10",
        "CONTINUATION after a last CONTINUATION ends the connection",
        (
            with_block(lambda fields: headers(1, fields, whole=False)),
            continuation(1, MORE),
            continuation(1, MORE),
        ),
        connection_fails(PROTOCOL_ERROR),
    ),
    Row(
        "6.10",
        "CONTINUATION after DATA ends the connection",
        (
            with_block(lambda fields: headers(1, fields, ended=False, whole=False), b"POST"),
            data(1, b"test", ended=True),
            continuation(1, MORE, whole=False),
            continuation(0, MORE),
        ),
        connection_fails(PROTOCOL_ERROR),
    ),
)

ROWS = STARTING + FRAMES + BLOCKS
