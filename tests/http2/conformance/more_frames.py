"""Rules about frames, streams and windows that the well-known cases leave out."""

from __future__ import annotations

from attrs import frozen

from tests.fakes.http2.client import Http2Client
from tests.fakes.http2.frames import (
    ACK,
    CANCEL,
    CONTINUATION,
    ENABLE_CONNECT_PROTOCOL,
    ENABLE_PUSH,
    END_HEADERS,
    FLOW_CONTROL_ERROR,
    FRAME_SIZE_ERROR,
    GOAWAY,
    HEADER_TABLE_SIZE,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    LARGEST_WINDOW,
    MAX_CONCURRENT_STREAMS,
    PADDED,
    PING,
    PREFACE,
    PRIORITY,
    PROTOCOL_ERROR,
    RST_STREAM,
    SETTINGS,
    STREAM_CLOSED,
    WITH_PRIORITY,
    Frame,
    block,
    data,
    frame,
    goaway,
    headers,
    ping,
    priority,
    reset,
    settings,
    window_update,
)
from tests.http2.conformance.rows import (
    ACKNOWLEDGED,
    GOT_DATA,
    Answers,
    Outcome,
    Pongs,
    Row,
    SendsData,
    Wait,
    connection_fails,
    get,
    has_ended,
    post,
    stream_fails,
    with_block,
)

USUAL_WINDOW = 65535
SHORT_BODY = [(b"content-length", b"1")]
WAS_RESET = Wait("a reset", lambda frames: any(each.kind == RST_STREAM for each in frames))


@frozen
class AnswersAndCloses(Outcome):
    """The whole answer on stream 1, and then the end in order: GOAWAY without an error."""

    def meets(self, frames: list[Frame], client: Http2Client, strict: bool) -> bool:
        told = not strict or any(each.kind == GOAWAY and not each.code for each in frames)
        return client.has_ended(1) and client.closed and told


@frozen
class FailsAndTellsOnce(Outcome):
    """One GOAWAY with the code and the last stream that was looked at, and nothing behind it."""

    code: int
    last: int

    def meets(self, frames: list[Frame], client: Http2Client, strict: bool) -> bool:
        told = [(each.code, each.last_stream) for each in frames if each.kind == GOAWAY]
        return told == [(self.code, self.last)] and frames[-1].kind == GOAWAY and client.closed


@frozen
class PongsWithoutReset(Pongs):
    """PING is answered, and no stream was reset: RST_STREAM is never answered with RST_STREAM."""

    def meets(self, frames: list[Frame], client: Http2Client, strict: bool) -> bool:
        return super().meets(frames, client, strict) and not any(each.kind == RST_STREAM for each in frames)


STARTING = (
    Row(
        "3.4",
        "another frame than SETTINGS first",
        (PREFACE + ping(),),
        connection_fails(PROTOCOL_ERROR),
        shakes_hands=False,
    ),
    Row(
        "3.4",
        "an acknowledgment first",
        (PREFACE + frame(SETTINGS, b"", ACK),),
        connection_fails(PROTOCOL_ERROR),
        shakes_hands=False,
    ),
    Row("3.4", "a second preface", (PREFACE,), connection_fails(FRAME_SIZE_ERROR, PROTOCOL_ERROR)),
    Row(
        "5.4.1",
        "an error is told once with the last stream and nothing follows",
        (get(), has_ended(), get(3), has_ended(3), frame(PING, bytes(8), 0, 3), get(5), ping()),
        FailsAndTellsOnce(PROTOCOL_ERROR, 3),
    ),
)

FRAMES = (
    Row(
        "4.1",
        "the reserved bit of a request is ignored",
        (with_block(lambda fields: frame(HEADERS, fields, 0x5, 1 | 1 << 31)),),
        Answers(),
    ),
    Row(
        "4.1", "an unknown frame on an idle stream is ignored", (frame(0x42, b"x", 0xFF, 9), get()), Answers()
    ),
    Row(
        "4.2",
        "SETTINGS beyond the greatest size",
        (frame(SETTINGS, bytes(16386)),),
        connection_fails(FRAME_SIZE_ERROR),
    ),
    Row(
        "4.2",
        "CONTINUATION beyond the greatest size",
        (
            with_block(lambda fields: headers(1, fields, whole=False)),
            frame(CONTINUATION, block([(b"x", b"y" * 16384)]), END_HEADERS, 1),
        ),
        connection_fails(FRAME_SIZE_ERROR),
    ),
    Row(
        "6.2",
        "HEADERS too short for their priority",
        (frame(HEADERS, b"\0\0\0\0", 0x5 | WITH_PRIORITY, 1),),
        connection_fails(FRAME_SIZE_ERROR, PROTOCOL_ERROR),
    ),
    Row(
        "6.2",
        "HEADERS too short for the length of their padding",
        (frame(HEADERS, b"", 0x5 | PADDED, 1),),
        connection_fails(FRAME_SIZE_ERROR, PROTOCOL_ERROR),
    ),
    Row(
        "6.2",
        "HEADERS with priority and padding at once",
        (with_block(lambda fields: headers(1, fields, padding=200, depends_on=0)),),
        Answers(),
    ),
    Row("6.1", "DATA that is all padding", (post(), data(1, b"", True, padding=255)), Answers()),
    Row("6.1", "empty DATA may end a request", (post(), data(1, b"", ended=True)), Answers()),
    Row("6.8", "GOAWAY that is too short", (frame(GOAWAY, bytes(7)),), connection_fails(FRAME_SIZE_ERROR)),
    Row("6.8", "GOAWAY lets open requests be answered", (get(), goaway()), AnswersAndCloses()),
    Row(
        "6.8",
        "GOAWAY of a client comes to nothing for its requests",
        (post(), goaway(), data(1, b"x", True)),
        AnswersAndCloses(),
    ),
    Row(
        "6.5.2",
        "extreme settings are taken",
        (
            settings(
                (HEADER_TABLE_SIZE, 0),
                (HEADER_TABLE_SIZE, 2**32 - 1),
                (ENABLE_PUSH, 0),
                (MAX_CONCURRENT_STREAMS, 0),
                (INITIAL_WINDOW_SIZE, LARGEST_WINDOW),
                (5, 2**24 - 1),
                (6, 0),
                (ENABLE_CONNECT_PROTOCOL, 1),
            ),
            get(),
        ),
        Answers(),
    ),
)

