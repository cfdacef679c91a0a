"""Transfer-Encoding: chunked alone, and never beside a length."""

from tests.corpus.cases import HOST, Case, chunked, forward, get, got, got_chunked, head, post, refuse

_BODY = b"5\r\nhello\r\n0\r\n\r\n"
_SMUGGLED = b"0\r\n\r\n" + get(target=b"/smuggled")


def coding(*lines: bytes) -> bytes:
    """A POST request with these field lines and a chunked body."""
    return post(*lines, body=_BODY)


def value(octets: bytes) -> bytes:
    """A POST request with this Transfer-Encoding."""
    return coding(b"Transfer-Encoding: " + octets)


CASES: tuple[Case, ...] = (
    refuse("length first", coding(b"Content-Length: 15", b"Transfer-Encoding: chunked")),
    refuse("length last", coding(b"Transfer-Encoding: chunked", b"Content-Length: 15")),
    refuse("length of nothing beside", coding(b"Transfer-Encoding: chunked", b"Content-Length: 0")),
    refuse("bad length beside", coding(b"Transfer-Encoding: chunked", b"Content-Length: x")),
    refuse("empty coding and a length", post(b"Transfer-Encoding:", b"Content-Length: 5", body=b"hello")),
    refuse(
        "request hidden by length",
        post(b"Content-Length: %d" % len(_SMUGGLED), b"Transfer-Encoding: chunked", body=_SMUGGLED),
    ),
    refuse("chunked twice", coding(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked")),
    refuse("chunked, chunked", value(b"chunked, chunked"), 400, 501),
    refuse("identity", value(b"identity"), 400, 501),
    refuse(
        "identity and a length", post(b"Transfer-Encoding: identity", b"Content-Length: 5", body=b"hello")
    ),
    refuse("identity, chunked", value(b"identity, chunked"), 400, 501),
    refuse(
        "identity and chunked on two lines",
        coding(b"Transfer-Encoding: identity", b"Transfer-Encoding: chunked"),
        400,
        501,
    ),
    refuse(
        "chunked and identity on two lines",
        coding(b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"),
        400,
        501,
    ),
    refuse("gzip", value(b"gzip"), 400, 501),
    refuse("gzip, chunked", value(b"gzip, chunked"), 400, 501),
    refuse("chunked, gzip", value(b"chunked, gzip"), 400, 501),
    refuse("empty", coding(b"Transfer-Encoding:"), 400, 501),
    refuse("comma first", value(b",chunked"), 400, 501),
    refuse("comma last", value(b"chunked,"), 400, 501),
    refuse("unknown coding", value(b"xchunked"), 400, 501),
    refuse("chunk", value(b"chunk"), 400, 501),
    refuse("parameter", value(b"chunked;a=b"), 400, 501),
    refuse("weight", value(b"chunked;q=0.5"), 400, 501),
    refuse("quotes", value(b'"chunked"'), 400, 501),
    refuse("apostrophes", value(b"'chunked'"), 400, 501),
    refuse("two words", value(b"chunked x"), 400, 501),
    refuse("vertical tab before", value(b"\x0bchunked")),
    refuse("vertical tab behind", value(b"chunked\x0b")),
    refuse("form feed before", value(b"\x0cchunked")),
    refuse("NUL behind", value(b"chunked\0")),
    refuse("no-break space before", value(b"\xa0chunked"), 400, 501),
    refuse("byte beyond ASCII behind", value(b"chunked\xff"), 400, 501),
    refuse("bare CR behind", value(b"chunked\r")),
    refuse("bare CR before", value(b"\rchunked")),
    refuse("bare LF before", coding(b"Transfer-Encoding:\nchunked")),
    refuse("bare LF before the name", coding(b"X: y\nTransfer-Encoding: chunked")),
    refuse("bare CR before the name", coding(b"X: y\rTransfer-Encoding: chunked")),
    refuse("folded value", coding(b"Transfer-Encoding:", b" chunked")),
    refuse("folded by a tab", coding(b"Transfer-Encoding:", b"\tchunked")),
    refuse("space before the colon", coding(b"Transfer-Encoding : chunked")),
    refuse("tab before the colon", coding(b"Transfer-Encoding\t: chunked")),
    refuse("space before the name", coding(b" Transfer-Encoding: chunked")),
    refuse("colon before the name", coding(b":Transfer-Encoding: chunked")),
    refuse("NUL in the name", coding(b"Transfer-\0Encoding: chunked")),
    refuse("byte beyond ASCII in the name", coding(b"Transfer\xad-Encoding: chunked")),
    refuse("HTTP/1.0", head(b"POST / HTTP/1.0", HOST, b"Transfer-Encoding: chunked") + _BODY),
    refuse(
        "HTTP/1.0 that stays open",
        head(b"POST / HTTP/1.0", HOST, b"Connection: keep-alive", b"Transfer-Encoding: chunked") + _BODY,
    ),
    refuse(
        "the connection is told to drop it, beside a length",
        coding(b"Connection: transfer-encoding", b"Content-Length: 15", b"Transfer-Encoding: chunked"),
    ),
    forward("in capitals", value(b"CHUNKED"), got_chunked(b"hello")),
    forward("in mixed letters", value(b"Chunked"), got_chunked(b"hello")),
    forward("whitespace around", value(b"\t chunked \t"), got_chunked(b"hello")),
    forward("name in lower case", coding(b"transfer-encoding: chunked"), got_chunked(b"hello")),
    forward(
        "Connection cannot drop it",
        coding(b"Connection: transfer-encoding", b"Transfer-Encoding: chunked"),
        got_chunked(b"hello"),
    ),
    forward(
        "Connection cannot drop the length",
        post(b"Connection: content-length", b"Content-Length: 2", body=b"hi"),
        got(b"Content-Length: 2", method=b"POST", body=b"hi"),
    ),
    Case(
        "underscore for the hyphen",
        coding(b"Transfer_Encoding: chunked"),
        (got(method=b"POST"),),
        refused=(400, 0),
        finishes=True,
    ),
    forward(
        "GET with a chunked body",
        chunked(_BODY).replace(b"POST", b"GET"),
        got_chunked(b"hello", method=b"GET"),
    ),
)
