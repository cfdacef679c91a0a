"""Trailers: well-formed, bounded, and none that could pass for a field of the head."""

from attrs import evolve

from tests.corpus.cases import Case, Seen, answered, chunked, forward, got_chunked, refuse


def trailed(*lines: bytes) -> bytes:
    """A chunked request with these trailer lines."""
    return chunked(b"5\r\nhello\r\n0\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\n")


def dropped(name: str, *lines: bytes) -> Case:
    """Trailers of a request, which end at the proxy."""
    return forward(name, trailed(*lines), got_chunked(b"hello"))


def answer(*lines: bytes) -> bytes:
    """A chunked answer with these trailer lines."""
    trailers = b"".join(line + b"\r\n" for line in lines)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n%b\r\n" % trailers


def unreadable(name: str, answer: bytes) -> Case:
    """An answer that must not look whole: cut, or 502 if nothing of it was passed on yet."""
    return evolve(answered(name, answer, Seen(whole=False)), or_sees=(Seen(502, None),))


CASES: tuple[Case, ...] = (
    dropped("one", b"X-Sum: 1"),
    dropped("two", b"A: 1", b"B: 2"),
    dropped("a length", b"Content-Length: 100"),
    dropped("a coding", b"Transfer-Encoding: gzip"),
    dropped("a host", b"Host: other.test"),
    dropped("a forwarding field", b"X-Forwarded-For: 192.0.2.9"),
    dropped("authorization", b"Authorization: Basic eDp5"),
    dropped("an empty value", b"A:"),
    refuse("space before the colon", trailed(b"A : 1")),
    refuse("no colon", trailed(b"A")),
    refuse("no name", trailed(b": 1")),
    refuse("folded", trailed(b"A: 1", b" 2")),
    refuse("NUL", trailed(b"A: \0")),
    refuse("bare CR", trailed(b"A: 1\rB: 2")),
    refuse("bare LF", trailed(b"A: 1\nB: 2")),
    refuse("a request", trailed(b"GET / HTTP/1.1", b"Host: shop.test")),
    refuse("one of 70 KB", trailed(b"A: " + b"x" * 70000), 400, 413, 431),
    refuse("20,000 of them", trailed(*[b"A: 1"] * 20000), 400, 413, 431),
    answered("of an answer", answer(b"X-Sum: 1"), Seen()),
    answered("a length of an answer", answer(b"Content-Length: 7"), Seen(lacks=(b"content-length",))),
    answered("a cookie of an answer", answer(b"Set-Cookie: a=b"), Seen()),
    unreadable("bad ones of an answer", answer(b"A : 1")),
    unreadable("bare LF in those of an answer", answer(b"A: 1\nB: 2")),
)
