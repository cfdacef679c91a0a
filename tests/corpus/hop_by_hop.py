"""Fields that end at the proxy, fields that it sets itself, and field lines that nobody may read."""

from tests.corpus.cases import Case, Seen, answered, either, forward, get, got, local, post, refuse


def gone(name: str, *fields: bytes) -> Case:
    """Fields that upstream does not get."""
    return forward(name, get(*fields, b"A: b"), got(b"A: b"))


def kept(name: str, *fields: bytes, goes: tuple[bytes, ...]) -> Case:
    """Fields of which upstream gets *goes*."""
    return forward(name, get(*fields), got(*goes))


def line(name: str, octets: bytes) -> Case:
    """A field line that no reader may take."""
    return refuse(name, get(octets, b"A: b"))


CASES: tuple[Case, ...] = (
    gone("Connection and what it names", b"Connection: X-One, x-TWO", b"X-One: 1", b"X-Two: 2"),
    gone("named before it is said", b"X-One: 1", b"Connection: x-one"),
    gone("two Connections", b"Connection: X-One", b"Connection: close, X-Two", b"X-One: 1", b"X-Two: 2"),
    gone("empty members of Connection", b"Connection: , X-One ,,", b"X-One: 1"),
    gone("Keep-Alive", b"Keep-Alive: timeout=5"),
    gone("Proxy-Connection", b"Proxy-Connection: keep-alive"),
    gone("TE", b"TE: trailers"),
    gone("TE that Connection names", b"Connection: TE", b"TE: trailers, gzip;q=0.5"),
    gone("Trailer", b"Trailer: X-Sum"),
    gone("Proxy-Authorization", b"Proxy-Authorization: Basic eDp5"),
    gone("Proxy", b"Proxy: http://192.0.2.1"),
    gone(
        "upgrade to h2c", b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABk"
    ),
    gone("settings of HTTP/2 alone", b"HTTP2-Settings: AAMAAABk"),
    gone("Upgrade that Connection does not name", b"Upgrade: websocket"),
    gone("Connection that names Upgrade alone", b"Connection: Upgrade"),
    gone("upgrade to HTTP/2.0", b"Connection: Upgrade", b"Upgrade: HTTP/2.0"),
    gone("upgrade that is no list of protocols", b"Connection: Upgrade", b"Upgrade: tcp;q=1"),
    gone("upgrades in two lines", b"Connection: Upgrade", b"Upgrade: tcp", b"Upgrade: h2c"),
    gone("upgrade to TLS", b"Connection: Upgrade", b"Upgrade: TLS/1.0"),
    gone("list of upgrades", b"Connection: Upgrade", b"Upgrade: websocket, h2c"),
    gone("names with underscores", b"X_Y: z", b"Content_Length: 5", b"Host_: x"),
    kept("Connection cannot drop Host", b"Connection: Host", goes=()),
    kept("Connection cannot drop a cookie", b"Connection: Cookie", b"Cookie: a=b", goes=(b"Cookie: a=b",)),
    kept(
        "Connection cannot drop authorization",
        b"Connection: Authorization",
        b"Authorization: x",
        goes=(b"Authorization: x",),
    ),
    kept(
        "Connection cannot drop what the proxy adds",
        b"Connection: X-Forwarded-For, X-Real-IP, X-Request-ID",
        goes=(),
    ),
    kept("close is no field", b"Connection: close", b"Close: 1", goes=(b"Close: 1",)),
    refuse("Connection in quotes", get(b'Connection: "close"')),
    refuse("Connection with a space inside", get(b"Connection: close keep-alive")),
    either("Connection with a parameter", get(b"Connection: close;a"), got()),
    # Forwarding fields of a peer that is not trusted
    gone("X-Forwarded-For", b"X-Forwarded-For: 192.0.2.9"),
    gone("X-Forwarded-For in pieces", b"X-Forwarded-For: 192.0.2.9", b"x-forwarded-for: 192.0.2.8"),
    gone("X-Real-IP", b"X-Real-IP: 192.0.2.9"),
    gone("X-Forwarded-Proto", b"X-Forwarded-Proto: https"),
    gone("X-Forwarded-Host", b"X-Forwarded-Host: other.test"),
    gone("X-Forwarded-Port", b"X-Forwarded-Port: 1"),
    gone("X-Forwarded-Prefix", b"X-Forwarded-Prefix: /admin"),
    gone("X-Forwarded-Server", b"X-Forwarded-Server: a"),
    gone("X-Forwarded-Ssl", b"X-Forwarded-Ssl: on"),
    gone("X-Scheme", b"X-Scheme: https"),
    gone("Forwarded", b"Forwarded: for=192.0.2.9;proto=https"),
    gone(
        "twins with underscores",
        b"X_Forwarded_For: 192.0.2.9",
        b"X-Forwarded_Proto: https",
        b"X_Real_IP: 192.0.2.9",
    ),
    kept("a good X-Request-ID stays", b"X-Request-ID: abc-1", goes=(b"X-Request-ID: abc-1",)),
    kept("a bad X-Request-ID is replaced", b"X-Request-ID: a b", goes=()),
    # Field lines
    line("no colon", b"X"),
    line("no name", b": y"),
    line("space before the colon", b"X : y"),
    line("tab before the colon", b"X\t: y"),
    line("space in the name", b"X Y: z"),
    line("space before the name", b" X: y"),
    line("tab before the name", b"\tX: y"),
    line("bracket in the name", b"X[]: y"),
    line("quote in the name", b'"X": y'),
    line("slash in the name", b"X/Y: z"),
    line("at in the name", b"X@Y: z"),
    line("NUL in the name", b"X\0: y"),
    line("DEL in the name", b"X\x7f: y"),
    line("byte beyond ASCII in the name", b"X\xe9: y"),
    line("NUL in the value", b"X: a\0b"),
    line("bell in the value", b"X: a\x07b"),
    line("escape in the value", b"X: a\x1b[31m"),
    line("DEL in the value", b"X: a\x7fb"),
    line("form feed in the value", b"X: a\x0cb"),
    line("bare CR in the value", b"X: a\rb"),
    line("bare LF in the value", b"X: a\nb"),
    line("bare CR at the end of the value", b"X: a\r"),
    line("bare CR hides a field", b"X: a\rHost: other.test"),
    line("folded", b"X: a\r\n b"),
    line("folded to nothing", b"X: a\r\n \t"),
    refuse("first field folded", b"GET / HTTP/1.1\r\n Host: shop.test\r\n\r\n"),
    refuse("line of a space first", b"GET / HTTP/1.1\r\n \r\nHost: shop.test\r\n\r\n"),
    refuse("LF for every line end", b"GET / HTTP/1.1\nHost: shop.test\n\n"),
    refuse("LF at the end", b"GET / HTTP/1.1\r\nHost: shop.test\r\n\n"),
    refuse("LF CR for CR LF", b"GET / HTTP/1.1\n\rHost: shop.test\n\r\n\r"),
    refuse("unknown expectation", get(b"Expect: wonders"), 400, 417),
    refuse("two expectations", post(b"Content-Length: 0", b"Expect: 100-continue, wonders"), 400, 417),
    # Of answers
    answered(
        "hop-by-hop fields of an answer",
        b"HTTP/1.1 200 OK\r\nConnection: close, X-One\r\nX-One: 1\r\nKeep-Alive: 5\r\nProxy-Connection: x\r\n"
        b"Content-Length: 2\r\n\r\nok",
        Seen(lacks=(b"x-one", b"keep-alive", b"proxy-connection")),
    ),
    answered(
        "cookies of an answer stay apart",
        b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 2\r\n\r\nok",
        Seen(fields=(b"Set-Cookie: a=1", b"Set-Cookie: b=2")),
    ),
    local("reply of the proxy to HEAD", get(method=b"HEAD", target=b"/admin"), 403),
)
