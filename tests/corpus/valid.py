"""Requests that are fine, in all their varieties."""

from tests.corpus.cases import (
    HOST,
    Case,
    Seen,
    either,
    forward,
    get,
    got,
    got_chunked,
    got_length,
    head,
    local,
    post,
)

_CHUNKED = b"Transfer-Encoding: chunked"
_MANY = tuple(b"X-%d: %d" % (number, number) for number in range(99))

CASES = (
    forward("plain", get(), got()),
    forward("query", get(target=b"/find?q=1&r=a%20b"), got(target=b"/find?q=1&r=a%20b")),
    forward("empty query", get(target=b"/find?"), got(target=b"/find?")),
    forward("question mark in the query", get(target=b"/?a?b=/c"), got(target=b"/?a?b=/c")),
    forward("escapes stay", get(target=b"/%e4%b8%ad"), got(target=b"/%e4%b8%ad")),
    forward("sub-delimiters", get(target=b"/a!$&'()*+,;=:@b"), got(target=b"/a!$&'()*+,;=:@b")),
    Case("HEAD", get(method=b"HEAD"), (got(method=b"HEAD"),), sees=(Seen(200, b""),)),
    forward("DELETE", get(method=b"DELETE"), got(method=b"DELETE")),
    forward("OPTIONS", get(method=b"OPTIONS"), got(method=b"OPTIONS")),
    forward(
        "OPTIONS of the server", get(method=b"OPTIONS", target=b"*"), got(method=b"OPTIONS", target=b"*")
    ),
    forward("PROPFIND", get(method=b"PROPFIND"), got(method=b"PROPFIND")),
    forward("method in lower case", get(method=b"get"), got(method=b"get")),
    forward(
        "method of all token characters", get(method=b"A!#$%&'*+-.^_`|~9"), got(method=b"A!#$%&'*+-.^_`|~9")
    ),
    either("PRI is no method of ours", get(method=b"PRI"), got(method=b"PRI"), refused=(400, 405, 501)),
    forward("POST without a body", get(method=b"POST"), got(method=b"POST")),
    forward("POST with an empty body", post(b"Content-Length: 0"), got_length(b"")),
    forward("POST", post(b"Content-Length: 5", body=b"hello"), got_length(b"hello")),
    forward(
        "PUT", post(b"Content-Length: 5", body=b"hello", method=b"PUT"), got_length(b"hello", method=b"PUT")
    ),
    forward(
        "GET with a body",
        post(b"Content-Length: 5", body=b"hello", method=b"GET"),
        got_length(b"hello", method=b"GET"),
    ),
    forward(
        "body of control bytes",
        post(b"Content-Length: 6", body=b"\0\r\n\r\n\xff"),
        got_length(b"\0\r\n\r\n\xff"),
    ),
    forward("chunked POST", post(_CHUNKED, body=b"5\r\nhello\r\n0\r\n\r\n"), got_chunked(b"hello")),
    forward(
        "chunked PATCH",
        post(_CHUNKED, body=b"1\r\nx\r\n0\r\n\r\n", method=b"PATCH"),
        got_chunked(b"x", method=b"PATCH"),
    ),
    forward("chunked and empty", post(_CHUNKED, body=b"0\r\n\r\n"), got_chunked(b"")),
    forward(
        "expectation with its body",
        post(b"Content-Length: 2", b"Expect: 100-continue", body=b"hi"),
        got_length(b"hi", b"Expect: 100-continue"),
    ),
    forward(
        "expectation in capitals",
        post(b"Content-Length: 2", b"Expect: 100-CONTINUE", body=b"hi"),
        got_length(b"hi", b"Expect: 100-continue"),
    ),
    forward("expectation without a body", get(b"Expect: 100-continue"), got()),
    forward("empty line first", b"\r\n" + get(), got()),
    forward("whitespace around a value", get(b"A: \t b \t"), got(b"A: b")),
    forward("no whitespace before a value", get(b"A:b"), got(b"A: b")),
    forward("empty value", get(b"A:", b"B: "), got(b"A: ", b"B: ")),
    forward("tab in a value", get(b"A: b\tc"), got(b"A: b\tc")),
    forward("bytes beyond ASCII in a value", get(b"A: \xc3\xa4\xff"), got(b"A: \xc3\xa4\xff")),
    forward("colons in a value", get(b"A: b:c::d"), got(b"A: b:c::d")),
    forward("quotes in a value", get(b'A: "b, \\"c\\""'), got(b'A: "b, \\"c\\""')),
    forward(
        "repeated fields keep their order", get(b"A: 1", b"B: 2", b"A: 3"), got(b"A: 1", b"B: 2", b"A: 3")
    ),
    forward("two cookies stay two", get(b"Cookie: a=1", b"Cookie: b=2"), got(b"Cookie: a=1", b"Cookie: b=2")),
    forward("spelling of names stays", get(b"x-lOwEr: 1"), got(b"x-lOwEr: 1")),
    forward("name of all token characters", get(b"!#$%&'*+-.^`|~9: 1"), got(b"!#$%&'*+-.^`|~9: 1")),
    forward("a hundred fields", get(*_MANY), got(*_MANY)),
    forward("HTTP/1.0", head(b"GET / HTTP/1.0", HOST), got()),
    forward("HTTP/1.0 with keep-alive", head(b"GET / HTTP/1.0", HOST, b"Connection: keep-alive"), got()),
    forward(
        "HTTP/1.0 with a body",
        head(b"POST / HTTP/1.0", HOST, b"Content-Length: 2") + b"hi",
        got_length(b"hi"),
    ),
    local("HTTP/1.0 without Host has no route", head(b"GET / HTTP/1.0"), 404),
    local("unknown host", head(b"GET / HTTP/1.1", b"Host: none.test"), 404),
    local("unknown host twice", head(b"GET / HTTP/1.1", b"Host: none.test") * 2, 404, 404),
    forward("connection to be closed", get(b"Connection: close"), got()),
    forward("range", get(b"Range: bytes=0-1", b'If-Range: "x"'), got(b"Range: bytes=0-1", b'If-Range: "x"')),
    forward("authorization", get(b"Authorization: Basic eDp5"), got(b"Authorization: Basic eDp5")),
    forward("half-close after the request", get(), got()),
)
