"""Keys out of the octets that a terminal sends: letters, and sequences of ECMA-48 for arrows and their neighbours.  Pure."""

import re
from collections.abc import Iterator
from typing import Final

_KEY: Final = re.compile(rb"\x1b[\[O][0-9;]*[A-Za-z~]|[\x00-\xff]")
_SEQUENCES: Final = {
    b"A": "up",
    b"B": "down",
    b"C": "right",
    b"D": "left",
    b"H": "home",
    b"F": "end",
    b"5~": "page up",
    b"6~": "page down",
    b"1~": "home",
    b"4~": "end",
    b"7~": "home",
    b"8~": "end",
    b"Z": "left",
}
_SINGLE: Final = {b"\t": "right", b"\x03": "q", b"\x04": "q", b" ": "page down"}


def keys(octets: bytes) -> Iterator[str]:
    """Yield the names of keys that *octets* are; an octet that is none is passed over."""
    for found in _KEY.findall(octets):
        if found.startswith(b"\x1b"):
            if (name := _SEQUENCES.get(found[2:])) is not None:
                yield name
        elif (name := _SINGLE.get(found)) is not None:
            yield name
        elif b"!" <= found <= b"~":
            yield found.decode("ascii")
