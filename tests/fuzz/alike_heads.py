"""Heads that are alike, as a few clients and endpoints send them in turn, read by their layouts and line by line.

Some of them are changed, in the middle or at the edges of what the others have in common.  Whatever came before, of whomever, a
head means what it means to who never saw another one.
"""

from random import Random
from types import ModuleType
from typing import Final

from ingress.http import request_head, response_head
from ingress.http.request_head import RequestHead, parse_request_head
from ingress.http.response_head import ResponseHead, parse_response_head
from tests.corpus.judge import WrongError

HEADS: Final = 400
"""Heads of one sequence, which is enough for layouts of some clients."""

_SPECIAL: Final = (
    (b"Content-Length", (b"0", b"7", b"007", b"7, 7", b"+7", b"", b"9" * 18, b"9" * 19, b"7 8")),
    (b"Transfer-Encoding", (b"chunked", b"Chunked", b"gzip, chunked", b"chunked, chunked", b"identity", b"")),
    (
        b"Connection",
        (
            b"close",
            b"keep-alive",
            b"Upgrade",
            b"x-a, close",
            b"Date",
            b"content-length",
            b"host",
            b"@",
            b"x" * 65,
        ),
    ),
    (b"Upgrade", (b"websocket", b"h2c", b"")),
    (b"TE", (b"trailers", b"gzip")),
    (b"Keep-Alive", (b"timeout=5",)),
)
_OF_REQUESTS: Final = (
    *_SPECIAL,
    (b"Expect", (b"100-continue", b"100-Continue", b"else")),
    (b"Accept", (b"a", b"*/*")),
    (b"X-Request-ID", (b"one", b"two words", b"", b"q" * 128, b"q" * 129)),
    (b"X-Forwarded-For", (b"127.0.0.1", b"127.0.0.1, 127.0.0.2")),
    (b"X-Forwarded-Proto", (b"https", b"http")),
    (b"X_Forwarded_For", (b"127.0.0.3",)),
    (b"Under_Score", (b"1", b"2")),
    (b"Proxy", (b"http://a.test",)),
    (b"Authorization", (b"Bearer a", b"Bearer b")),
    (b"Cookie", (b"a=b", b"a=c; d=e")),
)
_OF_ANSWERS: Final = (
    *_SPECIAL,
    (b"Date", (b"Mon, 23 Nov 2026 09:15:15 GMT", b"")),
    (b"Server", (b"it", b"")),
    (b"Set-Cookie", (b"a=b", b"a=c")),
    (b"Vary", (b"*", b"Accept")),
)
_OTHERS: Final = (b"Accept", b"User-Agent", b"X-A", b"x-a", b"Via", b"X" * 64, b"X" * 65, b"!#$%&'*+.^_`|~9")
_OCTETS: Final = (
    *(b"\r", b"\n", b"\r\n", b"\n\r", b"\0", b"\x7f", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"\t", b" ", b":", b",", b"_", b"\xe9", b"x"),
    *(b"\r\n ", b"\r\n\t", b"\r\n\r\n", b"\r\nHost: c.test", b"\r\nhost:", b"\r\nContent-Length: 5", b"\r\nTransfer-Encoding: chunked"),
    *(b"\r\nConnection: close", b"y" * 2100, b"\r\nz: 1" * 99),
)  # fmt: skip
_FIRST_OF_REQUESTS: Final = (
    *(b"GET /%d HTTP/1.1", b"GET /%d HTTP/1.1", b"POST /?%d HTTP/1.1", b"GET /%d HTTP/1.0", b"OPTIONS * HTTP/1.1"),
    *(b"GET http://c.test/%d HTTP/1.1", b"BREW /%d HTTP/1.1", b"GET /%d HTTP/1.2", b"GET /%d  HTTP/1.1"),
    *(b"get /%d HTTP/1.1", b"GET /%d HTTP/1.1 ", b"TRACE /%d HTTP/1.1", b"CONNECT a.test:%d HTTP/1.1", b"GET /%d"),
)  # fmt: skip
_FIRST_OF_ANSWERS: Final = (
    *(b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK", b"HTTP/1.0 200 OK", b"HTTP/1.1 204 ", b"HTTP/1.1 304", b"HTTP/1.1 200"),
    *(b"HTTP/1.1 101 Switching", b"HTTP/1.1 103 x", b"HTTP/1.1 200  OK", b"HTTP/2 200"),
)  # fmt: skip


def _parts(of: type) -> list[str]:
    names = [name for name in dir(of) if not name.startswith("_")]
    return [name for name in names if not callable(getattr(of, name, None))]


_PARTS: Final = {
    request_head: sorted({*_parts(RequestHead), "method", "target", "path", "forward"}),
    response_head: sorted({*_parts(ResponseHead), "status", "start", "content_length", "has_body"}),
}
"""All that a head is, by what reads it."""

Line = tuple[bytes, tuple[bytes, ...]]
"""What stands before the value, and the values that it has in turn; it counts if there is none."""


def _lines(random: Random, special: tuple[tuple[bytes, tuple[bytes, ...]], ...], host: bool) -> list[Line]:
    """Return the lines of one client or endpoint."""
    lines: list[Line] = [(b"Host: ", (b"a.test",))] if host and random.random() < 0.9 else []
    for _ in range(random.randrange(9)):
        if random.random() < 0.4:
            name, values = random.choice(special)
        else:
            name, values = random.choice(_OTHERS), (b"a", b"b", b"c " * 20)
        if random.random() < 0.1:
            name = random.choice((name.lower(), name.upper()))
        kind = random.random()
        if kind < 0.6:
            values = (random.choice(values),)
        elif kind < 0.85:
            values = ()
        lines.append((name + random.choice((b": ", b": ", b":", b":\t ")), values))
    return lines


def heads(random: Random, of_answers: bool) -> list[bytes]:
    """Return heads of a few clients, or endpoints, as they come."""
    first = _FIRST_OF_ANSWERS if of_answers else _FIRST_OF_REQUESTS
    special = _OF_ANSWERS if of_answers else _OF_REQUESTS
    senders = []
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        beginning = first[0] if random.random() < 0.7 else random.choice(first)
        senders.append((beginning, _lines(random, special, not of_answers)))
    changes = random.choice((0.05, 0.2, 0.5))
    found = []
    for number in range(HEADS):
        beginning, lines = random.choice(senders)
        if number > HEADS // 3 and random.random() < 0.05:
            # What follows the first line is the same whatever that is.
            beginning = random.choice(first)
        if b"%" in beginning:
            beginning %= number
        said = [
            before
            + (random.choice(values) if values else b"%d" % number)
            + (b" " if random.random() < 0.03 else b"")
            for before, values in lines
        ]
        block = b"\r\n".join((beginning, *said))
        if number > HEADS * 2 // 3 and random.random() < changes:
            block = _changed(random, block, random.choice(senders)[1])
        found.append(block)
    return found


def _changed(random: Random, block: bytes, others: list[Line]) -> bytes:
    """Return *block* with something else in it; perhaps with a line of *others*."""
    for _ in range(random.choice((1, 1, 1, 2))):
        lines = block.split(b"\r\n")
        place = random.randrange(len(lines))
        kind = random.randrange(8)
        if kind < 3:
            at = random.randrange(len(block) + 1)
            block = block[:at] + random.choice(_OCTETS) + block[at + random.randrange(3) :]
            continue
        if kind == 3:
            # Where lines and values begin and end it matters most.
            ends = [
                at
                for at in range(len(block) + 1)
                if block[at - 1 : at + 1] in (b"\r\n", b": ") or at == len(block)
            ]
            at = max(0, random.choice(ends) + random.randrange(-1, 3))
            block = block[:at] + random.choice(_OCTETS) + block[at + random.randrange(2) :]
            continue
        if kind == 4:
            del lines[place]
        elif kind == 5:
            lines.insert(random.randrange(len(lines)), lines[place])
        elif kind == 6:
            lines[place], lines[-1] = lines[-1], lines[place]
        elif others:
            before, values = random.choice(others)
            lines.insert(place, before + (random.choice(values) if values else b"new"))
        block = b"\r\n".join(lines)
    return block


def meaning(module: ModuleType, block: bytes) -> object:
    """Return all that *module* reads in the head *block*, or why there is none."""
    try:
        head = parse_response_head(block) if module is response_head else parse_request_head(block)
    except ValueError as error:
        return type(error).__name__, str(error), getattr(error, "status", 0)
    return [getattr(head, name) for name in _PARTS[module]]


def fuzz_heads(number: int) -> int:
    """Read sequences of this *number*; return how many layouts were known.

    Raises ``WrongError`` for a head that meant something else before.
    """
    random = Random(number)
    known = 0
    for module in (request_head, response_head):
        blocks = heads(random, module is response_head)
        layouts, whole = module.known_blocks.layouts, module.known_heads
        layouts.clear()
        whole.clear()
        by_layout = [meaning(module, block) for block in blocks]
        known += len(layouts)
        for block, found in zip(blocks, by_layout, strict=True):
            layouts.clear()
            whole.clear()
            if (expected := meaning(module, block)) != found:
                raise WrongError(f"{block!r} is {expected}, but was read as {found}")
    return known
