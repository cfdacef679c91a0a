"""Answers of upstream: passed on in one clear form, or 502, or visibly cut."""

from attrs import evolve

from tests.corpus.cases import Case, Seen, answered, get, head

_OK = b"HTTP/1.1 200 OK\r\n"
_LENGTH = b"Content-Length: 2\r\n\r\nok"
_CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
_BAD = Seen(502, None)
_CUT = Seen(200, None, whole=False)
_OLD = head(b"GET / HTTP/1.0", b"Host: shop.test")


def good(name: str, answer: bytes, body: bytes = b"ok", status: int = 200, hangs_up: bool = False) -> Case:
    """An answer that arrives whole."""
    return answered(name, answer, Seen(status, body), hangs_up=hangs_up)


def bad(name: str, answer: bytes, hangs_up: bool = False) -> Case:
    """An answer that becomes a 502."""
    return answered(name, answer, _BAD, hangs_up=hangs_up)


def cut(name: str, answer: bytes, hangs_up: bool = False) -> Case:
    """An answer that downstream must see to be incomplete: cut, or 502 if nothing of it was passed on yet."""
    case = answered(name, answer, _CUT, hangs_up=hangs_up)
    return case if hangs_up else evolve(case, or_sees=(_BAD,))


CASES: tuple[Case, ...] = (
    good("length", _OK + _LENGTH),
    good("length of nothing", _OK + b"Content-Length: 0\r\n\r\n", b""),
    good("chunked", _OK + _CHUNKED + b"1\r\no\r\n1;a=b\r\nk\r\n0\r\n\r\n"),
    good("until the end", _OK + b"\r\nok", hangs_up=True),
    good("until the end, and empty", _OK + b"\r\n", b"", hangs_up=True),
    good("HTTP/1.0 with a length", b"HTTP/1.0 200 OK\r\n" + _LENGTH, hangs_up=True),
    good("HTTP/1.0 until the end", b"HTTP/1.0 200 OK\r\n\r\nok", hangs_up=True),
    good("HTTP/1.0 that stays open", b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + _LENGTH),
    good("empty reason", b"HTTP/1.1 200 \r\n" + _LENGTH),
    good("no reason", b"HTTP/1.1 200\r\n" + _LENGTH),
    good("reason beyond ASCII", b"HTTP/1.1 200 \xc3\x96K\r\n" + _LENGTH),
    good("unknown status", b"HTTP/1.1 299 Odd\r\n" + _LENGTH, status=299),
    good("status 599", b"HTTP/1.1 599 Odd\r\n" + _LENGTH, status=599),
    good("404", b"HTTP/1.1 404 Not Found\r\n" + _LENGTH, status=404),
    good("503", b"HTTP/1.1 503 Busy\r\n" + _LENGTH, status=503),
    good("204", b"HTTP/1.1 204 No Content\r\n\r\n", b"", 204),
    good("304", b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n", b"", 304),
    good(
        "304 with the length of what it stands for",
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 999\r\n\r\n",
        b"",
        304,
    ),
    good("205", b"HTTP/1.1 205 Reset\r\nContent-Length: 0\r\n\r\n", b"", 205),
    answered(
        "redirect", b"HTTP/1.1 302 Found\r\nLocation: /x\r\n" + _LENGTH, Seen(302, fields=(b"Location: /x",))
    ),
    answered(
        "HEAD with a length",
        _OK + b"Content-Length: 999\r\n\r\n",
        Seen(200, b"", fields=(b"Content-Length: 999",)),
        method=b"HEAD",
    ),
    answered("HEAD with chunked", _OK + _CHUNKED, Seen(200, b""), method=b"HEAD"),
    answered(
        "103, then 200",
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + _OK + _LENGTH,
        Seen(103, b"", fields=(b"Link: </x>",)),
        Seen(),
    ),
    answered("100, then 200", b"HTTP/1.1 100 Continue\r\n\r\n" + _OK + _LENGTH, Seen(100, b""), Seen()),
    answered(
        "102 with a length",
        b"HTTP/1.1 102 Processing\r\nContent-Length: 9\r\n\r\n" + _OK + _LENGTH,
        Seen(102, b"", lacks=(b"content-length",)),
        Seen(),
    ),
    answered("103 for HTTP/1.0", b"HTTP/1.1 103 Early Hints\r\n\r\n" + _OK + _LENGTH, Seen(), sent=_OLD),
    answered(
        "chunked for HTTP/1.0",
        _OK + _CHUNKED + b"2\r\nok\r\n0\r\n\r\n",
        Seen(lacks=(b"transfer-encoding",)),
        sent=_OLD,
    ),
    answered(
        "server and date of upstream",
        _OK + b"Server: x\r\nDate: y\r\n" + _LENGTH,
        Seen(fields=(b"Server: x", b"Date: y")),
    ),
    answered("bytes beyond ASCII in a value", _OK + b"A: \xff\r\n" + _LENGTH, Seen(fields=(b"A: \xff",))),
    good("whitespace around a length", _OK + b"Content-Length: \t2 \r\n\r\nok"),
    good("Chunked in capitals", _OK + b"Transfer-Encoding: CHUNKED\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
    # Answers that nobody can be sure of
    bad("no HTTP", b"hello\r\n\r\n", hangs_up=True),
    bad("nothing", b"", hangs_up=True),
    bad("half a status line", b"HTTP/1.1 2", hangs_up=True),
    bad("half a head", _OK + b"Content-Le", hangs_up=True),
    bad("HTTP/2", b"HTTP/2 200 OK\r\n" + _LENGTH),
    bad("HTTP/1.2", b"HTTP/1.2 200 OK\r\n" + _LENGTH),
    bad("HTTP/0.9", b"<html>ok</html>", hangs_up=True),
    bad("version in lower case", b"http/1.1 200 OK\r\n" + _LENGTH),
    bad("two spaces", b"HTTP/1.1  200 OK\r\n" + _LENGTH),
    bad("tab", b"HTTP/1.1\t200 OK\r\n" + _LENGTH),
    bad("status of two digits", b"HTTP/1.1 20 OK\r\n" + _LENGTH),
    bad("status of four digits", b"HTTP/1.1 2000 OK\r\n" + _LENGTH),
    bad("status of letters", b"HTTP/1.1 abc OK\r\n" + _LENGTH),
    bad("status 099", b"HTTP/1.1 099 OK\r\n" + _LENGTH),
    bad("signed status", b"HTTP/1.1 +20 OK\r\n" + _LENGTH),
    bad("NUL in the reason", b"HTTP/1.1 200 O\0K\r\n" + _LENGTH),
    bad("bare CR in the reason", b"HTTP/1.1 200 O\rK\r\n" + _LENGTH),
    bad("empty line first", b"\r\n" + _OK + _LENGTH),
    bad("two lengths", _OK + b"Content-Length: 2\r\n" + _LENGTH),
    bad("two different lengths", _OK + b"Content-Length: 9\r\n" + _LENGTH),
    bad("list of lengths", _OK + b"Content-Length: 2, 2\r\n\r\nok"),
    bad("signed length", _OK + b"Content-Length: +2\r\n\r\nok"),
    bad("hexadecimal length", _OK + b"Content-Length: 0x2\r\n\r\nok"),
    bad("empty length", _OK + b"Content-Length:\r\n\r\nok"),
    bad("length of twenty digits", _OK + b"Content-Length: 99999999999999999999\r\n\r\nok"),
    bad("gzip", _OK + b"Transfer-Encoding: gzip\r\n\r\nok", hangs_up=True),
    bad("gzip, chunked", _OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
    bad("identity", _OK + b"Transfer-Encoding: identity\r\n" + _LENGTH),
    bad("chunked twice", _OK + b"Transfer-Encoding: chunked\r\n" + _CHUNKED + b"2\r\nok\r\n0\r\n\r\n"),
    bad("chunked in HTTP/1.0", b"HTTP/1.0 200 OK\r\n" + _CHUNKED + b"2\r\nok\r\n0\r\n\r\n"),
    bad("space before the colon", _OK + b"A : b\r\n" + _LENGTH),
    bad("folded line", _OK + b"A: b\r\n c\r\n" + _LENGTH),
    bad("line without a colon", _OK + b"A\r\n" + _LENGTH),
    bad("NUL in a value", _OK + b"A: \0\r\n" + _LENGTH),
    bad("bare CR in a value", _OK + b"A: b\rSet-Cookie: x=y\r\n" + _LENGTH),
    bad("bare LF in a value", _OK + b"A: b\nSet-Cookie: x=y\r\n" + _LENGTH),
    bad("escape in a value", _OK + b"A: \x1b[0m\r\n" + _LENGTH),
    bad("head of 200 KB", _OK + b"A: b\r\n" * 34000 + _LENGTH),
    bad("head without an end", _OK + b"A: " + b"b" * 100000),
    bad("300 fields", _OK + b"A: b\r\n" * 300 + _LENGTH),
    bad(
        "a protocol that was not asked for",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nx",
    ),
    answered(
        "interim answer, then nothing",
        b"HTTP/1.1 103 Early Hints\r\n\r\n",
        Seen(103, b""),
        _BAD,
        hangs_up=True,
    ),
    answered(
        "interim answer, then rubbish",
        b"HTTP/1.1 103 Early Hints\r\n\r\nrubbish\r\n\r\n",
        Seen(103, b""),
        _BAD,
    ),
    # A coding beside a length: the coding wins, and the length must not go on
    answered(
        "length and chunked",
        _OK + b"Content-Length: 9\r\n" + _CHUNKED + b"2\r\nok\r\n0\r\n\r\n",
        Seen(lacks=(b"content-length",)),
    ),
    # Answers that break off
    cut("short of its length", _OK + b"Content-Length: 9\r\n\r\nok", hangs_up=True),
    cut("no last chunk", _OK + _CHUNKED + b"2\r\nok\r\n", hangs_up=True),
    cut("half a chunk", _OK + _CHUNKED + b"9\r\nok", hangs_up=True),
    cut("half a size line", _OK + _CHUNKED + b"2\r\nok\r\n0", hangs_up=True),
    cut("half the last line end", _OK + _CHUNKED + b"2\r\nok\r\n0\r\n\r", hangs_up=True),
    cut("no chunk at all", _OK + _CHUNKED, hangs_up=True),
    cut("bad size", _OK + _CHUNKED + b"2\r\nok\r\nzz\r\n"),
    cut("signed size", _OK + _CHUNKED + b"+2\r\nok\r\n0\r\n\r\n"),
    cut("chunk longer than its size", _OK + _CHUNKED + b"1\r\nok\r\n0\r\n\r\n"),
    cut("size of seventeen digits", _OK + _CHUNKED + b"10000000000000002\r\nok\r\n0\r\n\r\n"),
    cut("bare LF in a size line", _OK + _CHUNKED + b"2\nok\r\n0\r\n\r\n"),
    answered(
        "chunked that breaks off, for HTTP/1.0",
        _OK + _CHUNKED + b"2\r\nok\r\n",
        _CUT,
        hangs_up=True,
        sent=_OLD,
    ),
    # What comes behind an answer must never become another one's
    good("rubbish behind", _OK + _LENGTH + b"rubbish"),
    good("an answer behind", _OK + _LENGTH + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"),
    good(
        "an answer behind chunks",
        _OK + _CHUNKED + b"2\r\nok\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison",
    ),
    good("a body behind 204", b"HTTP/1.1 204 No Content\r\nContent-Length: 6\r\n\r\npoison", b"", 204),
    good(
        "chunks behind 204", b"HTTP/1.1 204 No Content\r\n" + _CHUNKED + b"6\r\npoison\r\n0\r\n\r\n", b"", 204
    ),
    good("a body behind 304", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 6\r\n\r\npoison", b"", 304),
    answered(
        "a body behind the answer to HEAD",
        _OK + b"Content-Length: 6\r\n\r\npoison",
        Seen(200, b""),
        method=b"HEAD",
    ),
    answered(
        "upgrade that is not asked for in the answer",
        _OK + b"Connection: Upgrade\r\nUpgrade: h2c\r\n" + _LENGTH,
        Seen(lacks=(b"upgrade",)),
    ),
    answered("upgrade that upstream declines", _OK + _LENGTH, Seen(), sent=get(b"Connection: close")),
)
