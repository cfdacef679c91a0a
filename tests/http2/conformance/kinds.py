"""What each type of frame must be: its length, its stream, its values."""

from __future__ import annotations

from tests.fakes.http2.frames import (
    ACK,
    DATA,
    ENABLE_PUSH,
    END_STREAM,
    FLOW_CONTROL_ERROR,
    FRAME_SIZE_ERROR,
    GOAWAY,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    MAX_FRAME_SIZE,
    PADDED,
    PING,
    PRIORITY,
    PROTOCOL_ERROR,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    STREAM_CLOSED,
    block,
    continuation,
    data,
    frame,
    headers,
    ping,
    priority,
    reset,
    settings,
)
from tests.http2.conformance.rows import (
    ACKNOWLEDGED,
    Acknowledges,
    Pongs,
    Row,
    SendsData,
    connection_fails,
    get,
    of_method,
    post,
    stream_fails,
    with_block,
)

MORE = block([(b"x-more", b"yes")])

OF_STREAMS = (
    Row("6.1", "DATA on stream 0", (data(0, b"test", ended=True),), connection_fails(PROTOCOL_ERROR)),
    Row(
        "6.1",
        "DATA on a stream that its sender ended",
        (of_method(b"POST"), data(1, b"test", ended=True)),
        stream_fails(STREAM_CLOSED),
    ),
    Row(
        "6.1",
        "DATA with more padding than payload",
        (post(more=[(b"content-length", b"4")]), frame(DATA, b"\x06Test", PADDED | END_STREAM, 1)),
        connection_fails(PROTOCOL_ERROR),
    ),
    Row(
        "6.2",
        "PRIORITY after HEADERS that go on",
        (
            with_block(lambda fields: headers(1, fields, ended=False, whole=False)),
            priority(1),
            continuation(1, MORE),
        ),
        connection_fails(PROTOCOL_ERROR),
    ),
    Row(
        "6.2",
        "HEADERS of another stream after HEADERS that go on",
        (
            with_block(lambda fields: headers(1, fields, ended=False, whole=False)),
            get(3),
            continuation(1, MORE),
        ),
        connection_fails(PROTOCOL_ERROR),
    ),
    Row("6.2", "HEADERS on stream 0", (get(0),), connection_fails(PROTOCOL_ERROR)),
    Row(
        "6.2",
        "HEADERS with more padding than payload",
        (with_block(lambda fields: frame(HEADERS, bytes([len(fields) + 2]) + fields, 0xD, 1)),),
        stream_fails(PROTOCOL_ERROR),
    ),
    Row("6.3", "PRIORITY on stream 0", (priority(0),), connection_fails(PROTOCOL_ERROR)),
    Row(
        "6.3",
        "PRIORITY of another length than 5",
        (get(), frame(PRIORITY, b"\x80\x00\x00\x01", 0, 1)),
        stream_fails(FRAME_SIZE_ERROR),
    ),
    Row("6.4", "RST_STREAM on stream 0", (reset(0),), connection_fails(PROTOCOL_ERROR)),
    Row("6.4", "RST_STREAM on a stream never opened", (reset(1),), connection_fails(PROTOCOL_ERROR)),
    Row(
        "6.4",
        "RST_STREAM of another length than 4",
        (post(), frame(RST_STREAM, bytes(3), 0, 1)),
        connection_fails(FRAME_SIZE_ERROR),
    ),
    Row(
        "8.4",
        "PUSH_PROMISE from a client",
        (with_block(lambda fields: frame(PUSH_PROMISE, b"\x00\x00\x00\x03" + fields, 0x4, 1)),),
        connection_fails(PROTOCOL_ERROR),
    ),
)

OF_CONNECTIONS = (
    Row(
        "6.5",
        "SETTINGS with ACK and a payload",
        (frame(SETTINGS, b"\0", ACK),),
        connection_fails(FRAME_SIZE_ERROR),
    ),
    Row(
        "6.5",
        "SETTINGS on a stream",
        (frame(SETTINGS, bytes.fromhex("000300000064"), 0, 1),),
        connection_fails(PROTOCOL_ERROR),
    ),
    Row(
        "6.5",
        "SETTINGS of a length that is no multiple of 6",
        (frame(SETTINGS, bytes.fromhex("0003000000640002")),),
        connection_fails(FRAME_SIZE_ERROR, PROTOCOL_ERROR),
    ),
    Row(
        "6.5.2",
        "ENABLE_PUSH other than 0 or 1",
        (settings((ENABLE_PUSH, 2)),),
        connection_fails(PROTOCOL_ERROR),
    ),
    Row(
        "6.5.2",
        "INITIAL_WINDOW_SIZE beyond the largest window",
        (settings((INITIAL_WINDOW_SIZE, 1 << 31)),),
        connection_fails(FLOW_CONTROL_ERROR),
    ),
    Row(
        "6.5.2",
        "MAX_FRAME_SIZE below the least",
        (settings((MAX_FRAME_SIZE, 16383)),),
        connection_fails(PROTOCOL_ERROR),
    ),
    Row(
        "6.5.2",
        "MAX_FRAME_SIZE above the greatest",
        (settings((MAX_FRAME_SIZE, 1 << 24)),),
        connection_fails(PROTOCOL_ERROR),
    ),
    Row("6.5.2", "an unknown setting is ignored", (settings((0xFF, 1)), ping()), Pongs()),
    Row(
        "6.5.3",
        "the last of two values is the one that counts",
        (settings((INITIAL_WINDOW_SIZE, 100), (INITIAL_WINDOW_SIZE, 1)), ACKNOWLEDGED, get()),
        SendsData(1),
    ),
    Row("6.5.3", "SETTINGS are acknowledged at once", (settings((ENABLE_PUSH, 0)),), Acknowledges()),
    Row("6.7", "the answer to PING has ACK and the same payload", (ping(b"the same"),), Pongs(b"the same")),
    Row(
        "6.7",
        "PING with ACK is not answered",
        (ping(b"answered", ack=True), ping(b"question")),
        Pongs(b"question"),
    ),
    Row("6.7", "PING on a stream", (frame(PING, bytes(8), 0, 1),), connection_fails(PROTOCOL_ERROR)),
    Row("6.7", "PING of another length than 8", (frame(PING, bytes(6)),), connection_fails(FRAME_SIZE_ERROR)),
    Row("6.8", "GOAWAY on a stream", (frame(GOAWAY, bytes(8), 0, 1),), connection_fails(PROTOCOL_ERROR)),
)

ROWS = OF_STREAMS + OF_CONNECTIONS
