"""What a server must take and answer: each frame type, each form of a field, each kind of message."""

from __future__ import annotations

from tests.fakes.http2.frames import (
    CANCEL,
    ENABLE_PUSH,
    HEADER_TABLE_SIZE,
    INITIAL_WINDOW_SIZE,
    MAX_CONCURRENT_STREAMS,
    MAX_FRAME_SIZE,
    MAX_HEADER_LIST_SIZE,
    PREFACE,
    block,
    continuation,
    data,
    goaway,
    headers,
    literal,
    ping,
    priority,
    reset,
    settings,
    table_size,
    window_update,
)
from tests.http2.conformance.rows import (
    Acknowledges,
    Answers,
    Closes,
    Pongs,
    PongsOrCloses,
    Row,
    SendsData,
    SetsFirst,
    get,
    has_ended,
    of_method,
    post,
    with_block,
)

HUFFMAN_AGENT = bytes.fromhex("87b505b161cc5a93")
"""``user-agent`` in Huffman code, with its length."""
HUFFMAN_NAME = bytes.fromhex("85f2b24a84ff")
"""``x-test`` likewise."""
HUFFMAN_VALUE = bytes.fromhex("849c48aca4")
"""``h2spec`` likewise."""
AGENT = 58
"""The index of ``user-agent`` in the static table."""
NO_WINDOW = settings((INITIAL_WINDOW_SIZE, 0))


def form(what: str, *fields: bytes) -> Row:
    """A request that has a field in this form."""
    return Row("7541 6", what, (get(suffix=b"".join(fields)),), Answers())


STREAMS = (
    Row(
        "3.4",
        "the server's SETTINGS are the first thing it says",
        (PREFACE + settings((INITIAL_WINDOW_SIZE, 65535)),),
        SetsFirst(),
        shakes_hands=False,
    ),
    Row("5.1", "PRIORITY on an idle stream is harmless", (priority(1), ping()), Pongs()),
    Row(
        "5.1",
        "WINDOW_UPDATE on a half-closed (remote) stream lets its answer go on",
        (NO_WINDOW, get(), window_update(1, 1)),
        SendsData(1),
    ),
    Row(
        "5.1",
        "PRIORITY on a half-closed (remote) stream is harmless",
        (NO_WINDOW, get(), priority(1), window_update(1, 1)),
        SendsData(1),
    ),
    Row(
        "5.1",
        "RST_STREAM on a half-closed (remote) stream ends that stream alone",
        (get(), reset(1, CANCEL), ping()),
        PongsOrCloses(),
    ),
    Row("5.1", "PRIORITY on a closed stream is harmless", (get(), has_ended(), priority(1), ping()), Pongs()),
)

