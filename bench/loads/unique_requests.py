"""Requests of HTTP/2 that all differ, as the bytes of their frames.  Pure.

Each has 14 fields.  Eleven are the same each time; those of them that are not in the static table enter
the dynamic one with the first request of a connection, and later requests name their places there.  Path,
cookie and request id are new each time, are sent whole, Huffman-coded (RFC 7541 section 5.2), and do not
enter the table.  This shares no code with the proxy that it measures.
"""

from collections.abc import Iterator

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
FRAME_HEAD = 9
END_STREAM, ACK = 0x1, 0x1
_END_HEADERS = 0x4
_STATIC_ENTRIES = 61
_LARGEST_WINDOW = 2**31 - 1
_FIRST_WINDOW = 65_535
# An odd number, so that different numbers stay different; what comes of them looks like chance.
_SPREAD = 0x9E3779B97F4A7C15F39CC0605CEDC835

# The code is canonical: each row goes up by one from its first code (RFC 7541 appendix B).  Other
# signs are not needed here.
_HUFFMAN_ROWS = (
    (5, 0x0, "012aceiost"),
    (6, 0x14, " %-./3456789=A_bdfghlmnpru"),
    (7, 0x5C, ":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz"),
    (8, 0xF8, "&*,;XZ"),
    (10, 0x3F8, '!"()?'),
    (11, 0x7FA, "'+|"),
)
_HUFFMAN = {
    sign: format(first + number, f"0{length}b")
    for length, first, signs in _HUFFMAN_ROWS
    for number, sign in enumerate(signs)
}


def huffman(text: str) -> bytes:
    """Huffman-code *text*, padded with ones.  Raises KeyError for a sign without a code here."""
    bits = "".join([_HUFFMAN[sign] for sign in text])
    bits += "1" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def integer(number: int, prefix: int, first: int = 0) -> bytes:
    """*number* in the low *prefix* bits of an octet whose other bits are *first* (RFC 7541 section 5.1)."""
    most = (1 << prefix) - 1
    if number < most:
        return bytes((first | number,))
    octets = bytearray((first | most,))
    number -= most
    while number >= 128:
        octets.append(number % 128 | 128)
        number //= 128
    octets.append(number)
    return bytes(octets)


def text(value: str) -> bytes:
    """*value* as a Huffman-coded string literal."""
    coded = huffman(value)
    return integer(len(coded), 7, 0x80) + coded


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame."""
    return b"".join(
        (len(payload).to_bytes(3, "big"), bytes((kind, flags)), stream.to_bytes(4, "big"), payload)
    )


def opening() -> bytes:
    """What a client begins a connection with; afterwards no window of the connection is in the way."""
    window = (_LARGEST_WINDOW - _FIRST_WINDOW).to_bytes(4, "big")
    return PREFACE + frame(SETTINGS, 0, 0) + frame(WINDOW_UPDATE, 0, 0, window)


def same_fields(host: str) -> tuple[tuple[int | str, str], ...]:
    """The fields that go into the dynamic table: the number of the name in the static table, or the name; and the value."""
    return (
        (1, host),
        (58, "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
        (19, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
        (17, "en-US,en;q=0.5"),
        (16, "gzip, deflate, br"),
        (51, f"https://{host}/catalog/"),
        (24, "max-age=0"),
        ("sec-fetch-dest", "document"),
        ("sec-fetch-mode", "navigate"),
    )


def request_frames(host: str, count: int, first_id: int) -> Iterator[bytes]:
    """The HEADERS frames of *count* requests, in the order in which one connection has to send them.

    *first_id* is the first of as many numbers that no other connection uses.
    """
    same = same_fields(host)
    entering = b"".join(
        (integer(name, 6, 0x40) if isinstance(name, int) else b"\x40" + text(name)) + text(value)
        for name, value in same
    )
    # The request id enters last, for its name.
    newest = _STATIC_ENTRIES + 1
    indexed = b"".join(integer(newest + len(same) - place, 7, 0x80) for place in range(len(same)))
    for number in range(count):
        unique = first_id + number
        identity = f"{unique * _SPREAD % 2**128:032x}"
        is_first = number == 0
        block = b"".join(
            (
                b"\x82\x87",  # GET, https
                integer(4, 4) + text(f"/unique/catalog/{identity}?page={unique}"),
                entering if is_first else indexed,
                integer(32, 4) + text(f"theme=light; session={identity}"),
                b"\x40" + text("x-request-id") if is_first else integer(newest, 4),
                text(identity),
            )
        )
        yield frame(HEADERS, _END_HEADERS | END_STREAM, 2 * number + 1, block)


def has_status_200(block: bytes) -> bool:
    """Whether the field block of an answer begins with status 200, as any encoder writes it.

    Updates of the table's size may stand before it (RFC 7541 section 6.3).
    """
    place = 0
    while place < len(block) and block[place] & 0xE0 == 0x20:
        if block[place] & 0x1F == 0x1F:
            place += 1
            while place < len(block) and block[place] & 0x80:
                place += 1
        place += 1
    return block[place : place + 1] == b"\x88"
