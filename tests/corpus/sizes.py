"""Heads at and above their bounds: 8 KiB of first line, 32 KiB of head, 100 fields."""

from tests.corpus.cases import HOST, Case, forward, get, got, refuse

_LINE = len(b"GET  HTTP/1.1")


def target(size: int) -> bytes:
    """A target that makes the first line so long."""
    return b"/" + b"a" * (size - _LINE - 1)


_WIDE = tuple(b"X-%d: %b" % (number, b"y" * 1000) for number in range(30))
_MANY = tuple(b"X-%d: %d" % (number, number) for number in range(100))

CASES: tuple[Case, ...] = (
    forward("first line of 8,000 bytes", get(target=target(8000)), got(target=target(8000))),
    forward("first line at the bound", get(target=target(8192)), got(target=target(8192))),
    refuse("first line above the bound", get(target=target(8193)), 414),
    refuse("first line of 20,000 bytes", get(target=target(20000)), 414),
    refuse("first line without an end", b"GET /" + b"a" * 40000, 414),
    refuse("method without an end", b"G" * 40000, 400, 414),
    refuse("query above the bound", get(target=b"/?" + b"a" * 9000), 414),
    forward("field of 16,000 bytes", get(b"A: " + b"b" * 16000), got(b"A: " + b"b" * 16000)),
    forward("head of 30 KB", get(*_WIDE), got(*_WIDE)),
    refuse("field of 33,000 bytes", get(b"A: " + b"b" * 33000), 431),
    refuse("name of 33,000 bytes", get(b"A" * 33000 + b": b"), 431),
    refuse("field without an end", b"GET / HTTP/1.1\r\n%b\r\nA: " % HOST + b"b" * 70000, 431),
    refuse("fields without an end", b"GET / HTTP/1.1\r\n%b\r\n" % HOST + b"A: b\r\n" * 20000, 431),
    refuse("101 fields", get(*_MANY), 431),
    refuse("3,000 fields", get(*[b"A: b"] * 3000), 431),
    refuse("head of 40 KB", get(*_WIDE, *_WIDE[:10]), 431),
)