FRAMES = (
    Row("6.1", "one DATA frame is a request body", (post(), data(1, b"test", ended=True)), Answers()),
    Row(
        "6.1",
        "several DATA frames are a request body",
        (post(), data(1, b"test"), data(1, b"test", ended=True)),
        Answers(),
    ),
    Row("6.1", "a DATA frame may be padded", (post(), data(1, b"test", ended=True, padding=6)), Answers()),
    Row("6.2", "a HEADERS frame is a request", (get(),), Answers()),
    Row(
        "6.2",
        "a HEADERS frame may be padded",
        (with_block(lambda fields: headers(1, fields, padding=8)),),
        Answers(),
    ),
    Row(
        "6.2",
        "a HEADERS frame may have a priority",
        (with_block(lambda fields: headers(1, fields, depends_on=0)),),
        Answers(),
    ),
    Row("6.3", "PRIORITY with the least weight is taken", (priority(1, weight=0), get()), Answers()),
    Row("6.3", "PRIORITY with the greatest weight is taken", (priority(1, weight=255), get()), Answers()),
    Row(
        "6.3", "PRIORITY with a dependency is taken", (priority(3, depends_on=1, weight=0), get()), Answers()
    ),
    Row("6.3", "an exclusive PRIORITY is taken", (priority(1, weight=0, exclusive=True), get()), Answers()),
    Row("6.3", "PRIORITY on an idle stream does not close the lower ones", (priority(3), get()), Answers()),
    Row("6.4", "RST_STREAM ends an open stream", (post(), reset(1, CANCEL), ping()), PongsOrCloses()),
    Row(
        "6.5",
        "SETTINGS with every setting are acknowledged",
        (
            settings(
                (HEADER_TABLE_SIZE, 4096),
                (ENABLE_PUSH, 1),
                (MAX_CONCURRENT_STREAMS, 100),
                (INITIAL_WINDOW_SIZE, 65535),
                (MAX_FRAME_SIZE, 16384),
                (MAX_HEADER_LIST_SIZE, 100),
            ),
        ),
        Acknowledges(),
    ),
    Row("6.7", "PING is answered with its own payload", (ping(b"payload!"),), Pongs(b"payload!")),
    Row("6.8", "GOAWAY on a connection at rest ends it", (goaway(why=b"going"),), Closes()),
    Row("6.9", "WINDOW_UPDATE of the connection is taken", (window_update(0, 1), ping()), Pongs()),
    Row("6.9", "WINDOW_UPDATE of a stream is taken", (get(), window_update(1, 1)), Answers()),
    Row(
        "6.10",
        "CONTINUATION goes on with a field block",
        (with_block(lambda fields: headers(1, fields[:5], whole=False) + continuation(1, fields[5:])),),
        Answers(),
    ),
    Row(
        "6.10",
        "several CONTINUATION frames go on with a field block",
        (
            with_block(
                lambda fields: (
                    headers(1, fields[:5], whole=False)
                    + continuation(1, fields[5:10], whole=False)
                    + continuation(1, fields[10:])
                )
            ),
        ),
        Answers(),
    ),
)

MESSAGES = (
    Row("8.1", "GET is answered", (get(),), Answers()),
    Row("8.1", "HEAD is answered", (of_method(b"HEAD"),), Answers()),
    Row("8.1", "POST with a body is answered", (post(), data(1, b"test", ended=True)), Answers()),
    Row(
        "8.1",
        "POST with trailers is answered",
        (post(more=[(b"trailer", b"x-test")]), data(1, b"test"), headers(1, block([(b"x-test", b"ok")]))),
        Answers(),
    ),
)

FORMS = (
    form("an indexed field is taken", bytes([0x80 | AGENT])),
    form("a literal for the table with a name in Huffman code", b"\x40", HUFFMAN_AGENT, HUFFMAN_VALUE),
    form("a literal for the table with a known name", literal(b"user-agent", b"h2spec", 0x40)),
    form("a literal for the table with a new name", literal(b"x-test", b"h2spec", 0x40)),
    form("a literal for the table with a new name in Huffman code", b"\x40", HUFFMAN_NAME, HUFFMAN_VALUE),
    form("a literal beside the table with a known name", literal(b"user-agent", b"h2spec")),
    form(
        "a literal beside the table with a known name in Huffman code", b"\x00", HUFFMAN_AGENT, HUFFMAN_VALUE
    ),
    form("a literal beside the table with a new name", literal(b"x-test", b"h2spec")),
    form("a literal beside the table with a new name in Huffman code", b"\x00", HUFFMAN_NAME, HUFFMAN_VALUE),
    form("a literal for no table with a known name", literal(b"user-agent", b"h2spec", 0x10)),
    form("a literal for no table with a known name in Huffman code", b"\x10", HUFFMAN_AGENT, HUFFMAN_VALUE),
    form("a literal for no table with a new name", literal(b"x-test", b"h2spec", 0x10)),
    form("a literal for no table with a new name in Huffman code", b"\x10", HUFFMAN_NAME, HUFFMAN_VALUE),
    Row("7541 6.3", "an update of the table's size is taken", (get(prefix=table_size(0)),), Answers()),
    Row(
        "7541 4.2",
        "two updates of the table's size are taken",
        (get(prefix=table_size(0) + table_size(4096)),),
        Answers(),
    ),
)

ROWS = STREAMS + FRAMES + MESSAGES + FORMS
