"""Field blocks that cannot be decoded: the tables would no longer agree, so the connection ends."""

from __future__ import annotations

from tests.fakes.http2.frames import (
    COMPRESSION_ERROR,
    HEADER_TABLE_SIZE,
    headers,
    integer,
    string,
    table_size,
)
from tests.http2.conformance.rows import Octets, Row, Step, connection_fails, get, with_block

NAME = bytes.fromhex("0085f2b24a84ff")
"""A literal with the name ``x-test`` in Huffman code; the value follows."""


def undecodable(section: str, what: str, *steps: Step) -> Row:
    """A field block that ends the connection."""
    return Row(f"7541 {section}", what, steps, connection_fails(COMPRESSION_ERROR))


def too_large() -> Octets:
    """An update to one more than the server lets its table have."""

    def render(size: int) -> Octets:
        return get(prefix=table_size(size))

    return lambda client: render(client.settings.get(HEADER_TABLE_SIZE, 4096) + 1)(client)


ROWS = (
    undecodable("2.3.3", "an index beyond both tables", get(suffix=b"\xfe")),
    undecodable(
        "2.3.3", "a name with an index beyond both tables", get(suffix=integer(126, 6, 0x40) + string(b"x"))
    ),
    undecodable("4.2", "an update of the table's size behind a field", get(suffix=table_size(1))),
    undecodable(
        "5.2", "Huffman code with a whole octet of padding", get(suffix=NAME + bytes.fromhex("8449509fff"))
    ),
    undecodable(
        "5.2", "Huffman code that is padded with zeros", get(suffix=NAME + bytes.fromhex("83495090"))
    ),
    undecodable(
        "5.2",
        "Huffman code with the end of the string inside",
        get(suffix=NAME + bytes.fromhex("87fffffffd25427f")),
    ),
    undecodable("6.1", "the index 0", with_block(lambda fields: headers(1, fields + b"\x80"))),
    undecodable("6.3", "an update of the table's size beyond its limit", too_large()),
)
