"""Several requests in one go, answers before the request is whole, and what follows a refusal."""

from tests.corpus.cases import (
    BROKEN,
    OK,
    Case,
    Seen,
    chunked,
    forward,
    get,
    got,
    got_chunked,
    got_length,
    head,
    post,
)

_POST = post(b"Content-Length: 5", body=b"hello")
_CHUNKS = chunked(b"5\r\nhello\r\n0\r\n\r\n")
_ONE = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none"
_TWO = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n"
_LATE = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"

CASES: tuple[Case, ...] = (
    forward("two", get(target=b"/1") + get(target=b"/2"), got(target=b"/1"), got(target=b"/2")),
    forward("ten", get() * 10, *[got()] * 10),
    forward("an empty line between", get() + b"\r\n" + get(), got(), got()),
    forward(
        "of all framings",
        _POST + get() + _CHUNKS + get(),
        got_length(b"hello"),
        got(),
        got_chunked(b"hello"),
        got(),
    ),
    Case(
        "answers in order",
        get(target=b"/1") + get(target=b"/2"),
        (got(target=b"/1"), got(target=b"/2")),
        sees=(Seen(200, b"one"), Seen(200, b"two")),
        answers=(_ONE, _TWO),
    ),
    Case(
        "HEAD, then GET",
        get(method=b"HEAD") + get(),
        (got(method=b"HEAD"), got()),
        sees=(Seen(200, b""), Seen()),
        answers=(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", OK),
    ),
    Case(
        "upstream closes in between",
        get(target=b"/1") + get(target=b"/2"),
        (got(target=b"/1"), got(target=b"/2")),
        answers=(_LATE,),
        hangs_up=True,
    ),
    Case(
        "one that has no route in between",
        get() + head(b"GET / HTTP/1.1", b"Host: none.test"),
        (got(),),
        sees=(Seen(), Seen(404, None)),
    ),
    Case(
        "one with close, then another", get(b"Connection: close") + get(target=b"/2"), (got(),), refused=(0,)
    ),
    Case(
        "one of HTTP/1.0, then another",
        head(b"GET / HTTP/1.0", b"Host: shop.test") + get(target=b"/2"),
        (got(),),
        refused=(0,),
    ),
    Case("a bad one behind", get() + b"GET / HTTP/1.1\r\n\r\n" + get(target=b"/3"), (got(),), refused=(400,)),
    Case("rubbish behind", get() + b"rubbish\r\n\r\n", (got(),), refused=(400,)),
    Case("two empty lines between", get() + b"\r\n\r\n" + get(target=b"/2"), (got(),), refused=(400,)),
    Case("a bad one first", b"GET / HTTP/1.1\r\n\r\n" + get(), refused=(400,)),
    Case("a bad body first", chunked(b"zz\r\n") + get(), refused=(400,)),
    Case("unfinished head behind", get() + b"GET /2 HTT", (got(),), refused=(0, 400), finishes=True),
    Case(
        "unfinished body behind",
        get() + post(b"Content-Length: 9", body=b"hell"),
        (got(),),
        refused=BROKEN,
        finishes=True,
    ),
    Case("a body behind GET", get() + b"hello=world", (got(),), refused=(0, 400), finishes=True),
    Case("half-close behind two", get() * 2, (got(), got()), refused=(0,), finishes=True),
    Case("half-close behind a body", _POST, (got_length(b"hello"),), refused=(0,), finishes=True),
    Case("nothing but an end", b"", refused=(0,), finishes=True),
    Case("nothing but an empty line", b"\r\n", refused=(0, 400), finishes=True),
    Case("half a head", b"GET / HTTP/1.1\r\nHost: shop.test\r\n", refused=(0, 400, 408), finishes=True),
    # Upstream answers as soon as it has the head; the rest of the body is of no use, and neither is the connection.
    Case(
        "early answer",
        post(b"Content-Length: 100000", body=b"x" * 1000),
        sees=(Seen(),),
        refused=(0,),
        early=True,
    ),
    Case(
        "early answer to chunks",
        chunked(b"3e8\r\n" + b"x" * 1000),
        sees=(Seen(),),
        refused=(0,),
        early=True,
    ),
    Case(
        "early refusal",
        post(b"Content-Length: 100000", body=b"x" * 1000),
        sees=(Seen(413),),
        refused=(0,),
        early=True,
        answers=(OK.replace(b"200 OK", b"413 Large"),),
    ),
)
