"""Requests that are malformed: a server must neither answer nor pass them on as if they were not."""

from __future__ import annotations

from tests.fakes.http2.frames import (
    PROTOCOL_ERROR,
    Fields,
    block,
    data,
    headers,
)
from tests.http2.conformance.rows import Octets, Row, Step, changed, get, post, stream_fails, with_block


def malformed(section: str, what: str, *steps: Step) -> Row:
    """A request that only its stream must pay for."""
    return Row(section, what, steps, stream_fails(PROTOCOL_ERROR))


def also(*fields: tuple[bytes, bytes]) -> Octets:
    """A GET request with more fields behind its own."""
    return get(more=fields)


def after(first: Fields) -> Octets:
    """A GET request with fields before its pseudo-header fields."""
    return with_block(lambda fields: headers(1, block(first) + fields))


ROWS = (
    malformed(
        "8.1",
        "a second HEADERS without END_STREAM",
        post(),
        data(1, b"test"),
        headers(1, block([(b"x-test", b"ok")]), ended=False),
    ),
    malformed("8.2", "a name in upper case", also((b"X-TEST", b"ok"))),
    malformed("8.3", "an unknown pseudo-header field", also((b":test", b"ok"))),
    malformed("8.3", "a pseudo-header field of answers", also((b":status", b"200"))),
    malformed(
        "8.3",
        "a pseudo-header field in trailers",
        post(),
        data(1, b"test"),
        headers(1, block([(b":method", b"POST")]), ended=False),
    ),
    malformed("8.3", "a pseudo-header field behind a field", after([(b"x-test", b"ok")])),
    malformed("8.2.2", "a field of the connection", also((b"connection", b"keep-alive"))),
    malformed(
        "8.2.2", "TE with more than trailers", also((b"trailers", b"test"), (b"te", b"trailers, deflate"))
    ),
    malformed("8.3.1", "an empty path", changed({b":path": (b"",)})),
    malformed("8.3.1", "neither method nor scheme", changed({b":method": (), b":scheme": ()})),
    malformed("8.3.1", "no scheme", changed({b":scheme": ()})),
    malformed("8.3.1", "no path", changed({b":path": ()})),
    malformed("8.3.1", "two methods", also((b":method", b"GET"))),
    malformed("8.3.1", "two schemes", also((b":scheme", b"http"))),
    malformed("8.3.1", "two methods of which one is a path", also((b":method", b"/"))),
    malformed(
        "8.1.1",
        "a content-length that one DATA frame exceeds",
        post(more=[(b"content-length", b"1")]),
        data(1, b"test", ended=True),
    ),
    malformed(
        "8.1.1",
        "a content-length that two DATA frames exceed",
        post(more=[(b"content-length", b"1")]),
        data(1, b"test"),
        data(1, b"test", ended=True),
    ),
)
