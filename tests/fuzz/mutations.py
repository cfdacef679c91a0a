"""Turns the corpus into conversations that nobody wrote: grammar-aware mutations from a seed."""

from __future__ import annotations

from random import Random

from tests.corpus.cases import OK, Case
from tests.corpus.topics import EVERY

MAX_BYTES = 4000

SEEDS = tuple(case for _, case in EVERY if len(case.sent) <= MAX_BYTES and case.sent)
PROMISING = tuple(case for case in SEEDS if case.gets and not case.refused)
"""What is forwarded as it is: small changes of it may be, too."""
REQUESTS = tuple(case.sent for case in SEEDS)
ANSWERS = tuple(sorted({answer for case in SEEDS for answer in case.answers if 0 < len(answer) <= MAX_BYTES}))
WORDS = (
    b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"\0", b" ", b"\t", b"\x0b", b"\xa0", b":", b";", b",", b"/", b"..", b"%2f",
    b"%", b"0", b"5", b"a", b"f" * 16, b"-1", b"+1", b"0x5", b"1e1", b"chunked", b"identity", b"gzip", b"close",
    b"keep-alive", b"Upgrade", b"websocket", b"100-continue", b"Host: shop.test\r\n", b"Host: other.test\r\n",
    b"Content-Length: 5\r\n", b"Content-Length: 0\r\n", b"Transfer-Encoding: chunked\r\n", b"Connection: host\r\n",
    b"Connection: content-length, transfer-encoding\r\n", b"X-Forwarded-For: 192.0.2.9\r\n", b"X_Y: z\r\n",
    b"Expect: 100-continue\r\n", b"HTTP/1.1", b"HTTP/1.0", b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 5\r\n\r\nhello", b"0\r\n\r\n", b"5\r\nhello\r\n",
)  # fmt: skip


def mutated(random: Random, octets: bytes, others: tuple[bytes, ...]) -> bytes:
    """Change *octets* in one to four places; *others* lend pieces."""
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        octets = _changed(random, octets, others)
    return octets


def _changed(random: Random, octets: bytes, others: tuple[bytes, ...]) -> bytes:
    at = random.randrange(len(octets) + 1)
    kind = random.randrange(9)
    if kind == 0:
        return octets[:at] + random.choice(WORDS) + octets[at:]
    if kind == 1:
        return octets[:at] + octets[at + random.randrange(1, 6) :]
    if kind == 2:
        return octets[:at] + bytes([random.randrange(256)]) + octets[at + 1 :]
    if kind == 3:
        return octets[:at]
    lines = octets.split(b"\r\n")
    place = random.randrange(len(lines))
    if kind == 4:
        lines.insert(random.randrange(len(lines) + 1), lines[place])
    elif kind == 5:
        del lines[place]
    elif kind == 6:
        lines[place] = random.choice(WORDS).rstrip(b"\r\n")
    elif kind == 7:
        other = random.choice(others).split(b"\r\n")
        lines[place : place + 1] = [lines[place], random.choice(other)]
    else:
        return octets + random.choice(others)
    return b"\r\n".join(lines)


def conversation(random: Random) -> Case:
    """A conversation that begins as one of the corpus."""
    case = random.choice(SEEDS if random.random() < 0.3 else PROMISING)
    answers = case.answers
    if random.random() < 0.4:
        answers = (mutated(random, random.choice(ANSWERS), ANSWERS), OK)
    sent = case.sent if random.random() < 0.1 else mutated(random, case.sent, REQUESTS)
    return Case(case.name, sent, answers=answers, hangs_up=random.random() < 0.4, finishes=True)


def pieces(random: Random, octets: bytes) -> list[bytes]:
    """Cut *octets* into a few packets."""
    cuts = sorted(random.randrange(len(octets) + 1) for _ in range(random.choice((0, 0, 1, 2, 5))))
    return [octets[a:b] for a, b in zip([0, *cuts], [*cuts, len(octets)], strict=True)]