STREAMS = (
    Row(
        "5.1",
        "whatever follows on a stream that the server reset is taken",
        (
            post(more=SHORT_BODY),
            data(1, b"test"),
            WAS_RESET,
            data(1, b"more"),
            window_update(1, 1),
            priority(1),
            data(1, b"last", ended=True),
            reset(1),
            ping(),
        ),
        PongsWithoutReset(),
    ),
    Row(
        "5.1",
        "WINDOW_UPDATE and PRIORITY and RST_STREAM after both sides ended are harmless",
        (get(), has_ended(), window_update(1, 1), priority(1), reset(1), ping()),
        PongsWithoutReset(),
    ),
    Row(
        "5.4.2",
        "RST_STREAM is not answered with RST_STREAM",
        (post(), reset(1, CANCEL), ping()),
        PongsWithoutReset(),
    ),
    Row("5.1.1", "streams may be left out", (get(1), get(101)), Answers(101)),
    Row(
        "5.1.1",
        "a stream that was left out is closed",
        (get(1), get(101), get(99)),
        connection_fails(PROTOCOL_ERROR, STREAM_CLOSED),
    ),
    Row(
        "5.1.1",
        "DATA on a stream that was left out",
        (get(1), get(101), data(99, b"x")),
        connection_fails(PROTOCOL_ERROR, STREAM_CLOSED),
    ),
    Row(
        "5.1.1",
        "WINDOW_UPDATE on an even stream",
        (get(), window_update(2, 1)),
        connection_fails(PROTOCOL_ERROR),
    ),
    Row("5.1.1", "RST_STREAM on an even stream", (get(), reset(2)), connection_fails(PROTOCOL_ERROR)),
    Row("6.3", "PRIORITY on an even stream is harmless", (priority(2), get()), Answers()),
    Row(
        "6.3",
        "PRIORITY of another length on an idle stream",
        (frame(PRIORITY, bytes(6), 0, 7),),
        stream_fails(FRAME_SIZE_ERROR, stream=7),
    ),
    Row("5.1", "a request on the largest stream", (get(LARGEST_WINDOW),), Answers(LARGEST_WINDOW)),
)

WINDOWS = (
    Row(
        "6.9.1",
        "the largest window of the connection is taken",
        (window_update(0, LARGEST_WINDOW - USUAL_WINDOW), ping()),
        Pongs(),
    ),
    Row(
        "6.9", "the reserved bit of an increment is ignored", (window_update(0, 1 | 1 << 31), ping()), Pongs()
    ),
    Row(
        "6.9",
        "an increment of nothing but the reserved bit",
        (window_update(0, 1 << 31),),
        connection_fails(PROTOCOL_ERROR),
    ),
    Row(
        "6.9.2",
        "a setting that makes a window too large ends the connection",
        (
            post(),
            window_update(1, LARGEST_WINDOW - USUAL_WINDOW),
            settings((INITIAL_WINDOW_SIZE, USUAL_WINDOW + 1)),
        ),
        connection_fails(FLOW_CONTROL_ERROR),
    ),
    Row(
        "6.9.2",
        "the window of the connection stays as it is with another setting",
        (settings((INITIAL_WINDOW_SIZE, LARGEST_WINDOW)), ping()),
        Pongs(),
    ),
    Row(
        "6.5.3",
        "nothing is sent between two values of a setting",
        (
            settings((INITIAL_WINDOW_SIZE, 0)),
            ACKNOWLEDGED,
            get(),
            Wait("a head", lambda frames: any(each.kind == HEADERS for each in frames)),
            settings((INITIAL_WINDOW_SIZE, 5), (INITIAL_WINDOW_SIZE, 1)),
        ),
        SendsData(1),
    ),
    Row(
        "6.9.2",
        "a window far below zero has to be filled first",
        (
            settings((INITIAL_WINDOW_SIZE, 5)),
            ACKNOWLEDGED,
            get(),
            GOT_DATA,
            settings((INITIAL_WINDOW_SIZE, 0)),
            ACKNOWLEDGED,
            window_update(1, 5),
            settings((INITIAL_WINDOW_SIZE, 3)),
        ),
        SendsData(3),
    ),
)

ROWS = STARTING + FRAMES + STREAMS + WINDOWS
