"""Flow control: what a server may send, and what a client may give it."""

from __future__ import annotations

from tests.fakes.http2.frames import (
    FLOW_CONTROL_ERROR,
    FRAME_SIZE_ERROR,
    INITIAL_WINDOW_SIZE,
    LARGEST_WINDOW,
    PROTOCOL_ERROR,
    WINDOW_UPDATE,
    frame,
    settings,
    window_update,
)
from tests.http2.conformance.rows import (
    ACKNOWLEDGED,
    GOT_DATA,
    Row,
    SendsData,
    connection_fails,
    get,
    post,
    stream_fails,
)

ROWS = (
    Row(
        "6.9", "an increment of 0 of the connection", (window_update(0, 0),), connection_fails(PROTOCOL_ERROR)
    ),
    Row("6.9", "an increment of 0 of a stream", (post(), window_update(1, 0)), stream_fails(PROTOCOL_ERROR)),
    Row(
        "6.9",
        "WINDOW_UPDATE of another length than 4",
        (frame(WINDOW_UPDATE, b"\0\0\1"),),
        connection_fails(FRAME_SIZE_ERROR),
    ),
    Row(
        "6.9.1",
        "no more is sent than the window of a stream",
        (settings((INITIAL_WINDOW_SIZE, 1)), ACKNOWLEDGED, get()),
        SendsData(1),
    ),
    Row(
        "6.9.1",
        "a window of the connection beyond the largest",
        (window_update(0, LARGEST_WINDOW), window_update(0, LARGEST_WINDOW)),
        connection_fails(FLOW_CONTROL_ERROR),
    ),
    Row(
        "6.9.1",
        "a window of a stream beyond the largest",
        (post(), window_update(1, LARGEST_WINDOW), window_update(1, LARGEST_WINDOW)),
        stream_fails(FLOW_CONTROL_ERROR),
    ),
    Row(
        "6.9.2",
        "another INITIAL_WINDOW_SIZE changes the windows of open streams",
        (
            settings((INITIAL_WINDOW_SIZE, 0)),
            ACKNOWLEDGED,
            get(),
            settings((INITIAL_WINDOW_SIZE, 1)),
            ACKNOWLEDGED,
        ),
        SendsData(1),
    ),
    Row(
        "6.9.2",
        "a window below zero has to be filled first",
        (
            settings((INITIAL_WINDOW_SIZE, 3)),
            ACKNOWLEDGED,
            get(),
            GOT_DATA,
            settings((INITIAL_WINDOW_SIZE, 2)),
            ACKNOWLEDGED,
            window_update(1, 2),
        ),
        SendsData(1),
    ),
    Row(
        "6.9.2",
        "an INITIAL_WINDOW_SIZE beyond the largest window",
        (frame(4, bytes.fromhex("000480000000")),),
        connection_fails(FLOW_CONTROL_ERROR),
    ),
)
